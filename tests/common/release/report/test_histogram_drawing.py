"""Bars of bins: as wide as these on one axis, all of them to be seen, and the axis broken where one is far wider."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.release.report.histogram_drawing import CUT, LEAST, widths

SPANS = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=48)


@given(SPANS, st.floats(100, 400))
def test_bars_fill_the_axis_in_the_order_of_their_spans(spans: list[float], room: float) -> None:
    wide, cut = widths(spans, room)
    assert sum(wide) == pytest.approx(room, rel=1e-6)
    assert min(wide) >= min(LEAST, room / len(spans)) * 0.999
    ordered = sorted(zip(spans, wide, cut, strict=True))
    assert all(one[1] <= other[1] + 1e-9 for one, other in pairwise(ordered))
    most = room / len(spans) * CUT
    assert all(width == pytest.approx(most) for width, broken in zip(wide, cut, strict=True) if broken)


@given(SPANS, st.floats(100, 400))
def test_bars_that_are_neither_cut_nor_widened_are_in_proportion(spans: list[float], room: float) -> None:
    wide, cut = widths(spans, room)
    true = [
        width / span for span, width, broken in zip(spans, wide, cut, strict=True)
        if not broken and LEAST * 1.001 < width < room / len(spans) * CUT * 0.999
    ]  # fmt: skip
    assert max(true, default=1) == pytest.approx(min(true, default=1), rel=1e-6)


def test_bins_of_one_width_have_bars_of_one_width() -> None:
    assert widths([7.0] * 12, 300) == ([pytest.approx(25)] * 12, [False] * 12)


def test_a_far_tail_is_cut() -> None:
    wide, cut = widths([1.0] * 9 + [1e6], 300)
    assert cut == [False] * 9 + [True]
    assert wide[-1] == pytest.approx(90)
    assert wide[:9] == [pytest.approx(210 / 9)] * 9
