"""Which secure sum a plan recommends: two layers while they can be waited for, and why, in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from privity.assessment.planning.run_cost import plan_document, planned
from privity.assessment.planning.secure_sum_choice import LONGEST_WAIT, SumChoice, Way, lasting
from privity.common.data.schema import Schema
from privity.common.protocol.secure_sum_method import Method
from privity.progress_and_plans import Plan
from tests.harness.consortium import make_schema

ROWS = {"north": 500, "south": 400, "west": 300}


def request(**changes: Any) -> dict[str, Any]:
    return {
        "algorithm": "one-way", "settings": {}, "epsilon": "1", "delta": "0", "tolerate": 1, "rows": None,
        "secure_sum": "paillier", "exponents": None, "key_bits": 2048, "evaluation": None, **changes,
    }  # fmt: skip


def small() -> Schema:
    return make_schema((2, 3, 4))


def test_a_plan_has_both_ways_side_by_side_and_says_which_to_take() -> None:
    for asked in (request(), request(secure_sum="masks", key_bits=None)):
        document = plan_document(asked, ROWS, planned(asked, small(), ROWS))
        sums, total = document["secure_sums"], document["total"]
        assert sums["masks"]["bytes"] == 8 * 9
        assert sums["masks"]["key_bits"] is None
        assert sums["paillier"]["key_bits"] == (2048 if asked["key_bits"] else 3072)
        of_asked = sums[asked["secure_sum"]]
        assert (of_asked["bytes"], of_asked["relayed"]) == (total["bytes"], total["relayed"])
        assert sums["recommended"] == "paillier"
        assert sums["why"].startswith("Take paillier: should a party's masks become known")
        assert sums["why"] in str(Plan(document))


@pytest.mark.parametrize("asked", [request(algorithm="independent")])
def test_there_is_nothing_to_choose_without_sums_over_parties(asked: dict[str, Any]) -> None:
    assert planned(asked, small(), ROWS).sums is None
    alone = request(tolerate=0)
    assert planned(alone, small(), {"alone": 500}).sums is None


def test_masks_are_for_what_takes_too_long_otherwise() -> None:
    slow = Way(Method.PAILLIER, 3072, LONGEST_WAIT, 60, 400)
    quick = Way(Method.MASKS, None, 14.0, 80, 600)
    assert SumChoice(slow, quick).recommended is Method.PAILLIER
    slower = SumChoice(replace(slow, seconds=LONGEST_WAIT + 1), quick)
    assert slower.recommended is Method.MASKS
    assert slower.sentence.startswith("Take masks if every party accepts")
    assert slower.sentence.endswith("their sums take about 14 s, those of paillier about 12 minutes.")
    assert lasting(0.2) == "less than a second"
