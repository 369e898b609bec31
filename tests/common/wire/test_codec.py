"""Steps and replies on the wire: what is sent arrives as it was, and nothing else is taken for a message."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privity.common.crypto.identity import Identity
from privity.common.crypto.sealing import SealedBlob
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import (
    AdvancedLaplaceNoise,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
)
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.run_budget import RhoBudget, Share
from privity.common.protocol import steps
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.round import Replacement, Round, Tables
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.step_limits import SELECTION_CANDIDATES
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.text.utc_times import utc
from privity.common.wire.candidate_pairs import decode_candidates, encode_candidates
from privity.common.wire.codec import (
    CHUNK_BYTES,
    MalformedMessageError,
    chunks,
    decode_reply,
    decode_step,
    encode_reply,
    encode_step,
)
from privity.common.wire.v1 import privity_pb2 as pb

SPEC = RunSpec(
    run="run-1",
    algorithm="dp-subn",
    settings={"theta": "6", "depth": [1, {"a": None}]},
    epsilon=Fraction(1, 3),
    tolerate=1,
    members=("a", "b"),
    manifest_digest="0" * 64,
)
PLAN = RunPlan(SPEC, tuple(Enrolment.signed(n, SPEC, 7, Identity.generate()) for n in ("a", "b")), (1 << 2047) + 9)

UINT32 = st.integers(0, 2**32 - 1)
TEXT = st.text(max_size=30)
RUN = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", fullmatch=True)
EPSILON = st.fractions(min_value=Fraction(1, 10**20), max_value=100)
MARGINAL = st.lists(UINT32, max_size=4).map(tuple)
BLOB = st.builds(SealedBlob, st.binary(max_size=200), st.binary(max_size=64))
QUERY = st.builds(Tables, st.lists(MARGINAL, max_size=4).map(tuple), st.lists(UINT32, max_size=4).map(tuple))
NOISE = (
    st.builds(LaplaceNoise, QUERY, EPSILON)
    | st.builds(GaussianNoise, QUERY, EPSILON, EPSILON)
    | st.builds(AdvancedLaplaceNoise, QUERY, EPSILON, EPSILON, EPSILON)
)
SELECTING = st.builds(NoisyMax, EPSILON) | st.builds(ExponentialMechanism, EPSILON)
ROUND = st.builds(Round, RUN, TEXT, TEXT, NOISE)
ATTEMPT = st.builds(Attempt, TEXT, TEXT, UINT32, st.lists(TEXT, max_size=3).map(tuple))
PAIRS = st.lists(st.builds(AttributeParentPair, UINT32, MARGINAL), max_size=4).map(tuple)
EXPECTED = st.builds(
    ExpectedTables,
    st.lists(MARGINAL, max_size=4).map(tuple),
    st.lists(UINT32, max_size=9).map(lambda counts: np.array(counts, dtype=np.int64)),
    UINT32,
    st.lists(UINT32, max_size=4).map(tuple),
)
DOCUMENT = st.dictionaries(TEXT, st.one_of(TEXT, st.integers(0, 9), st.lists(TEXT, max_size=2)), max_size=3)
EDGES = st.lists(st.fractions(max_denominator=100), max_size=3).map(tuple)
TIME = st.one_of(st.just(""), st.floats(0, 2**32).map(utc))
STEP = st.one_of(
    st.builds(steps.Enrol, st.just(SPEC), st.binary(max_size=99)),
    st.just(steps.Begin(PLAN)),
    st.builds(steps.Contribute, ROUND),
    st.builds(steps.SealBlock, RUN, ATTEMPT, UINT32),
    st.builds(
        steps.CombineBlock,
        RUN,
        ATTEMPT,
        UINT32,
        UINT32,
        st.lists(st.tuples(TEXT, BLOB), max_size=3).map(tuple),
        st.binary(max_size=50),
    ),
    st.builds(steps.Revealed, RUN, TEXT, TEXT),
    st.builds(steps.Select, RUN, TEXT, TEXT, PAIRS, SELECTING, st.sampled_from(["R", "I", "F"])),
    st.builds(steps.SelectTable, RUN, TEXT, TEXT, EXPECTED, SELECTING),
    st.builds(steps.Learn, RUN, TEXT, TEXT, TEXT, DOCUMENT, st.builds(PureDP, EPSILON, st.just(RELATION))),
    st.builds(steps.Recode, RUN, TEXT, st.lists(st.tuples(UINT32, EDGES), max_size=3).map(tuple)),
    st.builds(steps.Attest, RUN, st.binary(max_size=50), st.binary(max_size=50)),
    st.builds(steps.Close, RUN, TEXT, TIME),
    st.builds(steps.Stopped, RUN, TIME),
)
REPLY = st.one_of(
    st.just(steps.Enrolled(PLAN.enrolments[0].to_dict())),
    st.just(steps.Done()),
    st.builds(steps.Sealed, BLOB),
    st.builds(steps.Sum, st.binary(max_size=200)),
    st.builds(steps.Selected, UINT32),
    st.builds(steps.Learned, DOCUMENT),
    st.builds(steps.Attested, DOCUMENT),
    st.builds(steps.Refusal, TEXT, TEXT, TEXT),
    st.builds(steps.Pending, TEXT, TIME),
)


@given(STEP)
def test_every_step_arrives_as_it_was(step):
    decoded = decode_step(encode_step(step))
    assert decoded == step
    assert steps.step_digest(decoded) == steps.step_digest(step)


@given(TEXT, TEXT, REPLY)
def test_every_reply_arrives_as_it_was(run, key, reply):
    assert decode_reply(encode_reply(run, key, reply)) == (run, key, reply)


@given(STEP)
def test_the_same_step_is_always_the_same_bytes(step):
    assert encode_step(step) == encode_step(decode_step(encode_step(step)))


def takes_or_refuses(decode, data):
    """Decode; what is taken has a digest and can be sent again. Any other exception is a failure."""
    try:
        decoded = decode(data)
    except MalformedMessageError:
        return
    if decode is decode_step:
        steps.step_digest(decoded)
        encode_step(decoded)
    else:
        encode_reply(*decoded)


@given(st.binary(max_size=300))
@example(b"")
@example(b"\xff" * 40)
@example(b"\x0b" * 10_000)  # groups within groups
def test_arbitrary_bytes_are_refused_in_one_way(data):
    for decode in (decode_step, decode_reply):
        takes_or_refuses(decode, data)


@given(st.data(), STEP, REPLY)
def test_truncated_and_flipped_messages_are_refused_in_one_way(data, step, reply):
    for decode, message in ((decode_step, encode_step(step)), (decode_reply, encode_reply("r", "k", reply))):
        takes_or_refuses(decode, message[: data.draw(st.integers(0, len(message)))])
        flipped = bytearray(message)
        place = data.draw(st.integers(0, len(message) * 8 - 1))
        flipped[place // 8] ^= 1 << place % 8
        takes_or_refuses(decode, bytes(flipped))


def test_a_changed_bit_of_a_plan_never_passes_for_the_plan():
    message = encode_step(steps.Begin(PLAN))
    for place in range(0, len(message) * 8, 7):
        flipped = bytearray(message)
        flipped[place // 8] ^= 1 << place % 8
        try:
            assert decode_step(bytes(flipped)) != steps.Begin(PLAN)
        except MalformedMessageError:
            continue


SCALARS = [
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
]
JSON = st.recursive(
    st.one_of(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BAD_JSON = [b"", b"{", b"NaN", b"[1e400]", b'{"a":1,"a":2}', b' {"a":1}', b'"\\ud800"', b"\xff\xfe", b"1" * 10_000]
DEEP_JSON = [b"[" * n + b"]" * n for n in (65, 500, 990, 5_000, 200_000)]


def documents(document):
    """The bytes as the document of each message that carries one."""
    yield decode_step, pb.Step(run="run-1", enrol=pb.Enrol(spec=document))
    yield decode_step, pb.Step(run="run-1", begin=pb.Begin(plan=document))
    yield decode_reply, pb.Reply(run="run-1", key="enrol", enrolled=pb.Enrolled(enrolment=document))


@pytest.mark.parametrize("document", BAD_JSON + DEEP_JSON)
def test_bytes_that_are_no_canonical_document_are_refused(document):
    for decode, message in documents(document):
        with pytest.raises(MalformedMessageError):
            decode(message.SerializeToString())


@given(JSON)
def test_documents_of_any_other_shape_are_refused(document):
    for decode, message in documents(canonical_bytes(document)):
        with pytest.raises(MalformedMessageError):
            decode(message.SerializeToString())


@given(st.sampled_from(sorted(SPEC.to_dict())), JSON)
def test_a_spec_with_any_value_in_any_place_is_taken_with_a_digest_or_refused(key, value):
    for decode, message in documents(canonical_bytes({**SPEC.to_dict(), key: value})):
        takes_or_refuses(decode, message.SerializeToString())


@given(st.sampled_from(sorted(PLAN.to_dict())), JSON)
def test_a_plan_with_any_value_in_any_place_is_taken_with_a_digest_or_refused(key, value):
    for decode, message in documents(canonical_bytes({**PLAN.to_dict(), key: value})):
        takes_or_refuses(decode, message.SerializeToString())


def test_settings_nested_too_deep_are_refused():
    settings = {}
    for _ in range(70):
        settings = {"a": settings}
    spec = {**SPEC.to_dict(), "settings": settings}
    with pytest.raises(MalformedMessageError):
        decode_step(pb.Step(run="run-1", enrol=pb.Enrol(spec=canonical_bytes(spec))).SerializeToString())


EPSILONS = [
    *("", "0", "-1", "0/1", "1/0", "abc", "nan", "inf", "0.5", "2/6", "01", "+1", " 1", "1_0", "1e5", "١"),
    *("1e999999999", "1e-999999999", "1/1" + "0" * 4000, "9" * 4000, "9" * 4000 + "." + "9" * 4000, "1" * 10**6),
]


@pytest.mark.parametrize("text", EPSILONS)
def test_an_epsilon_has_one_spelling_and_is_positive_and_costs_no_time(text):
    messages = [
        *(
            pb.Step(run="run-1", **{step: kind(mechanism=pb.Selecting(**{mechanism: text}))})
            for step, kind in (("select", pb.Select), ("select_table", pb.SelectTable))
            for mechanism in ("noisy_max", "exponential")
        ),
        *(
            pb.Step(run="run-1", contribute=pb.Contribute(round=pb.Round(tables=pb.Tables(), **{name: noise})))
            for name, kind, fields in (
                ("laplace", pb.LaplaceNoise, ("scale",)),
                ("gaussian", pb.GaussianNoise, ("scale", "rho")),
                ("advanced", pb.AdvancedLaplaceNoise, ("scale", "epsilon", "delta")),
            )
            for wrong in fields
            for noise in [kind(**{**dict.fromkeys(fields, "1/3"), wrong: text})]
        ),
        pb.Step(run="run-1", learn=pb.Learn(epsilon=text, settings=b"{}")),
        pb.Step(run="run-1", enrol=pb.Enrol(spec=canonical_bytes({**SPEC.to_dict(), "epsilon": text}))),
    ]
    start = time.process_time()
    for message in messages:
        with pytest.raises(MalformedMessageError):
            decode_step(message.SerializeToString())
    assert time.process_time() - start < 1


def test_steps_of_every_mechanism_come_back_as_they_went():
    share = Share(RhoBudget(Fraction(1), Fraction(1, 10**9)), Fraction(1, 3))
    round_ = Round("run-1", "p", "r", share.noise(Tables(((0,), (1,)), (1, 2)), 2))
    series = Replacement(1, None, 0, round_.noise.scale, last=False)
    pair = [AttributeParentPair(0, (1,))]
    for step in (
        steps.Contribute(round_),
        steps.Contribute(replace(round_, replacement=series)),
        steps.Select("run-1", "p", "d", pair, ExponentialMechanism(Fraction(1, 8))),
        steps.Select("run-1", "p", "d", pair, NoisyMax(Fraction(1, 8))),
    ):
        assert decode_step(encode_step(step)) == step


@pytest.mark.parametrize(
    "round_",
    [
        pb.Round(),
        pb.Round(tables=pb.Tables()),
        pb.Round(laplace=pb.LaplaceNoise(scale="1")),
        pb.Round(tables=pb.Tables(), gaussian=pb.GaussianNoise(scale="1")),
    ],
)
def test_a_round_without_a_query_or_a_mechanism_is_refused(round_):
    with pytest.raises(MalformedMessageError):
        decode_step(pb.Step(run="run-1", contribute=pb.Contribute(round=round_)).SerializeToString())


def test_a_selection_without_a_mechanism_is_refused():
    for step in ({"select": pb.Select()}, {"select_table": pb.SelectTable()}):
        with pytest.raises(MalformedMessageError):
            decode_step(pb.Step(run="run-1", **step).SerializeToString())


@pytest.mark.parametrize("run", ["", "a/b", "/", "..", "a b", "é", "a" * 64, "a\n"])
def test_a_run_has_a_plain_name_so_that_no_run_lies_below_another(run):
    with pytest.raises(MalformedMessageError):
        decode_step(encode_step(steps.Close(run, "COMPLETED")))


def test_a_step_that_names_two_runs_is_refused():
    message = pb.Step.FromString(encode_step(steps.Enrol(SPEC)))
    message.run = "run-2"
    with pytest.raises(MalformedMessageError, match="two runs"):
        decode_step(message.SerializeToString())


def test_what_an_operator_signed_is_no_part_of_what_is_answered():
    step = decode_step(encode_step(steps.Enrol(SPEC, b"signed")))
    assert step.request == b"signed"
    assert steps.step_digest(step) == steps.step_digest(steps.Enrol(SPEC))


def test_messages_without_a_body_are_refused():
    for decode, message in ((decode_step, pb.Step(run="run-1")), (decode_reply, pb.Reply(run="run-1", key="k"))):
        with pytest.raises(MalformedMessageError):
            decode(message.SerializeToString())


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_chunks_are_full_but_the_last_and_join_to_the_message(size):
    message = bytes(range(256)) * (size // 256) + bytes(size % 256)
    parts = [chunk.data for chunk in chunks(message)]
    assert len(parts) == max(1, -(-size // CHUNK_BYTES))
    assert all(len(part) == CHUNK_BYTES for part in parts[:-1])
    assert b"".join(parts) == message


def product(attributes, pool, size):
    return tuple(AttributeParentPair(x, some) for x in attributes for some in combinations(pool, size))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_candidates_that_share_a_pool_take_a_few_bytes(size):
    candidates = product(range(8, 16), range(8), size) + product([20], [1, 3, 9], size)
    step = steps.Select("run-1", "p", "d", candidates, NoisyMax(Fraction(1)))
    assert decode_step(encode_step(step)) == step
    assert len(encode_step(step)) < 80


def test_candidates_of_any_other_kind_keep_their_order():
    odd = product([3], [5, 4], 1) + product([3, 2], [7, 6, 1], 2) + (AttributeParentPair(9, ()),)
    assert decode_candidates(encode_candidates(odd)) == odd


def test_a_short_message_cannot_stand_for_endless_candidates():
    group = pb.CandidateGroup(attributes=range(100), pool=range(200), size=100)
    with pytest.raises(MalformedMessageError):
        decode_step(
            pb.Step(
                run="run-1", select=pb.Select(candidates=[group], mechanism=pb.Selecting(noisy_max="1"))
            ).SerializeToString()
        )
    assert SELECTION_CANDIDATES < 100 * 200**2
