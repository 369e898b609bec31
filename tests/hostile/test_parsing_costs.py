"""What a parser does with n bytes of anything is linear in n, and whatever it refuses it refuses in its own words."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

import pytest

from tests.hostile.parsers import Parser, inputs, parsers, read

SMALL, TIMES = 3 << 10, 10
STEEPEST = 3 * TIMES
"""How much more CPU time the larger of two inputs may take; the square of the sizes' ratio would be 100."""
NEXT_TO_NOTHING = 0.004
"""Seconds of CPU time that are too few to compare."""


@pytest.fixture(autouse=True)
def _no_pauses() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def cost(parser: Parser, data: bytes) -> float:
    start = time.thread_time()
    read(parser, data)
    return time.thread_time() - start


def grows_faster(parser: Parser, made: Callable[[int], bytes]) -> bool:
    """Whether the larger input costs out of proportion, however often one looks."""
    small, large = made(SMALL), made(SMALL * TIMES)
    for _ in range(4):
        larger = cost(parser, large)
        if larger <= NEXT_TO_NOTHING or larger <= STEEPEST * cost(parser, small):
            return False
    return True


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", parsers())
def test_a_parser_takes_time_that_grows_with_the_bytes(name: str) -> None:
    parser = parsers()[name]
    assert not [shape for shape, made in inputs(name) if grows_faster(parser, made)]


def test_a_square_is_noticed() -> None:
    assert grows_faster(lambda data: [data.count(b"x") for _ in range(len(data) // 4)], lambda size: b"a" * size)
