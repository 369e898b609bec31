"""A run over some of the attributes: nothing of the others can be asked for, and the release has none of them."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.steps import Contribute, Enrol, Refusal, Select, SelectTable
from privity.common.runs.run_request import RunRequest
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.ledgers import charged
from tests.harness.steps import laplace_round, pure

NO_NOISE = Fraction(100)
SOME = ("A0", "A2")
POLICY = open_policy(attributes=SOME)


def consortium_of_some():
    return make_consortium(3, domain=(2, 3, 4), policies={"party-1": POLICY})


@pytest.mark.parametrize("algorithm", ["dp-subn", "independent"])
def test_the_release_is_about_the_attributes_asked_for(tmp_path: Path, algorithm: str) -> None:
    consortium = consortium_of_some()
    consortium.drive(tmp_path / "release", attributes=SOME, algorithm=algorithm)
    assert list(pd.read_csv(tmp_path / "release" / "synthetic.csv").columns) == list(SOME)
    run = json.loads((tmp_path / "release" / "run.json").read_text())
    assert run["attributes"] == list(SOME)
    assert run["schema_digest"] == consortium.schema.over(SOME).digest != consortium.schema.digest


def test_tables_are_those_of_the_attributes_asked_for() -> None:
    consortium = make_consortium(2, domain=(2, 3, 4))
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, attributes=SOME))
    session = consortium.session(plan)
    (table,) = asyncio.run(session.measure("test", [(0, 1)], pure(NO_NOISE)))
    assert table.counts.shape == (2, 4)
    columns = [party.table.columns for party in consortium.parties.values()]
    true = sum(pd.crosstab(c[0], c[2]).to_numpy() for c in columns)
    assert (table.counts == true).all()


def test_nothing_beyond_them_can_be_asked_for() -> None:
    consortium = make_consortium(2, domain=(2, 2, 2))
    consortium.begin(consortium.spec(attributes=SOME))
    beyond = len(consortium.schema.over(SOME).derived.domain)
    for step in (
        Contribute(laplace_round("run-1", "test", "1", ((beyond,),), Fraction(1))),
        Select("run-1", "test", "d", (AttributeParentPair(0, (beyond,)),), NoisyMax(Fraction(1))),
        SelectTable(
            "run-1", "test", "e", ExpectedTables(((beyond,),), np.array([1, 1]), 2, (0,)), NoisyMax(Fraction(1))
        ),
    ):
        reply = consortium.tell("party-1", step)
        assert isinstance(reply, Refusal)
        assert "attributes that the schema does not have" in reply.message
    assert charged(consortium.parties["party-1"].ledger) == []


@pytest.mark.parametrize(
    ("asked", "reason"),
    [(None, "about every attribute"), (("A1",), "'A1' is not among those allowed"), (("B",), "'B' is not among")],
)
def test_a_policy_refuses_attributes_that_it_does_not_name(asked: tuple[str, ...] | None, reason: str) -> None:
    consortium = consortium_of_some()
    reply = consortium.tell("party-1", Enrol(consortium.spec(attributes=asked)))
    assert isinstance(reply, Refusal)
    assert reason in reply.message


def test_unknown_attributes_are_refused_on_both_sides() -> None:
    consortium = consortium_of_some()
    reply = consortium.tell("party-2", Enrol(consortium.spec(attributes=("B",))))
    assert isinstance(reply, Refusal)
    assert "attributes that the schema does not have" in reply.message
    request = RunRequest(
        algorithm="dp-subn",
        settings={},
        epsilon=Fraction(1),
        tolerate=1,
        key_bits=3072,
        rows=None,
        attributes=("A0", "B"),
    )
    with pytest.raises(PrivityError, match="the schema has no 'B'"):
        request.check(consortium.manifest, consortium.schema)


def test_a_party_refuses_to_discover_where_no_domain_is_open() -> None:
    consortium = consortium_of_some()
    reply = consortium.tell("party-2", Enrol(consortium.spec(algorithm="discover")))
    assert isinstance(reply, Refusal)
    assert "leaves the domain of no number open" in reply.message
