"""Powers of one base against the interpreter's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.crypto import fixed_base
from privity.common.crypto.fixed_base import FEW, MANY, MANY_POWERS, Comb, FixedBase, comb_for


@given(st.data())
def test_powers_are_those_of_the_interpreter(data: st.DataObject) -> None:
    bits = data.draw(st.integers(1, 300))
    modulus = data.draw(st.integers(2, 2**90))
    base = data.draw(st.integers(0, 2**100))
    within = st.integers(0, 2**bits - 1) | st.sampled_from([0, 1, 2**bits - 1, 1 << bits - 1])
    exponents = data.draw(st.lists(within, min_size=1, max_size=80))
    powers = FixedBase(base, modulus, bits)
    assert powers.powers(exponents) == [pow(base, exponent, modulus) for exponent in exponents]


@given(st.integers(1, 2000), st.sampled_from([FEW, MANY]))
def test_a_comb_covers_every_exponent_within_its_tables(bits: int, numbers_a_bit: int) -> None:
    comb = comb_for(bits, numbers_a_bit)
    assert comb.bits >= bits
    assert comb.numbers <= numbers_a_bit * bits
    assert comb.products >= -(-bits // comb.teeth)


def test_larger_tables_give_the_same_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made once many powers were needed; what idle time makes counts for nothing."""
    made: list[Comb] = []
    tabulated = FixedBase._tabulated
    monkeypatch.setattr(FixedBase, "_tabulated", lambda self, comb: (made.append(comb), tabulated(self, comb))[1])
    powers, exponents = FixedBase(7, 2**61 - 1, 60), list(range(0, 2**60, 2**53 - 1))
    wanted = [pow(7, exponent, 2**61 - 1) for exponent in exponents]
    for _ in range(3):
        assert powers.powers(exponents, ahead=True) == wanted
    assert made == [comb_for(60, FEW)]
    for _ in range(-(-MANY_POWERS // len(exponents))):
        assert powers.powers(exponents) == wanted
    assert made == [comb_for(60, FEW), comb_for(60, MANY)]


def test_a_pattern_of_another_column_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = fixed_base._patterns
    monkeypatch.setattr(fixed_base, "_patterns", lambda comb, exponents: patterns(comb, exponents)[:, ::-1])
    assert FixedBase(3, 1009, 64).powers([2**63 + 5]) != [pow(3, 2**63 + 5, 1009)]


@pytest.mark.parametrize("exponent", [-1, 1 << 20])
def test_exponents_out_of_range_are_refused(exponent: int) -> None:
    with pytest.raises(ValueError, match="at most 20 bits"):
        FixedBase(3, 1009, 20).powers([1, exponent])
