"""Messages that are larger than any of their kind are not looked at: reading them would cost memory and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from privity.common.errors import PrivityError
from privity.common.protocol.run_terms import MOST_PARTIES
from privity.common.protocol.step_limits import SELECTION_CANDIDATES, SELECTION_CELLS
from privity.common.protocol.steps import Learned, Refusal
from privity.common.wire.candidate_pairs import MOST_GROUPS
from privity.common.wire.codec import (
    LARGEST_MODEL,
    LARGEST_PLAN,
    LARGEST_REPLY,
    LARGEST_STEP,
    LONGEST_NAME,
    MOST_BLOBS,
    MOST_INDICES,
    MOST_LISTS,
    MOST_TABLES,
    MOST_VALUES,
    MalformedMessageError,
    decode_reply,
    decode_step,
    encode_reply,
)
from privity.common.wire.expected_tables import MOST_ATTRIBUTES
from privity.common.wire.v1 import privity_pb2 as pb

EMPTY = pb.Attributes()
GROUP = pb.CandidateGroup(attributes=[0], parent_sets=[pb.Attributes(index=[1])])


def round_(**fields) -> dict:
    return {"contribute": pb.Contribute(round=pb.Round(laplace=pb.LaplaceNoise(scale="1"), **fields))}


def select(*groups: pb.CandidateGroup) -> dict:
    return {"select": pb.Select(mechanism=pb.Selecting(noisy_max="1"), candidates=groups)}


def expected(**fields) -> dict:
    return {"select_table": pb.SelectTable(mechanism=pb.Selecting(noisy_max="1"), expected=pb.ExpectedTables(**fields))}


STEPS: dict[str, Callable[[], dict[str, Any]]] = {
    "a step": lambda: {"close": pb.Close(state="x" * LARGEST_STEP)},
    "a plan": lambda: {"begin": pb.Begin(plan=b" " * (LARGEST_PLAN + 1))},
    "settings": lambda: {"learn": pb.Learn(epsilon="1", settings=b'{"a":"' + b"x" * (1 << 18) + b'"}')},
    "tables": lambda: round_(tables=pb.Tables(marginals=[EMPTY] * (MOST_TABLES + 1))),
    "attributes of tables": lambda: round_(tables=pb.Tables(marginals=[pb.Attributes(index=[0] * (MOST_INDICES + 1))])),
    "weights": lambda: round_(tables=pb.Tables(weights=[1] * (MOST_TABLES + 1))),
    "a name": lambda: round_(tables=pb.Tables(), round="x" * (LONGEST_NAME + 1)),
    "groups": lambda: select(*[GROUP] * (MOST_GROUPS + 1)),
    "attributes of a group": lambda: select(pb.CandidateGroup(attributes=[0] * (MOST_GROUPS + 1))),
    "a pool": lambda: select(pb.CandidateGroup(attributes=[0], pool=[0] * (MOST_GROUPS + 1), size=20)),
    "parents": lambda: select(pb.CandidateGroup(attributes=[0], parent_sets=[pb.Attributes(index=range(21))])),
    "tables of a selection": lambda: expected(tables=[EMPTY] * (SELECTION_CANDIDATES + 1)),
    "attributes of a selection": lambda: expected(tables=[pb.Attributes(index=[0] * (MOST_ATTRIBUTES + 1))]),
    "counts of a selection": lambda: expected(counts=[0] * (SELECTION_CELLS + 1)),
    "penalties of a selection": lambda: expected(penalties=[0] * (SELECTION_CANDIDATES + 1)),
    "combiners": lambda: {"seal_block": pb.SealBlock(attempt=pb.Attempt(combiners=["a"] * (MOST_PARTIES + 1)))},
    "blobs": lambda: {"combine_block": pb.CombineBlock(blobs=[pb.Blob()] * (MOST_BLOBS + 1))},
    "lists of run.json": lambda: {"attest": pb.Attest(run_document=b"[" * (MOST_LISTS + 1))},
    "values of privacy.json": lambda: {"attest": pb.Attest(privacy=b"," * (MOST_VALUES + 1))},
}
"""Each is made when it is tried: they are large."""


@pytest.mark.statistical
@pytest.mark.parametrize("what", STEPS)
def test_steps(what: str) -> None:
    with pytest.raises(MalformedMessageError):
        decode_step(pb.Step(run="run-1", **STEPS[what]()).SerializeToString())


@pytest.mark.parametrize(
    "body",
    [
        {"refusal": pb.Refusal(message="x" * LARGEST_REPLY)},
        {"pending": pb.Pending(reason="x" * LARGEST_REPLY)},
        {"enrolled": pb.Enrolled(enrolment=b" " * LARGEST_REPLY)},
        {"sum": pb.Sum(payload=bytes(1 << 20))},
    ],
)
def test_replies_name_the_step_that_they_spoil(body: dict) -> None:
    with pytest.raises(MalformedMessageError) as caught:
        decode_reply(pb.Reply(run="run-1", key="k", **body).SerializeToString())
    assert (caught.value.run, caught.value.key) == ("run-1", "k")


@pytest.mark.statistical
def test_a_party_refuses_to_send_what_nobody_takes() -> None:
    with pytest.raises(PrivityError, match="message of more than"):
        encode_reply("run-1", "learn/x", Learned({"a": "x" * LARGEST_MODEL}))


def test_a_refusal_that_repeats_something_long_is_cut() -> None:
    refusal = decode_reply(encode_reply("run-1", "k", Refusal("c", "\U0001f600" * 10**6, "r" * 10**6)))[2]
    assert isinstance(refusal, Refusal)
    assert len(refusal.message) == len(refusal.remedy) == 1500
