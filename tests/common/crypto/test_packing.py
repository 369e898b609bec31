"""Packing against brute force, fixed vectors, and the slot widths against exact tails."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.crypto import packing
from privity.common.crypto.packing import Layout, pack, slot_width, unpack
from tests.harness.places import ROOT

FOLDER = ROOT / "tests" / "vectors"
VECTORS = json.loads((FOLDER / "packing.json").read_text())
WIDTHS = json.loads((FOLDER / "slot_widths.json").read_text())


def by_hand(values: list[int], layout: Layout) -> list[int]:
    step = layout.slots
    groups = [values[i : i + step] for i in range(0, len(values), step)]
    return [sum(x << (layout.width * i) for i, x in enumerate(group)) for group in groups]


def digits_by_hand(v: int, n: int, layout: Layout) -> list[int]:
    """Balanced digits, as the definition says."""
    base = 1 << layout.width
    v = v if v < n / 2 else v - n
    digits = []
    for _ in range(layout.slots):
        d = (v + base // 2) % base - base // 2
        digits.append(d)
        v = (v - d) // base
    assert v == 0
    return digits


@pytest.mark.parametrize("case", VECTORS["good"], ids=lambda c: c["name"])
def test_good_vectors(case: dict) -> None:
    assert VECTORS["format_version"] == 1
    layout, n = Layout(**VECTORS["layout"]), int(VECTORS["n"])
    assert pack(np.array(case["values"]), layout) == [int(v) for v in case["packed"]]
    found = unpack([int(v) for v in case["residues"]], n, layout)
    assert found.dtype == np.int64
    assert found.tolist() == case["values"]


@pytest.mark.parametrize("case", VECTORS["bad"], ids=lambda c: c["name"])
def test_bad_vectors(case: dict) -> None:
    with pytest.raises(ValueError, match="plaintext"):
        unpack([int(v) for v in case["residues"]], int(VECTORS["n"]), Layout(**VECTORS["layout"]))


@given(st.data())
def test_sums_of_packed_vectors_decode_to_the_sums(data: st.DataObject) -> None:
    width = data.draw(st.integers(3, 62))
    slots = data.draw(st.integers(1, 9))
    cells = data.draw(st.integers(1, 40))
    bits = data.draw(st.integers(width * slots + 3, width * slots + 40))
    parties = data.draw(st.integers(1, 4))
    layout = Layout(cells, width, slots, bits)
    n = data.draw(st.integers(1 << (bits - 1), (1 << bits) - 1)) | 1
    room = ((1 << (width - 1)) - 1) // parties
    edge = st.sampled_from([-room, 0, room])
    vectors = [
        data.draw(st.lists(st.integers(-room, room) | edge, min_size=cells, max_size=cells)) for _ in range(parties)
    ]
    packed = [pack(np.array(v, dtype=np.int64), layout) for v in vectors]
    assert packed == [by_hand(v, layout) for v in vectors]
    residues = [sum(column) % n for column in zip(*packed, strict=True)]
    total = unpack(residues, n, layout)
    assert total.tolist() == [sum(column) for column in zip(*vectors, strict=True)]
    plain = [d for v in residues for d in digits_by_hand(v, n, layout)]
    assert total.tolist() == plain[:cells]


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(1000, 20, 7, 150)
    values = np.random.default_rng(1).integers(-1000, 1000, 1000)
    whole = pack(values, layout)
    monkeypatch.setattr(packing, "_BLOCK_BITS", 64 * 7 * 10)
    assert pack(values, layout) == whole
    n = 2**149 + 1
    assert np.array_equal(unpack([v % n for v in whole], n, layout), values)


def test_overflow_is_an_error_and_never_clamped() -> None:
    layout = Layout(3, 8, 3, 40)
    for value in (128, -128, 2**40):
        with pytest.raises(ValueError, match="fit"):
            pack(np.array([0, value, 0]), layout)
    # The top slot overflows in the sum: the sum has too many bits.
    once = pack(np.array([0, 0, 127]), layout)
    with pytest.raises(ValueError, match="no sum"):
        unpack([2 * once[0]], 2**39 + 1, layout)


def test_shapes_and_moduli() -> None:
    layout = Layout(3, 8, 3, 40)
    for wrong in (np.zeros(4, dtype=np.int64), np.zeros(3), np.zeros((3, 1), dtype=np.int64)):
        with pytest.raises(ValueError, match="int64"):
            pack(wrong, layout)
    with pytest.raises(ValueError, match="modulus"):
        unpack([0], 2**38 + 1, layout)
    for bad in ((0, 8, 3, 40), (3, 1, 3, 40), (3, 63, 1, 400), (3, 8, 0, 40), (3, 8, 5, 40)):
        with pytest.raises(ValueError, match=r"layout|slot"):
            Layout(*bad)


@pytest.mark.parametrize("case", WIDTHS["cases"], ids=lambda c: f"{c['rows']}-{c['scale']}-{c['parties']}")
def test_widths_of_the_vectors(case: dict) -> None:
    found = slot_width(case["rows"], Fraction(case["scale"]), case["cells"], case["parties"], case["tolerate"])
    assert found == case["width"]


@pytest.mark.parametrize(("rows", "scale", "bits"), [(50_000, 112, 18), (5_000_000, 4800, 25), (10**9, 40_000, 32)])
def test_golden_widths(rows: int, scale: int, bits: int) -> None:
    assert slot_width(rows, Fraction(scale), 30_000, 3, 1) == bits


def log_tail(scale: float, shape: float, reach: int) -> float:
    """ln of an upper bound of P(X >= reach) for X the difference of two NB(shape), numerically.

    Two-sided convolution in log space: P(X >= T) = sum_y P(Y = y) P(Z >= T + y).
    """
    log_a = -1 / scale
    size = reach * 4
    g = np.arange(size)
    start = shape * math.log(-math.expm1(log_a))
    steps = np.log((g[1:] - 1 + shape) / g[1:]) + log_a
    pmf = np.concatenate(([start], start + np.cumsum(steps)))
    tail = np.logaddexp.accumulate(pmf[::-1])[::-1]
    together = pmf[: size - reach] + tail[reach:]
    top = together.max()
    return float(top + math.log(np.exp(together - top).sum()))


@pytest.mark.parametrize(
    ("parties", "tolerate", "scale"), [(50, 49, 40), (2, 1, 3), (3, 1, 40), (10, 9, 100), (200, 199, 20)]
)
def test_the_exact_tail_lies_below_the_claim(parties: int, tolerate: int, scale: int) -> None:
    """The theorem against the law itself, for the reach that a width leaves to the noise."""
    rows, cells = 1, 1000
    width = slot_width(rows, Fraction(scale), cells, parties, tolerate)
    shape = parties / (parties - tolerate)
    reach = 2 ** (width - 1) - rows
    assert math.log(2 * cells) + log_tail(scale, shape, reach) < -80 * math.log(2)
    for j in (1, 2, 3, 5):
        theta = 1 - 2**-j
        for t in (5 * scale, 50 * scale):
            bound = -shape * math.log(1 - theta**2) - theta * t / scale
            assert log_tail(scale, shape, t) <= bound


def test_the_reach_is_a_bound_for_many_parties() -> None:
    """K=50, t=49: the reach proved here holds at 2^-80, the one for a single variable does not."""
    scale, cells, shape = 40, 30_000, Fraction(50)
    events = packing._ln(2 * cells * 51) + 80 * packing._LN2
    reach = min(packing._chernoff_reach(Fraction(scale), shape, events, j) for j in range(1, 25))
    assert math.log(2 * cells) + log_tail(scale, 50.0, math.ceil(reach)) < -80 * math.log(2)
    single = math.ceil(scale * (math.log(2 * cells) + 80 * math.log(2)))
    assert math.log(2 * cells) + log_tail(scale, 50.0, single) > -80 * math.log(2)


def test_rational_logarithms_are_upper_bounds() -> None:
    for whole in (1, 2, 3, 1000, 65_535, 65_536, 10**9):
        assert math.log(whole) <= float(packing._ln(whole)) <= math.log(whole) + 0.05
    assert Fraction(math.log(2)) - Fraction(1, 2**53) < packing._LN2


def test_planned_layouts() -> None:
    layout = Layout.of(30_000, slot_width(50_000, Fraction(112), 30_000, 3, 1), 3072)
    assert layout == Layout(30_000, 18, 170, 3072)
    assert layout.plaintexts == 177
    n = 2**3071 + 1
    half = (1 << 17) - 1
    full = pack(np.full(30_000, half), layout)
    assert max(full) < n // 4
    with pytest.raises(ValueError, match="slots"):
        Layout.of(10, 18, 20)


@given(st.integers(1, 3000), st.integers(2, 62), st.integers(1, 4))
def test_blocks_are_the_vector_cut_up(cells: int, width: int, slots: int) -> None:
    layout = Layout(cells, width, slots, slots * width + 3)
    parts = [layout.cells_of(block) for block in range(layout.blocks)]
    assert [cell for part in parts for cell in range(part.start, part.stop)] == list(range(cells))
    assert sum(layout.block(block).plaintexts for block in range(layout.blocks)) == layout.plaintexts
    assert all(layout.block(block).plaintexts == packing.BLOCK_PLAINTEXTS for block in range(layout.blocks - 1))
    values = np.arange(cells) % (1 << (width - 1))
    whole = pack(values, layout)
    assert [v for block, part in enumerate(parts) for v in pack(values[part], layout.block(block))] == whole
    for outside in (-1, layout.blocks):
        with pytest.raises(ValueError, match="blocks"):
            layout.cells_of(outside)


def test_what_has_no_width_is_refused() -> None:
    for bad in ((0, Fraction(1), 1, 2, 1), (1, Fraction(0), 1, 2, 1), (1, Fraction(1), 0, 2, 1)):
        with pytest.raises(ValueError, match="at least 1"):
            slot_width(*bad)
    for parties, tolerate in ((2, 2), (2, -1), (0, 0)):
        with pytest.raises(ValueError, match="tolerate"):
            slot_width(1, Fraction(1), 1, parties, tolerate)
    with pytest.raises(ValueError, match="62 bits"):
        slot_width(1, Fraction(2**60), 1, 2, 1)
