"""Steps and replies to and from protobuf bytes. The only place that maps the one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from common.canonical import canonical_bytes, parse, positive_fraction
from common.crypto.sealing import SealedBlob
from common.privacy.composition import Accounting
from common.protocol import round as rounds
from common.protocol import steps
from common.protocol.attempt import Attempt
from common.protocol.plan import Enrolment, RunPlan, RunSpec, check_run_name
from common.statistics import Marginal
from common.wire.candidates import decode_candidates, encode_candidates
from common.wire.v1 import privity_pb2 as pb

CHUNK_BYTES = 1 << 20
LARGEST_MESSAGE = 1 << 28
"""Most bytes of a message: beyond it the sender is not of this protocol."""


class MalformedMessageError(ValueError):
    """Bytes that are no message of this protocol."""


def chunks(data: bytes) -> Iterator[pb.Chunk]:
    """Cut a message into chunks of at most 1 MiB; an empty message is one empty chunk."""
    for start in range(0, max(len(data), 1), CHUNK_BYTES):
        yield pb.Chunk(data=data[start : start + CHUNK_BYTES])


def encode_step(step: steps.Step) -> bytes:
    message = pb.Step(run=step.run)
    match step:
        case steps.Enrol():
            message.enrol.spec = canonical_bytes(step.spec.to_dict())
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
                    blobs=[_blob(sender, blob) for sender, blob in step.blobs],
                    base=step.base,
                )
            )
        case steps.Select():
            message.select.CopyFrom(
                pb.Select(
                    phase=step.phase,
                    draw=step.draw,
                    candidates=encode_candidates(step.candidates),
                    epsilon=str(step.epsilon),
                    score=step.score,
                )
            )
        case steps.Learn():
            message.learn.CopyFrom(
                pb.Learn(
                    phase=step.phase,
                    name=step.name,
                    algorithm=step.algorithm,
                    settings=canonical_bytes(step.settings),
                    epsilon=str(step.epsilon),
                )
            )
        case steps.Close():
            message.close.state = step.state
    return message.SerializeToString(deterministic=True)


def decode_step(data: bytes) -> steps.Step:
    """Raises MalformedMessageError for anything that is not a step."""
    try:
        message = pb.Step.FromString(data)
        check_run_name(message.run)
        match message.WhichOneof("body"):
            case "enrol":
                step: steps.Step = steps.Enrol(RunSpec.from_dict(parse(message.enrol.spec)))
            case "begin":
                step = steps.Begin(RunPlan.from_dict(parse(message.begin.plan)))
            case "contribute":
                step = steps.Contribute(_to_round(message.run, message.contribute.round))
            case "seal_block":
                b = message.seal_block
                step = steps.SealBlock(message.run, _to_attempt(b.attempt), b.block)
            case "combine_block":
                c = message.combine_block
                blobs = tuple((b.sender, SealedBlob(b.ciphertext, b.signature)) for b in c.blobs)
                step = steps.CombineBlock(message.run, _to_attempt(c.attempt), c.block, c.node, blobs, c.base)
            case "select":
                s = message.select
                pairs = decode_candidates(s.candidates)
                step = steps.Select(message.run, s.phase, s.draw, pairs, positive_fraction(s.epsilon), s.score)
            case "learn":
                o = message.learn
                settings = _document(o.settings)
                step = steps.Learn(message.run, o.phase, o.name, o.algorithm, settings, positive_fraction(o.epsilon))
            case "close":
                step = steps.Close(message.run, message.close.state)
            case _:
                raise ValueError("a step without a body")
    except (DecodeError, ValueError, KeyError, TypeError) as error:
        raise MalformedMessageError("not a step of this protocol") from error
    if step.run != message.run:
        raise MalformedMessageError("the step names two runs")
    return step


def encode_reply(run: str, key: str, reply: steps.Reply) -> bytes:
    message = pb.Reply(run=run, key=key)
    match reply:
        case steps.Enrolled():
            message.enrolled.enrolment = canonical_bytes(reply.enrolment)
        case steps.Done():
            message.done.SetInParent()
        case steps.Sealed():
            message.sealed.CopyFrom(_blob("", reply.blob))
        case steps.Sum():
            message.sum.CopyFrom(pb.Sum(payload=reply.payload))
        case steps.Choice():
            message.choice.CopyFrom(pb.Choice(index=reply.index))
        case steps.Learned():
            message.learned.model = canonical_bytes(reply.model)
        case steps.Pending():
            message.pending.reason = reply.reason
        case steps.Refusal():
            message.refusal.CopyFrom(pb.Refusal(code=reply.code, message=reply.message, remedy=reply.remedy))
    return message.SerializeToString(deterministic=True)


def decode_reply(data: bytes) -> tuple[str, str, steps.Reply]:
    """(run, step key, reply); raises MalformedMessageError for anything that is not a reply."""
    try:
        message = pb.Reply.FromString(data)
        reply: steps.Reply
        match message.WhichOneof("body"):
            case "enrolled":
                reply = steps.Enrolled(Enrolment.from_dict(parse(message.enrolled.enrolment)).to_dict())
            case "done":
                reply = steps.Done()
            case "sealed":
                blob = message.sealed
                reply = steps.Sealed(SealedBlob(blob.ciphertext, blob.signature))
            case "sum":
                reply = steps.Sum(message.sum.payload)
            case "choice":
                reply = steps.Choice(message.choice.index)
            case "learned":
                reply = steps.Learned(_document(message.learned.model))
            case "pending":
                reply = steps.Pending(message.pending.reason)
            case "refusal":
                r = message.refusal
                reply = steps.Refusal(r.code, r.message, r.remedy)
            case _:
                raise ValueError("a reply without a body")
    except (DecodeError, ValueError, KeyError, TypeError) as error:
        raise MalformedMessageError("not a reply of this protocol") from error
    return message.run, message.key, reply


def _document(data: bytes) -> dict[str, Any]:
    document = parse(data)
    if not isinstance(document, dict):
        raise ValueError("not a plain document")
    return document


def _attempt(attempt: Attempt) -> pb.Attempt:
    return pb.Attempt(round=attempt.round, digest=attempt.digest, number=attempt.number, combiners=attempt.combiners)


def _to_attempt(message: pb.Attempt) -> Attempt:
    return Attempt(message.round, message.digest, message.number, tuple(message.combiners))


def _round(round_: rounds.Round) -> pb.Round:
    tables = [pb.Attributes(index=t) for t in round_.tables]
    message = pb.Round(
        phase=round_.phase, round=round_.round, tables=tables, epsilon=str(round_.epsilon), weights=round_.weights
    )
    if round_.accounting is not None:
        message.accounting.CopyFrom(pb.Accounting(**round_.accounting.content()))
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


def _to_round(run: str, message: pb.Round) -> rounds.Round:
    tables: tuple[Marginal, ...] = tuple(tuple(t.index) for t in message.tables)
    replacement = None
    if message.HasField("replacement"):
        r = message.replacement
        previous = r.previous if r.HasField("previous") else None
        replacement = rounds.Replacement(r.coverage, previous, r.previous_coverage, positive_fraction(r.widest), r.last)
    accounting = None
    if message.HasField("accounting"):
        a = message.accounting
        accounting = Accounting(a.composition, positive_fraction(a.delta), positive_fraction(a.unit))
    epsilon, weights = positive_fraction(message.epsilon), tuple(message.weights)
    return rounds.Round(run, message.phase, message.round, tables, epsilon, replacement, weights, accounting)


def _blob(sender: str, blob: SealedBlob) -> pb.Blob:
    return pb.Blob(sender=sender, ciphertext=blob.ciphertext, signature=blob.signature)
