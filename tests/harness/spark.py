"""A real Spark on this machine, small."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest

OPTIONS = (
    "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 "
    "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 "
    "--conf spark.log.level=ERROR pyspark-shell"
)


@contextlib.contextmanager
def local_spark() -> Iterator[None]:
    """What ``pyspark://`` connects to; the test is skipped where there is no Java."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: see tests/debian-packages.txt")
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    os.environ["PYSPARK_SUBMIT_ARGS"] = OPTIONS
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYSPARK_SUBMIT_ARGS"]
        else:
            os.environ["PYSPARK_SUBMIT_ARGS"] = before
        from pyspark.sql import SparkSession

        running = SparkSession.getActiveSession()
        if running is not None:
            running.stop()
