"""A pass that fails goes on with the parts that are not counted, and its counts are those of all rows, each once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.rereading import PassedRows
from privity.party.sources.rows import InMemory, only_codes
from privity.party.sources.store import Codes

SCHEMA = parse_schema(
    {
        "absentRows": True,
        "fields": [
            {"name": "ward", "type": "string", "categories": ["north", "south", "east"]},
            {"name": "score", "type": "integer", "categories": [0, 1, 2, 3]},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
        ],
    },
    "s",
)
PAIRS = list(combinations(range(3), 2))
OTHERS = [(0,), (2, 1)]
ABSENT = 2

Part = list[np.ndarray]


class Faulty:
    """Batches in parts that fail when they are told to."""

    name = "rows"

    def __init__(self, parts: Sequence[Part], at_once: int = 3) -> None:
        self._parts, self._at_once = parts, at_once
        self.failures: list[tuple[int, int]] = []  # the part that fails next, and after how many batches
        self.read_whole: list[int] = []
        self.seen = "as it was"

    def parts(self) -> int:
        return len(self._parts)

    def read(self, attributes: Sequence[int], part: int | None = None) -> Iterator[list[Codes]]:
        assert part is not None
        columns = [self._parts[part][a] for a in attributes]
        for number, start in enumerate(range(0, len(columns[0]) + 1, self._at_once)):
            if self.failures and self.failures[0] == (part, number):
                self.failures.pop(0)
                raise PrivityError(Catalogue.SOURCE_UNREACHABLE, source=self.name, reason="it is gone", hint="Wait.")
            yield [column[start : start + self._at_once] for column in columns]
        self.read_whole.append(part)

    def state(self) -> str:
        return self.seen


def parts_of(sizes: Sequence[int], seed: int) -> list[Part]:
    generator = np.random.default_rng(seed)
    return [[generator.integers(0, size, rows).astype(np.uint8) for size in SCHEMA.domain] for rows in sizes]


def passed(parts: Sequence[Part], batches: Faulty) -> PassedRows:
    stored = sum(len(part[0]) for part in parts)
    return PassedRows(batches, SCHEMA, SCHEMA, stored + ABSENT, stored, "digest", batches.state(), only_codes)


def brute_force(parts: Sequence[Part], marginals: Sequence[tuple[int, ...]]) -> list[int]:
    table = CodedTable(SCHEMA, tuple(np.concatenate(column) for column in zip(*parts, strict=True)))
    return InMemory(table.with_absent(ABSENT)).count(marginals).tolist()


failures = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=8)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), failures, st.integers(0, 99), st.booleans())
def test_any_failures_give_the_counts_of_brute_force(
    sizes: list[int], planned: list[tuple[int, int]], seed: int, mixed: bool
) -> None:
    parts = parts_of(sizes, seed)
    batches = Faulty(parts)
    rows = passed(parts, batches)
    batches.failures = list(planned)
    found: list[int] | None = None
    while found is None:
        before = len(batches.failures)
        with contextlib.suppress(PrivityError):
            found = rows.count(PAIRS).tolist()
        assert len(batches.failures) >= before - 1, "a try ends at its first failure"
        if found is None and mixed and not batches.failures:
            # Another question between two tries of the first.
            assert rows.count(OTHERS).tolist() == brute_force(parts, OTHERS)
    assert found == brute_force(parts, PAIRS)
    if not mixed:
        assert batches.read_whole == list(range(len(sizes))), "each part was counted once"
    batches.failures = []
    assert rows.count(PAIRS).tolist() == found, "nothing stays of a pass that came to its end"


def test_what_the_caller_does_to_its_counts_enters_no_later_pass() -> None:
    parts = parts_of([4, 4, 4], 1)
    batches = Faulty(parts)
    rows = passed(parts, batches)
    for planned in ([(2, 0)], []):
        batches.failures = list(planned)
        if planned:
            with pytest.raises(PrivityError):
                rows.count(PAIRS)
        rows.count(PAIRS).__iadd__(1000)
        assert rows.count(PAIRS).tolist() == brute_force(parts, PAIRS)


@pytest.mark.parametrize("forgotten", [True, False])
def test_parts_of_another_state_are_never_added_up(forgotten: bool) -> None:
    parts = parts_of([5, 5], 2)
    batches = Faulty(parts)
    rows = passed(parts, batches)
    batches.failures = [(1, 1)]
    with pytest.raises(PrivityError, match="it is gone"):
        rows.count(PAIRS)
    if forgotten:
        rows.forget()
        assert rows.count(PAIRS).tolist() == brute_force(parts, PAIRS)
        assert batches.read_whole == [0, 0, 1], "a run that has closed leaves no counts behind"
        return
    batches.seen = "another"
    with pytest.raises(PrivityError) as found:
        rows.count(PAIRS)
    assert found.value.kind is Catalogue.SOURCE_CHANGED
    batches.seen = "as it was"
    assert rows.count(PAIRS).tolist() == brute_force(parts, PAIRS)
    assert batches.read_whole == [0, 0, 1], "what was counted before is not used after a change was seen"
