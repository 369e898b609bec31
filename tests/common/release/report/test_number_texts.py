"""Numbers as texts for people."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privity.common.release.report.number_texts import percent

pytestmark = pytest.mark.unit


@given(st.floats(-2, 2), st.integers(0, 3))
@example(0.11795, 2)
@example(0.07605, 2)
def test_a_share_has_the_same_text_before_and_after_a_file(share, digits):
    assert percent(Decimal(repr(share)), digits) == percent(share, digits)
