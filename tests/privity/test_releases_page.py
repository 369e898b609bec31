"""docs/python_releases.md runs as it is written, beside a consortium that is at work."""

from __future__ import annotations

import asyncio
import doctest
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from tests.harness.consortium import TestConsortium, open_policy
from tests.harness.forked_nodes import forked_nodes
from tests.harness.network import NetworkConsortium
from tests.harness.places import ROOT
from tests.interfaces.cli.test_run import operator_of

PAGE = ROOT / "docs" / "python_releases.md"
SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 89}, "bins": 12},
        {"name": "retired", "type": "string", "categories": ["no", "yes"]},
    ]
}


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Path]:
    """The operator's folder of two parties that answer, with a loop and a thread of their own."""
    up, down = threading.Event(), threading.Event()

    async def serve() -> None:
        schema, draw = parse_schema(SCHEMA, "schema"), np.random.default_rng(1)
        tables = {
            name: CodedTable(schema, tuple(draw.integers(0, size, rows) for size in schema.domain))
            for name, rows in (("north", 2000), ("south", 1000))
        }
        policies = {name: open_policy(epsilon_per_run=Fraction(20)) for name in tables}
        async with NetworkConsortium(tmp_path, TestConsortium(tables, policies=policies)) as network:
            operator_of(network)
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(60)
    yield tmp_path / "operator"
    down.set()
    thread.join()


@pytest.mark.process
def test_the_page_runs_as_written(operator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(operator)
    with forked_nodes():
        failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 30) == (0, True)
