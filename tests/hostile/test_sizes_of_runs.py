"""A run too large for its owners to be told what it asks for is refused by whoever is asked, before it is filed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from privity.common.errors import PrivityError
from privity.common.protocol.steps import Enrol, Refusal
from privity.common.runs.run_request import parse_request
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.algorithms.algorithm import MOST_PAIRS, Algorithm
from privity.deploy.operator.run_submission import with_concrete_algorithm
from privity.party.approvals import Approvals
from privity.party.policy import Approval
from tests.curator.test_run_driver import request
from tests.harness.consortium import TestConsortium, make_consortium, make_schema, open_policy

WIDE = (2,) * 1030
TOO_LARGE = {"algorithm": "mst", "settings": {}}


@pytest.fixture(scope="module")
def consortium() -> TestConsortium:
    found = make_consortium(2, domain=WIDE, rows=4)
    for name in found.parties:
        found.policies[name] = open_policy(approval=Approval.MANUAL)
        found.restart(name)
    return found


def test_a_run_of_a_hand_made_operator_is_refused_by_the_curator(consortium: TestConsortium) -> None:
    for asked in (TOO_LARGE, {"algorithm": "dp-subn", "settings": {}}, {"algorithm": "aim", "settings": {"tables": 1}}):
        document = json.loads(request(secure_sum="masks", key_bits=None)) | asked
        with pytest.raises(PrivityError, match=r"looks at [0-9]{6,} pairs of attributes, more than 524288") as refused:
            parse_request(json.dumps(document).encode()).check(consortium.manifest, consortium.schema)
        assert refused.value.code == "run-too-large"
        assert "Ask for fewer attributes" in refused.value.remedy


def test_a_run_is_refused_on_its_operators_machine_before_it_is_sent(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(make_schema(WIDE).table_schema()))
    asked = {**TOO_LARGE, "epsilon": "1"}
    with pytest.raises(PrivityError, match="mst over 1030 attributes"):
        with_concrete_algorithm(tmp_path / "operator.toml", asked)
    assert with_concrete_algorithm(tmp_path / "operator.toml", asked | {"attributes": ["A0", "A1"]})


def test_a_run_of_a_hand_made_curator_is_refused_by_the_party_and_not_filed(
    consortium: TestConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    party = consortium.parties["party-1"]
    refused = consortium.tell("party-1", Enrol(consortium.spec("large", **TOO_LARGE)))
    assert isinstance(refused, Refusal)
    assert refused.code == "run-too-large"
    assert not any(one.waits for one in Approvals(party.releases.journal).filed())
    assert party.ledger.spent() == 0
    # Without the bound it would wait for its owner.
    monkeypatch.setattr(Algorithm, "check_size", lambda *_args, **_more: None)
    consortium.tell("party-1", Enrol(consortium.spec("larger", **TOO_LARGE)))
    assert [one.spec.run for one in Approvals(party.releases.journal).filed() if one.waits] == ["larger"]


@pytest.mark.parametrize(
    ("algorithm", "settings", "domain", "parties", "admitted"),
    [
        *((name, {}, (4,) * 500, 25, True) for name in ALGORITHMS if name != "discover"),
        ("aim", {"tables": 400}, (2,) * 500, 25, True),
        ("one-way", {}, (2,) * 5000, 2, True),
        ("mst", {}, (2,) * 5000, 2, False),
        ("privbayes", {"encoding": "binary"}, (64,) * 500, 2, False),
        ("dp-subn", {"attributes": "binary"}, (64,) * 500, 2, False),
        ("dp-subn", {"schedule": "uniform"}, (2,) * 400, 1000, False),
        ("dp-subn", {"schedule": "uniform"}, (2,) * 50, 1000, True),
    ],
)
def test_the_bound_admits_what_is_measured_and_takes_no_time(
    algorithm: str, settings: dict[str, Any], domain: tuple[int, ...], parties: int, admitted: bool
) -> None:
    schema, known = make_schema(domain), ALGORITHMS[algorithm]
    began = time.process_time()
    pairs = known.pairs(schema, known.read(settings, schema), parties)
    assert time.process_time() - began < 2
    assert (pairs <= MOST_PAIRS) == admitted
    if admitted:
        known.check_size(settings, schema, parties, evaluated=False)
    else:
        with pytest.raises(PrivityError, match="more than"):
            known.check_size(settings, schema, parties, evaluated=False)


def test_an_evaluation_counts_all_pairs_again() -> None:
    schema = make_schema((2,) * 800)
    ALGORITHMS["mst"].check_size({}, schema, 2, evaluated=False)
    with pytest.raises(PrivityError, match="more than"):
        ALGORITHMS["mst"].check_size({}, schema, 2, evaluated=True)
