"""Steps and replies to and from protobuf bytes. The only place that maps the one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from fractions import Fraction
from typing import Any

from google.protobuf.message import DecodeError

from privity.common.crypto.sealing import SealedBlob
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.mechanisms import (
    AdvancedLaplaceNoise,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NoisyMax,
    Selecting,
)
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol import steps
from privity.common.protocol.evaluation_scores import scores_from
from privity.common.protocol.round import Replacement, Round, Scores, Tables
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.run_spec import LARGEST_SPEC, Enrolment, RunPlan, RunSpec, check_run_name
from privity.common.protocol.run_terms import MOST_PARTIES
from privity.common.storage.canonical_json import canonical_bytes, fraction, parse, positive_fraction
from privity.common.text.utc_times import check_utc
from privity.common.text.visible import cut
from privity.common.wire.candidate_pairs import decode_candidates, encode_candidates
from privity.common.wire.expected_tables import decode_expected, encode_expected
from privity.common.wire.v1 import privity_pb2 as pb

CHUNK_BYTES = 1 << 16
"""Small enough that a slow link brings one within ``privity.common.node.connection_silence.SILENCE_SECONDS``."""

LARGEST_STEP = 1 << 24
"""Most bytes of a step: a selection of the most candidates, or the blobs of a node of the tree."""

MOST_TABLES, MOST_INDICES, MOST_BLOBS = 1 << 17, 1 << 20, 64
"""Most tables of a round (all pairs of 512 attributes), attributes of them together, and blobs of a node."""

LARGEST_MODEL = 1 << 26
"""Most bytes of a reply that carries a model."""

LARGEST_BLOCK = 1 << 20
"""Most bytes of a reply that carries a block: one has 512 KiB at most."""

LARGEST_REPLY = 1 << 14
"""Most bytes of any other reply."""

LONGEST_NAME = 256
"""Most characters of the name of a phase, round or selection."""
MOST_LISTS, MOST_VALUES = 1 << 18, 1 << 22
"""Most lists and objects of a document, and most values."""

LARGEST_PLAN = 1 << 21
"""Most bytes of a plan: those of the spec, and of the enrolments of the most members."""
# What the parsers and constructors of this protocol raise for content that is not of it.
FAULTS = (DecodeError, ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError)


class MalformedMessageError(ValueError):
    """Bytes that are no message of this protocol.

    Attributes:
        run, key: the step that they claim to answer; empty if that does not show.
    """

    def __init__(self, reason: str, run: str = "", key: str = "") -> None:
        super().__init__(reason)
        self.run, self.key = run, key


def chunks(data: bytes) -> Iterator[pb.Chunk]:
    """Cut a message into chunks of at most 64 KiB; an empty message is one empty chunk."""
    for start in range(0, max(len(data), 1), CHUNK_BYTES):
        yield pb.Chunk(data=data[start : start + CHUNK_BYTES])


def encode_step(step: steps.Step) -> bytes:
    """A step as the curator sends it."""
    message = pb.Step(run=step.run)
    match step:
        case steps.Enrol():
            message.enrol.CopyFrom(pb.Enrol(spec=canonical_bytes(step.spec.to_dict()), request=step.request))
        case steps.Begin():
            message.begin.plan = canonical_bytes(step.plan.to_dict())
        case steps.Contribute():
            message.contribute.round.CopyFrom(_round(step.round))
        case steps.SealBlock():
            message.seal_block.CopyFrom(pb.SealBlock(attempt=_attempt(step.attempt), block=step.block))
        case steps.CombineBlock():
            message.combine_block.CopyFrom(
                pb.CombineBlock(
                    attempt=_attempt(step.attempt),
                    block=step.block,
                    node=step.node,
                    blobs=[_blob(blob, sender) for sender, blob in step.blobs],
                    base=step.base,
                )
            )
        case steps.Revealed():
            message.revealed.CopyFrom(pb.Revealed(round=step.round, digest=step.digest))
        case steps.Select():
            message.select.CopyFrom(
                pb.Select(
                    phase=step.phase,
                    selection=step.selection,
                    candidates=encode_candidates(step.candidates),
                    mechanism=_selecting(step.mechanism),
                    score=step.score,
                )
            )
        case steps.SelectTable():
            message.select_table.CopyFrom(
                pb.SelectTable(
                    phase=step.phase,
                    selection=step.selection,
                    expected=encode_expected(step.expected),
                    mechanism=_selecting(step.mechanism),
                )
            )
        case steps.Learn():
            message.learn.CopyFrom(
                pb.Learn(
                    phase=step.phase,
                    name=step.name,
                    algorithm=step.algorithm,
                    settings=canonical_bytes(step.settings),
                    epsilon=str(step.loss.epsilon),
                )
            )
        case steps.Recode():
            edges = [pb.Edges(attribute=place, edges=map(str, found)) for place, found in step.edges]
            message.recode.CopyFrom(pb.Recode(name=step.name, edges=edges))
        case steps.Attest():
            message.attest.CopyFrom(pb.Attest(run_document=step.run_document, privacy=step.privacy))
        case steps.Close():
            message.close.CopyFrom(pb.Close(state=step.state, since=step.since, why=step.why))
        case steps.Stopped():
            message.stopped.CopyFrom(pb.Stopped(since=step.since))
    return message.SerializeToString(deterministic=True)


def decode_step(data: bytes) -> steps.Step:
    """Raises MalformedMessageError for anything that is not a step."""
    try:
        _check_size(data, LARGEST_STEP)
        message = pb.Step.FromString(data)
        check_run_name(message.run)
        match message.WhichOneof("body"):
            case "enrol":
                spec = RunSpec.from_dict(_parsed(message.enrol.spec, LARGEST_SPEC))
                step: steps.Step = steps.Enrol(spec, message.enrol.request)
            case "begin":
                step = steps.Begin(RunPlan.from_dict(_parsed(message.begin.plan, LARGEST_PLAN)))
            case "contribute":
                step = steps.Contribute(_to_round(message.run, message.contribute.round))
            case "seal_block":
                b = message.seal_block
                step = steps.SealBlock(message.run, _to_attempt(b.attempt), b.block)
            case "combine_block":
                c = message.combine_block
                _check_number(c.blobs, MOST_BLOBS)
                blobs = tuple((b.sender, SealedBlob(b.ciphertext, b.signature)) for b in c.blobs)
                step = steps.CombineBlock(message.run, _to_attempt(c.attempt), c.block, c.node, blobs, c.base)
            case "revealed":
                step = steps.Revealed(message.run, message.revealed.round, message.revealed.digest)
            case "select":
                s = message.select
                pairs = decode_candidates(s.candidates)
                step = steps.Select(message.run, s.phase, s.selection, pairs, _to_selecting(s.mechanism), s.score)
            case "select_table":
                d = message.select_table
                expected = decode_expected(d.expected)
                step = steps.SelectTable(message.run, d.phase, d.selection, expected, _to_selecting(d.mechanism))
            case "learn":
                o = message.learn
                settings = _document(o.settings, LARGEST_SPEC)
                loss = PureDP(positive_fraction(o.epsilon), RELATION)
                step = steps.Learn(message.run, o.phase, o.name, o.algorithm, settings, loss)
            case "recode":
                r = message.recode
                _check_tables([each.edges for each in r.edges])
                coded = tuple((each.attribute, tuple(map(_to_edge, each.edges))) for each in r.edges)
                step = steps.Recode(message.run, r.name, coded)
            case "attest":
                t = message.attest
                _check_values(t.run_document)
                _check_values(t.privacy)
                step = steps.Attest(message.run, t.run_document, t.privacy)
            case "close":
                end = message.close
                step = steps.Close(message.run, end.state, check_utc(end.since), cut(end.why))
            case "stopped":
                step = steps.Stopped(message.run, check_utc(message.stopped.since))
            case _:
                raise ValueError("a step without a body")
        _check_names(step)
    except FAULTS as error:
        raise MalformedMessageError("not a step of this protocol") from error
    if step.run != message.run:
        raise MalformedMessageError("the step names two runs")
    return step


def largest_reply(step: steps.Step) -> int:
    """Most bytes of any reply to the step."""
    match step:
        case steps.Learn():
            return LARGEST_MODEL
        case steps.SealBlock() | steps.CombineBlock():
            return LARGEST_BLOCK
    return LARGEST_REPLY


def encode_reply(run: str, key: str, reply: steps.Reply) -> bytes:
    """Raises PrivityError (message-too-large) for a reply that nobody would take."""
    message = pb.Reply(run=run, key=key)
    match reply:
        case steps.Enrolled():
            message.enrolled.enrolment = canonical_bytes(reply.enrolment)
        case steps.Attested():
            message.attested.attestation = canonical_bytes(reply.attestation)
        case steps.Done():
            message.done.SetInParent()
        case steps.Sealed():
            message.sealed.CopyFrom(_blob(reply.blob))
        case steps.Sum():
            message.sum.CopyFrom(pb.Sum(payload=reply.payload))
        case steps.Selected():
            message.selected.CopyFrom(pb.Selected(index=reply.index))
        case steps.Learned():
            message.learned.model = canonical_bytes(reply.model)
        case steps.Pending():
            message.pending.CopyFrom(pb.Pending(reason=reply.reason, since=reply.since))
        case steps.Refusal():
            # It may repeat what the other side sent, whatever that was.
            message.refusal.CopyFrom(
                pb.Refusal(code=cut(reply.code), message=cut(reply.message), remedy=cut(reply.remedy))
            )
    data = message.SerializeToString(deterministic=True)
    if len(data) > (limit := _largest(reply)):
        raise PrivityError(Catalogue.TOO_LARGE, sender="the party", limit=limit)
    return data


def _largest(reply: steps.Reply) -> int:
    match reply:
        case steps.Learned():
            return LARGEST_MODEL
        case steps.Sealed() | steps.Sum():
            return LARGEST_BLOCK
    return LARGEST_REPLY


def decode_reply(data: bytes) -> tuple[str, str, steps.Reply]:
    """(run, step key, reply); raises MalformedMessageError for anything that is not a reply."""
    run = key = ""
    try:
        _check_size(data, LARGEST_MODEL)
        message = pb.Reply.FromString(data)
        run, key = message.run, message.key
        reply: steps.Reply
        match message.WhichOneof("body"):
            case "enrolled":
                content = _parsed(message.enrolled.enrolment, LARGEST_REPLY)
                reply = steps.Enrolled(Enrolment.from_dict(content).to_dict())
            case "attested":
                reply = steps.Attested(_document(message.attested.attestation, LARGEST_REPLY))
            case "done":
                reply = steps.Done()
            case "sealed":
                blob = message.sealed
                reply = steps.Sealed(SealedBlob(blob.ciphertext, blob.signature))
            case "sum":
                reply = steps.Sum(message.sum.payload)
            case "selected":
                reply = steps.Selected(message.selected.index)
            case "learned":
                reply = steps.Learned(_document(message.learned.model, LARGEST_MODEL))
            case "pending":
                reply = steps.Pending(cut(message.pending.reason), check_utc(message.pending.since))
            case "refusal":
                r = message.refusal
                reply = steps.Refusal(cut(r.code), cut(r.message), cut(r.remedy))
            case _:
                raise ValueError("a reply without a body")
        _check_size(data, _largest(reply))
    except FAULTS as error:
        raise MalformedMessageError("not a reply of this protocol", run, key) from error
    return run, key, reply


def _check_size(data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise ValueError("larger than any message of this kind")


def _check_number(values: Sized, limit: int) -> None:
    if len(values) > limit:
        raise ValueError("more parts than any message of this kind has")


def _check_tables(tables: Sequence[Sized]) -> None:
    _check_number(tables, MOST_TABLES)
    if sum(map(len, tables)) > MOST_INDICES:
        raise ValueError("more attributes than the tables of a round have")


def _check_names(step: steps.Step) -> None:
    """ValueError for names that no reply could repeat."""
    names = list[str]()
    match step:
        case steps.Contribute():
            names = [step.round.phase, step.round.round]
        case steps.SealBlock() | steps.CombineBlock():
            names = [step.attempt.round]
        case steps.Revealed():
            names = [step.round, step.digest]
        case steps.Select() | steps.SelectTable():
            names = [step.phase, step.selection]
        case steps.Learn():
            names = [step.phase, step.name, step.algorithm]
        case steps.Recode():
            names = [step.name]
    if max(map(len, names), default=0) > LONGEST_NAME:
        raise ValueError("a longer name than any of this protocol")


def _parsed(data: bytes, limit: int) -> Any:
    """A document that came along, looked at only if it is no larger than any of its kind."""
    _check_size(data, limit)
    _check_values(data)
    return parse(data)


def _check_values(data: bytes) -> None:
    # A list of nothing takes two bytes here and many in memory.
    if data.count(b"[") + data.count(b"{") > MOST_LISTS or data.count(b",") > MOST_VALUES:
        raise ValueError("more lists or values than any document of this protocol has")


def _document(data: bytes, limit: int) -> dict[str, Any]:
    document = _parsed(data, limit)
    if not isinstance(document, dict):
        raise ValueError("not a plain document")
    return document


def _to_edge(text: str) -> Fraction:
    return -positive_fraction(text[1:]) if text.startswith("-") else fraction(text)


def _attempt(attempt: Attempt) -> pb.Attempt:
    return pb.Attempt(round=attempt.round, digest=attempt.digest, number=attempt.number, combiners=attempt.combiners)


def _to_attempt(message: pb.Attempt) -> Attempt:
    _check_number(message.combiners, MOST_PARTIES)
    return Attempt(message.round, message.digest, message.number, tuple(message.combiners))


def _round(round_: Round) -> pb.Round:
    message = pb.Round(phase=round_.phase, round=round_.round)
    match round_.query:
        case Tables(marginals, weights):
            tables = [pb.Attributes(index=table) for table in marginals]
            message.tables.CopyFrom(pb.Tables(marginals=tables, weights=weights))
        case Scores(scores):
            message.scores = canonical_bytes([score.content() for score in scores])
    match round_.noise:
        case LaplaceNoise() as noise:
            message.laplace.CopyFrom(pb.LaplaceNoise(scale=str(noise.scale)))
        case GaussianNoise() as noise:
            message.gaussian.CopyFrom(pb.GaussianNoise(scale=str(noise.scale), rho=str(noise.rho)))
        case AdvancedLaplaceNoise() as noise:
            claim = {"epsilon": str(noise.epsilon), "delta": str(noise.delta)}
            message.advanced.CopyFrom(pb.AdvancedLaplaceNoise(scale=str(noise.scale), **claim))
    if round_.replacement is not None:
        r = round_.replacement
        message.replacement.CopyFrom(
            pb.Replacement(
                coverage=r.coverage,
                previous=r.previous,
                previous_coverage=r.previous_coverage,
                widest=str(r.widest),
                last=r.last,
            )
        )
    return message


def _to_round(run: str, message: pb.Round) -> Round:
    replacement = None
    if message.HasField("replacement"):
        r = message.replacement
        previous = r.previous if r.HasField("previous") else None
        replacement = Replacement(r.coverage, previous, r.previous_coverage, positive_fraction(r.widest), r.last)
    return Round(run, message.phase, message.round, _to_noise(message, _to_query(message)), replacement)


def _to_query(message: pb.Round) -> Tables | Scores:
    match message.WhichOneof("query"):
        case "tables":
            # No more than is worth reading.
            _check_tables([table.index for table in message.tables.marginals])
            _check_number(message.tables.weights, MOST_TABLES)
            return Tables(tuple(tuple(t.index) for t in message.tables.marginals), tuple(message.tables.weights))
        case "scores":
            scores = scores_from(_parsed(message.scores, LARGEST_STEP))
            _check_tables([table for score in scores for table in score.asked()])
            return Scores(scores)
    raise ValueError("a round that asks for nothing")


def _to_noise(message: pb.Round, query: Tables | Scores) -> Noise:
    match message.WhichOneof("noise"):
        case "laplace":
            return LaplaceNoise(query, positive_fraction(message.laplace.scale))
        case "gaussian":
            g = message.gaussian
            return GaussianNoise(query, positive_fraction(g.scale), positive_fraction(g.rho))
        case "advanced":
            a = message.advanced
            claim = positive_fraction(a.epsilon), positive_fraction(a.delta)
            return AdvancedLaplaceNoise(query, positive_fraction(a.scale), *claim)
    raise ValueError("a round without a mechanism")


def _selecting(mechanism: Selecting) -> pb.Selecting:
    epsilon = str(mechanism.epsilon)
    return pb.Selecting(noisy_max=epsilon) if isinstance(mechanism, NoisyMax) else pb.Selecting(exponential=epsilon)


def _to_selecting(message: pb.Selecting) -> Selecting:
    match message.WhichOneof("mechanism"):
        case "noisy_max":
            return NoisyMax(positive_fraction(message.noisy_max))
        case "exponential":
            return ExponentialMechanism(positive_fraction(message.exponential))
    raise ValueError("a selection without a mechanism")


def _blob(blob: SealedBlob, sender: str = "") -> pb.Blob:
    return pb.Blob(sender=sender, ciphertext=blob.ciphertext, signature=blob.signature)
