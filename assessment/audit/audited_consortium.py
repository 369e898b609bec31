"""A curator and K parties in one process: production objects, without the gRPC layer between them.

Engine, releases, ledger, journal, codec, packing, sealing, combiner and session are the production ones.
For the audit and for tests only: one process holds all rows and all keys, and the keys are short.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from privity.common.consortium.manifest import Manifest
from privity.common.crypto import paillier
from privity.common.crypto.certificates import self_signed
from privity.common.crypto.identity import Identity
from privity.common.crypto.residues import Exponents
from privity.common.crypto.sealing import SealedBlob
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, parse_schema
from privity.common.privacy.ledger import MEMORY, Allowance, Ledger
from privity.common.privacy.population import Population
from privity.common.protocol.combiner_tree import combiners_needed
from privity.common.protocol.round import Round
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.round_context import RoundContext
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.secure_sum import Blobs, reveal_block
from privity.common.protocol.secure_sum_method import Method
from privity.common.protocol.session import Session
from privity.common.protocol.steps import (
    Begin,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Refusal,
    Reply,
    SealBlock,
    Sealed,
    Step,
    Sum,
)
from privity.common.runs.signed_request import SignedRequest, sign_request
from privity.common.storage.journal import Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.wire.codec import decode_reply, decode_step, encode_step
from privity.curator.answer_store import Answers
from privity.curator.network_backend import NetworkBackend
from privity.curator.pending_steps import PartyRefusedError
from privity.curator.traffic_meter import Meter
from privity.party.charged_releases import ChargedReleases, EntropySource, system_entropy
from privity.party.keys import Keys
from privity.party.policy import Approval, Policy
from privity.party.sources.rows import InMemory, Rows
from privity.party.step_answers import PartyEngine

POPULATION = "test people"
PLENTY = Fraction(10**9)
UNLIMITED = Allowance()
"""What the audit lets a ledger be charged: the claim is audited, not the limit."""


@lru_cache(maxsize=8)
def small_key(bits: int) -> tuple[paillier.PublicKey, paillier.SecretKey]:
    """A short Paillier key, made once: what is tried is the protocol, not the length of its key."""
    return paillier.generate_keypair(bits, allow_small=True)


@lru_cache(maxsize=64)
def make_schema(domain: tuple[int, ...]) -> Schema:
    """Attributes A0, A1, ... with categories "0", "1", ..."""
    fields = [
        {"name": f"A{i}", "type": "string", "categories": [str(c) for c in range(size)]}
        for i, size in enumerate(domain)
    ]
    return parse_schema({"fields": fields}, "test schema")


class RememberedReleases(ChargedReleases):
    """Releases whose owner remembers what it put into each round, as an observer may; the journal has to forget it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.vectors: dict[str, np.ndarray] = {}

    def keep_vector(self, round_: Round, quota: int, allowance: Allowance, position: int = 0) -> bytes:
        stored = super().keep_vector(round_, quota, allowance, position)
        self.vectors[round_.digest] = np.frombuffer(stored, dtype="<i8").astype(np.int64)
        return stored


@dataclass
class Member:
    """One party's production objects."""

    name: str
    table: CodedTable
    identity: Identity
    ledger: Ledger
    journal: Journal
    releases: RememberedReleases
    engine: PartyEngine


def sign_spec(spec: RunSpec, manifest: Manifest, operator: tuple[bytes, bytes]) -> SignedRequest:
    """The request of an operator, of this certificate and key (PEM), from which exactly this spec follows."""
    request = {"format_version": 1, **spec.asked(), "parties": list(spec.members)}
    return sign_request(request, spec.run, manifest, *operator)


class Consortium:
    """A consortium in one process.

    Args:
        tables: rows by name of party, all of one schema.
        policies: by name of party; the others allow everything that an audit asks.
        entropy: the randomness of each party by its name; None is the operating system's.
        folder: where ledgers, journals and transcripts are kept; None keeps them in memory.
        simulation: what the manifest says; True is the truth.
        certificates: what the manifest lists, for parties that dial.
        operator: certificate and key (PEM) by which runs are asked for; None makes new ones.
        parties_per_person: what the manifest says.
        identities: keys by name of party; None makes new ones.
        recode: codes the rows of a party, by its name, by another schema; None where they are coded once and for all.
    """

    def __init__(
        self,
        tables: Mapping[str, CodedTable],
        *,
        policies: Mapping[str, Policy],
        key_bits: int,
        entropy: Callable[[str], EntropySource] | None = None,
        curator_member: str | None = None,
        folder: Path | None = None,
        simulation: bool = True,
        certificates: Mapping[str, str] | None = None,
        operator: tuple[bytes, bytes] | None = None,
        parties_per_person: int = 1,
        identities: Mapping[str, Identity] | None = None,
        recode: Callable[[str, Schema], Rows] | None = None,
    ) -> None:
        self.schema = next(iter(tables.values())).schema
        self.public, self.secret = small_key(key_bits)
        identities = identities or {name: Identity.generate() for name in tables}
        self.operator = operator or self_signed("operator", "operator")
        self.manifest = Manifest(
            "test",
            {n: i.public() for n, i in identities.items()},
            self.schema.digest,
            curator_member,
            simulation,
            certificates=dict(certificates or {"operator/operator": self.operator[0].decode()}),
            parties_per_person=parties_per_person,
        )
        self.folder = folder
        self.policies = dict(policies)
        self._entropy = entropy
        self._recode = recode
        self.parties: dict[str, Member] = {}
        self.journal = Journal(folder / "curator.sqlite" if folder else ":memory:")
        for name, table in tables.items():
            self.start(name, table, identities[name])

    def start(self, name: str, table: CodedTable, identity: Identity) -> Member:
        """Start, or start again, a party; with a folder its ledger and journal are found there."""
        file = self.folder / f"{name}-ledger.sqlite" if self.folder else MEMORY
        ledger = Ledger.declare(file, self.policies[name].population)
        journal = Journal(self.folder / f"{name}-journal.sqlite" if self.folder else ":memory:")
        entropy = self._entropy(name) if self._entropy else system_entropy
        recode = partial(self._recode, name) if self._recode else None
        releases = RememberedReleases(name, InMemory(table), journal, ledger, entropy, recode)
        transcripts = self.folder / f"{name}-transcripts" if self.folder else None
        # One number for good, so that what is random is what the entropy gives.
        process = hashlib.sha256(name.encode()).hexdigest()[:32]
        engine = PartyEngine(
            releases, lambda: self.policies[name], Keys(name, identity), self.manifest, transcripts, process
        )
        self.parties[name] = Member(name, table, identity, ledger, journal, releases, engine)
        return self.parties[name]

    def tell(self, party: str, step: Step) -> Reply:
        """Send a step through the production codec and engine; a refusal comes back as a reply."""
        return self.receive(step, self.deliver(party, encode_step(self.signed(step))))

    def signed(self, step: Step) -> Step:
        """An enrolment with the request that the operator signs for its spec; any other step as it is."""
        if not isinstance(step, Enrol) or step.request:
            return step
        return replace(step, request=sign_spec(step.spec, self.manifest, self.operator).bytes())

    def deliver(self, party: str, message: bytes) -> bytes:
        """A party's answer to a message, as bytes."""
        return self.parties[party].engine.handle(decode_step(message))

    @staticmethod
    def receive(step: Step, answer: bytes) -> Reply:
        """The reply in an answer to this very step."""
        run, key, reply = decode_reply(answer)
        assert (run, key) == (step.run, step.key)
        return reply

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        """What the curator's session uses; a refusal is raised as the desk does."""
        reply = self.tell(party, step)
        if isinstance(reply, Refusal):
            raise PartyRefusedError(party, reply)
        return reply

    def spec(self, run: str = "run-1", epsilon: Fraction = Fraction(1), **changes: Any) -> RunSpec:
        values: dict[str, Any] = {
            "run": run,
            "algorithm": "dp-subn",
            # A schedule lets an auditor reveal sums over some of the parties, too.
            "settings": {} if "algorithm" in changes else {"schedule": "uniform"},
            "epsilon": epsilon,
            "tolerate": 1,
            "members": tuple(self.parties),
            "manifest_digest": self.manifest.digest,
        }
        return RunSpec(**{**values, **changes})

    def begin(self, spec: RunSpec | None = None) -> RunPlan:
        """Enrol every member and give it the plan; any refusal is an AssertionError."""
        spec = spec or self.spec()
        enrolments = []
        for member in spec.members:
            reply = self.tell(member, Enrol(spec))
            assert isinstance(reply, Enrolled), reply
            enrolments.append(Enrolment.from_dict(reply.enrolment))
        plan = RunPlan(spec, tuple(enrolments), None if spec.secure_sum.method is Method.MASKS else self.public.n)
        for member in spec.members:
            reply = self.tell(member, Begin(plan))
            assert not isinstance(reply, Refusal), reply
        return plan

    def session(self, plan: RunPlan) -> Session:
        meter = Meter()
        answers = Answers(self.journal, self.ask, meter)
        schema = self.schema.over(plan.spec.attributes)
        return NetworkBackend(plan, self.manifest, schema, self.secret, answers, meter).session()

    def context(self, plan: RunPlan, round_: Round) -> RoundContext:
        return RoundContext(plan, self.manifest, round_, self.schema)

    def attempt(self, round_: Round, number: int = 1, first: int = 0) -> Attempt:
        """An attempt whose combiners are the members from the first-th on."""
        names = list(self.parties)
        turns = names[first:] + names[:first]
        return Attempt(round_.round, round_.digest, number, tuple(turns[: combiners_needed(len(names))]))

    def seal(self, round_: Round, attempt: Attempt, block: int = 0) -> list[tuple[str, SealedBlob]]:
        """Each member's blob of a block, contributed to first; any refusal is an AssertionError."""
        blobs = []
        for name in self.parties:
            done = self.tell(name, Contribute(round_))
            assert isinstance(done, Done), done
            reply = self.tell(name, SealBlock(round_.run, attempt, block))
            assert isinstance(reply, Sealed), reply
            blobs.append((name, reply.blob))
        return blobs

    def combine(self, round_: Round, attempt: Attempt, blobs: Blobs, base: bytes = b"", block: int = 0) -> Reply:
        """What the one combiner of a small consortium makes of these blobs."""
        (combiner,) = attempt.combiners
        return self.tell(combiner, CombineBlock(round_.run, attempt, block, 0, tuple(blobs), base))

    def reveal(self, plan: RunPlan, round_: Round, attempt: Attempt, base: bytes = b"") -> np.ndarray:
        """The first block of an attempt, as a curator decrypts it that asks for it."""
        reply = self.combine(round_, attempt, self.seal(round_, attempt), base)
        assert isinstance(reply, Sum), reply
        return reveal_block(reply.payload, self.context(plan, round_), 0, self.secret)


def generous_policy(minimum_key_bits: int) -> Policy:
    """A policy that allows whatever the audit asks."""
    return Policy(
        population=Population(POPULATION, PLENTY, Fraction(1)),
        epsilon_per_run=PLENTY,
        delta_per_run=Fraction(1),
        algorithms=tuple(ALGORITHMS),
        minimum_parties=2,
        minimum_tolerate=1,
        minimum_key_bits=minimum_key_bits,
        secure_sums=tuple(method.value for method in Method),
        evaluation=True,
        exponents=tuple(kind.value for kind in Exponents),
        approval=Approval.BY_POLICY,
    )
