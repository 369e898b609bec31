"""What will leave a party is worked out by another process, which never outlives its time."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.errors import PrivityError
from privity.common.protocol.run_spec import RunSpec
from privity.party import run_notice, told_in_time
from privity.party.told_in_time import leaving_in_time
from tests.harness.consortium import make_schema, open_policy

pytestmark = pytest.mark.process

SCHEMA = make_schema((2, 3, 4))
SPEC = RunSpec(
    run="autumn",
    algorithm="dp-subn",
    settings={},
    epsilon=Fraction(1),
    tolerate=1,
    members=("north", "south"),
    manifest_digest="0" * 64,
)


def test_another_process_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    here = run_notice.leaving(SPEC, SCHEMA)
    monkeypatch.setattr(run_notice, "leaving", None)  # of this process alone
    assert leaving_in_time(SPEC, SCHEMA) == here


def test_what_it_refuses_is_raised_here() -> None:
    with pytest.raises(PrivityError, match=r"settings of aim: tables: \[range\]"):
        leaving_in_time(replace(SPEC, algorithm="aim", settings={"tables": 10**9}), SCHEMA)
    with pytest.raises(PrivityError) as refused:
        leaving_in_time(replace(SPEC, algorithm="mst"), make_schema((2,) * 1030))
    assert refused.value.code == "run-too-large"


def test_it_is_ended_when_its_time_is_over_and_the_owner_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_in_time, "MOST_SECONDS", 0.1)
    began = time.monotonic()
    with pytest.raises(PrivityError) as late:
        leaving_in_time(SPEC, SCHEMA)
    assert late.value.code == "not-told-in-time"
    assert time.monotonic() - began < 10
    assert multiprocessing.active_children() == []
    found = run_notice.sections(SPEC, "north", SCHEMA, open_policy(), 1, leaving_in_time)
    told = list(run_notice.in_words(found))
    assert any("What autumn asks for in detail could not be worked out within" in line for line in told)
    assert any(line.startswith("Epsilon 1, delta 0 for each row.") for line in told)
