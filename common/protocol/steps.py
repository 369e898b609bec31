"""Typed requests to a party, each with an identity and a digest; those that release something hold their mechanism.

A step is the only thing that reaches a party's rows. What it costs is its mechanism's loss. Its key names the question,
its digest the content; a key is answered once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.crypto.sealing import SealedBlob
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import Selecting
from privity.common.privacy.neighbouring_relation import RELATION, check_same_relation
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.candidate_pairs import Candidates
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.round import Round
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.run_spec import RunPlan, RunSpec
from privity.common.storage.canonical_json import digest


@dataclass(frozen=True)
class Enrol:
    """Ask a party to take part in a run, before anything is counted.

    Attributes:
        request: as its operator signed it (``privity.common.runs.signed_request``); no part of what is answered, which
            is the spec that follows from it.
    """

    spec: RunSpec
    request: bytes = b""

    key = "enrol"

    @property
    def run(self) -> str:
        return self.spec.run

    def content(self) -> dict[str, Any]:
        return {"kind": "enrol", "spec": self.spec.to_dict()}


@dataclass(frozen=True)
class Begin:
    """Give a party the complete plan, to be verified and kept."""

    plan: RunPlan

    key = "begin"

    @property
    def run(self) -> str:
        return self.plan.spec.run

    def content(self) -> dict[str, Any]:
        return {"kind": "begin", "plan": self.plan.to_dict()}


@dataclass(frozen=True)
class Contribute:
    """Count the round's tables and add this party's noise share; what comes out is kept until its blocks are asked."""

    round: Round

    @property
    def run(self) -> str:
        return self.round.run

    @property
    def key(self) -> str:
        return f"contribute/{self.round.round}"

    def content(self) -> dict[str, Any]:
        return {"kind": "contribute", "round": self.round.content()}


@dataclass(frozen=True)
class SealBlock:
    """Hide one block of what was contributed, and seal it to the combiner."""

    run: str
    attempt: Attempt
    block: int

    @property
    def key(self) -> str:
        return f"seal/{self.attempt.round}/{self.attempt.number}/{self.block}"

    def content(self) -> dict[str, Any]:
        return {"kind": "seal", "run": self.run, "attempt": self.attempt.content(), "block": self.block}


@dataclass(frozen=True)
class CombineBlock:
    """As combiner of a node of the tree: open its children's blobs of one block, add them up, send the sum on.

    ``base`` is this block of the running sum, if the round changes one: the sum of the round before it.
    """

    run: str
    attempt: Attempt
    block: int
    node: int
    blobs: tuple[tuple[str, SealedBlob], ...]
    base: bytes = b""

    @property
    def key(self) -> str:
        return f"combine/{self.attempt.round}/{self.attempt.number}/{self.block}/{self.node}"

    def content(self) -> dict[str, Any]:
        return {
            "kind": "combine",
            "run": self.run,
            "attempt": self.attempt.content(),
            "block": self.block,
            "node": self.node,
            "blobs": [[sender, blob.digest] for sender, blob in self.blobs],
            "base": hashlib.sha256(self.base).hexdigest(),
        }


@dataclass(frozen=True)
class Revealed:
    """A round is revealed: the vector that was kept for it, and what was answered for its blocks, are erased."""

    run: str
    round: str
    digest: str

    @property
    def key(self) -> str:
        return f"revealed/{self.round}"

    def content(self) -> dict[str, Any]:
        return {"kind": "revealed", "run": self.run, "round": self.round, "digest": self.digest}


@dataclass(frozen=True)
class Select:
    """Select one candidate on the party's own rows."""

    run: str
    phase: str
    selection: str
    candidates: Sequence[AttributeParentPair]
    mechanism: Selecting
    score: str = "R"

    def __post_init__(self) -> None:
        _check_mechanism(self.mechanism)
        object.__setattr__(self, "candidates", Candidates.of(self.candidates))

    @property
    def key(self) -> str:
        return f"select/{self.selection}"

    @property
    def choices(self) -> int:
        """Of how many candidates one is selected."""
        return len(self.candidates)

    def content(self) -> dict[str, Any]:
        return {
            "kind": "select",
            "run": self.run,
            "phase": self.phase,
            "selection": self.selection,
            # One text: there may be a hundred thousand candidates.
            "candidates": Candidates.of(self.candidates).text,
            "mechanism": self.mechanism.content(),
            "score": self.score,
        }


@dataclass(frozen=True)
class SelectTable:
    """Select one table on the party's own rows, by how far its counts are from what a model expects."""

    run: str
    phase: str
    selection: str
    expected: ExpectedTables
    mechanism: Selecting

    def __post_init__(self) -> None:
        _check_mechanism(self.mechanism)

    @property
    def key(self) -> str:
        return f"select/{self.selection}"

    @property
    def choices(self) -> int:
        """Of how many tables one is selected."""
        return len(self.expected)

    def content(self) -> dict[str, Any]:
        return {
            "kind": "select-table",
            "run": self.run,
            "phase": self.phase,
            "selection": self.selection,
            "expected": self.expected.content,
            "mechanism": self.mechanism.content(),
        }


def _check_mechanism(mechanism: Selecting) -> None:
    if not isinstance(mechanism, Selecting):
        raise TypeError("a selection holds a mechanism that selects")


SelectionStep = Select | SelectTable


@dataclass(frozen=True)
class Learn:
    """Learn a model of the party's own rows with one of the algorithms, under noise of its own.

    A run asks for this or for sums over all parties, never for both: the model and a revealed sum would be
    two views of the same rows at one observer.
    """

    run: str
    phase: str
    name: str
    algorithm: str
    settings: dict[str, Any]
    loss: PureDP

    def __post_init__(self) -> None:
        if not isinstance(self.loss, PureDP):
            raise TypeError("a model of one party's rows is learnt for a pure privacy loss")
        check_same_relation(RELATION, self.loss.relation)

    @property
    def key(self) -> str:
        return f"learn/{self.name}"

    def content(self) -> dict[str, Any]:
        return {
            "kind": "learn",
            "run": self.run,
            "phase": self.phase,
            "name": self.name,
            "algorithm": self.algorithm,
            "settings": self.settings,
            "epsilon": str(self.loss.epsilon),
        }


@dataclass(frozen=True)
class Recode:
    """Code numbers whose domain is open by other edges, for the steps that stand below this name.

    Nothing is counted and nothing is charged: the edges follow from what was revealed before.

    Attributes:
        edges: of each number that is coded anew, by its place among the attributes of the run.
    """

    run: str
    name: str
    edges: tuple[tuple[int, tuple[Fraction, ...]], ...]

    @property
    def key(self) -> str:
        return f"recode/{self.name}"

    def content(self) -> dict[str, Any]:
        edges = [[attribute, *map(str, found)] for attribute, found in self.edges]
        return {"kind": "recode", "run": self.run, "name": self.name, "edges": edges}


@dataclass(frozen=True)
class Attest:
    """Sign what is about to be published: this party's part in it, at the charges of its ledger, and its digest.

    Attributes:
        run_document, privacy: the bytes of ``run.json``, which names the digests of all files, and of ``privacy.json``.
    """

    run: str
    run_document: bytes
    privacy: bytes

    key = "attest"

    def content(self) -> dict[str, Any]:
        digests = {name: hashlib.sha256(getattr(self, name)).hexdigest() for name in ("run_document", "privacy")}
        return {"kind": "attest", "run": self.run, **digests}


@dataclass(frozen=True)
class Close:
    """The run is over: stored vectors and replies are erased, the charges stay.

    Attributes:
        since, why: when it ended, in UTC, and why, for people to read; no part of what is digested.
    """

    run: str
    state: str
    since: str = ""
    why: str = ""

    key = "close"

    def content(self) -> dict[str, Any]:
        return {"kind": "close", "run": self.run, "state": self.state}


@dataclass(frozen=True)
class Stopped:
    """The run does not go on for now, and may be resumed.

    Attributes:
        since: when it was stopped, in UTC; empty if it goes on again.
    """

    run: str
    since: str

    @property
    def key(self) -> str:
        # A reply to one word must not pass for one to the next.
        return f"stopped/{self.since}"

    def content(self) -> dict[str, Any]:
        return {"kind": "stopped", "run": self.run, "since": self.since}


Step = (
    Enrol
    | Begin
    | Contribute
    | SealBlock
    | CombineBlock
    | Revealed
    | SelectionStep
    | Learn
    | Recode
    | Attest
    | Close
    | Stopped
)


def step_digest(step: Step) -> str:
    """The digest of a step's content: what a repetition must have."""
    return digest(step.content())


@dataclass(frozen=True)
class Sealed:
    """Reply to SealBlock and, below the root, to CombineBlock: unreadable for the curator that relays it."""

    blob: SealedBlob


@dataclass(frozen=True)
class Sum:
    """Reply to CombineBlock at the root: the block summed over all members, with fresh randomness, for the curator."""

    payload: bytes


@dataclass(frozen=True)
class Selected:
    """Reply to Select and SelectTable: index into the step's candidates; an outcome of the exponential mechanism."""

    index: int


@dataclass(frozen=True)
class Learned:
    """Reply to Learn: the model as a plain document; made of charged releases only."""

    model: dict[str, Any]


@dataclass(frozen=True)
class Enrolled:
    """Reply to Enrol: the party's signed enrolment as a plain document (``Enrolment.to_dict``)."""

    enrolment: dict[str, Any]


@dataclass(frozen=True)
class Attested:
    """Reply to Attest: the party's signed statement as a plain document (``privity.common.release.attestations``)."""

    attestation: dict[str, Any]


@dataclass(frozen=True)
class Done:
    """Reply to Begin, Contribute, Revealed, Recode, Close and Stopped."""


@dataclass(frozen=True)
class Refusal:
    """A party's word that it will not answer, in the words of the error catalogue."""

    code: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Pending:
    """A party's word that the step waits for a person there; it is no answer, and the step is to be given again.

    Attributes:
        since: when the party was asked, in UTC; empty if the party does not say.
    """

    reason: str
    since: str = ""


Reply = Enrolled | Attested | Done | Sealed | Sum | Selected | Learned | Refusal | Pending
