"""A real Spark on this machine, small: in one process, or a cluster of a master and workers."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest
from pyspark import SparkContext

LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For processes of Java that live for seconds."""

OPTIONS = (
    "--driver-memory 1g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 "
    "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 "
    f"--conf spark.log.level=ERROR --driver-java-options '{LEAN}'"
)
HOME = Path(pyspark.__file__).parent
WAIT = 120
"""Seconds until a part of a cluster must have started."""


@contextlib.contextmanager
def spark(master: str, more: str = "", environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """What ``pyspark://`` connects to; the test is skipped where there is no Java.

    Args:
        more: arguments of spark-submit.
        environment: variables that are set.
    """
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: see tests/debian-packages.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--master {master} {OPTIONS} {more} pyspark-shell")
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            end_java()


def end_java() -> None:
    """Stop the session and its process of Java, so that the next session has settings of its own."""
    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if context is not None:
        context.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(WAIT)
        SparkContext._gateway = SparkContext._jvm = None


@contextlib.contextmanager
def local_spark() -> Iterator[None]:
    """Spark in one process, with two threads."""
    with spark("local[2]"):
        yield


@dataclass(frozen=True)
class Cluster:
    """A running master and its workers.

    Attributes:
        master: its address.
    """

    master: str
    workers: list[subprocess.Popen[str]]

    def kill(self, worker: int) -> None:
        """SIGKILL for a worker and its executors."""
        os.killpg(self.workers[worker].pid, signal.SIGKILL)


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A standalone cluster, each worker with one core; the test is skipped where there is no Java."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: see tests/debian-packages.txt")
    begun: list[subprocess.Popen[str]] = []
    try:
        master = _started(begun, folder / "master", "master.Master", "--port", "0")
        address = _told(folder / "master", master, r"Starting Spark master at (\S+)")
        for number in range(workers):
            place = folder / f"worker-{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(place.with_suffix(".work")))
            _started(begun, place, "worker.Worker", *size, address)
        for number, worker in enumerate(begun[1:]):
            _told(folder / f"worker-{number}", worker, r"Successfully registered with master (\S+)")
        yield Cluster(address, begun[1:])
    finally:
        for process in begun:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _started(begun: list[subprocess.Popen[str]], log: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
    environment = {
        **os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": LEAN,
    }  # fmt: skip
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [*command, "--webui-port", "0", *arguments], stdout=out, stderr=out, text=True, env=environment,
            start_new_session=True,
        )  # fmt: skip
    begun.append(process)
    return process


def _told(log: Path, process: subprocess.Popen[str], pattern: str) -> str:
    """What a process says in its log, when it has said it."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until and process.poll() is None:
        found = re.search(pattern, log.read_text(encoding="utf-8"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(log.read_text(encoding="utf-8"))


def bare_python(folder: Path, *packages: str) -> str:
    """A Python of this version that has these installed packages and no others."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (there,) = folder.glob("lib/python*/site-packages")
    here = HOME.parent
    for name in packages:
        for found in (here / name, here / f"{name}.libs"):
            if found.exists():
                (there / found.name).symlink_to(found)
    return str(folder / "bin" / "python")


def other_python(folder: Path, *packages: str) -> str:
    """The same, and it says that it is of another version."""
    python = Path(bare_python(folder, *packages))
    (site,) = folder.glob("lib/python*/site-packages")
    major, minor = sys.version_info[:2]
    version = f"namedtuple('V', 'major minor micro releaselevel serial')({major}, {minor - 1}, 0, 'final', 0)"
    (site / "another_version.py").write_text(
        f"import sys\nfrom collections import namedtuple\nsys.version_info = {version}"
    )
    (site / "another_version.pth").write_text("import another_version")
    return str(python)
