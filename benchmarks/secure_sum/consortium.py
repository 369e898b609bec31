"""A consortium for the benchmark of the secure sum: parties as processes of this machine, stages timed.

A party answers the steps of a round as a node does, with made-up counts and without wire, ledger and journal.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privity.common.consortium.manifest import Manifest
from privity.common.crypto import paillier
from privity.common.crypto.identity import Identity
from privity.common.crypto.masks import PairwiseMasks
from privity.common.crypto.packing import Layout
from privity.common.crypto.residues import Residues
from privity.common.data.schema import Schema, parse_schema
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol import secure_sum
from privity.common.protocol.block_sums import BlockSum, MaskedSum, PaillierSum
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.round_context import RoundContext, mask_keys
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.secure_sum_method import SumKind
from privity.common.protocol.steps import CombineBlock, Contribute, Done, Reply, SealBlock, Sealed, Step, Sum

ATTRIBUTES = 15
"""All pairs of them are the 105 tables of a round."""

ROWS = 1_000_000
EPSILON = Fraction(1)


@dataclass(frozen=True)
class Task:
    """What to measure; ``cells`` is rounded up to 105 square tables. Masks alone have no key bits."""

    cells: int
    parties: int
    kind: SumKind
    key_bits: int | None


@dataclass
class Stages:
    """Core-seconds of this process by stage: parties share the machine's cores."""

    seconds: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What goes on inside, but for stages within it."""
        started, others = time.process_time(), sum(self.seconds.values())
        yield
        within = sum(self.seconds.values()) - others
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - started - within


class TimedPaillier(PaillierSum):
    """Paillier, stage by stage."""

    def __init__(self, public: paillier.PublicKey, layout: Layout, residues: Residues | None, stages: Stages) -> None:
        super().__init__(public, layout, residues)
        self._stages = stages

    def packed(self, values: NDArray[np.int64], block: int) -> list[int]:
        with self._stages.stage("pack"):
            return super().packed(values, block)

    def masked(self, plaintexts: Sequence[int], masks: PairwiseMasks) -> list[int]:
        with self._stages.stage("mask"):
            return super().masked(plaintexts, masks)

    def encrypted(self, plaintexts: Sequence[int]) -> bytes:
        with self._stages.stage("encrypt"):
            return super().encrypted(plaintexts)

    def reveal(self, payload: bytes, block: int, secret: paillier.SecretKey | None) -> NDArray[np.int64]:
        # One block after another: what is opened at the same time cannot be told apart.
        with self._stages.lock, self._stages.stage("open"):
            return super().reveal(payload, block, secret)


class TimedMasks(MaskedSum):
    """Masks alone, stage by stage."""

    def __init__(self, cells: int, width: int, stages: Stages) -> None:
        super().__init__(cells, width)
        self._stages = stages

    def conceal(self, values: NDArray[np.int64], block: int, masks: PairwiseMasks) -> bytes:
        with self._stages.stage("mask"):
            return super().conceal(values, block, masks)

    def reveal(self, payload: bytes, block: int, secret: paillier.SecretKey | None) -> NDArray[np.int64]:
        with self._stages.lock, self._stages.stage("open"):
            return super().reveal(payload, block, secret)


@dataclass(frozen=True)
class TimedContext(RoundContext):
    """A round whose sum is timed."""

    stages: Stages = field(default_factory=Stages, compare=False)

    @cached_property
    def sum(self) -> BlockSum:
        how = super().sum
        if isinstance(how, PaillierSum):
            return TimedPaillier(how.public, how.layout, self.residues, self.stages)
        assert isinstance(how, MaskedSum)
        return TimedMasks(self.cells, how.width, self.stages)


class Consortium:
    """Identities, manifest, plan and one round in memory."""

    def __init__(self, task: Task) -> None:
        self.task = task
        size = max(2, math.ceil(math.sqrt(task.cells / math.comb(ATTRIBUTES, 2))))
        fields = [{"name": f"a{a}", "type": "integer", "categories": list(range(size))} for a in range(ATTRIBUTES)]
        self.schema: Schema = parse_schema({"fields": fields}, "benchmark")
        self.names = [f"party-{k}" for k in range(1, task.parties + 1)]
        self.identities = {name: Identity.generate() for name in self.names}
        members = {name: identity.public() for name, identity in self.identities.items()}
        self.manifest = Manifest("benchmark", members, self.schema.digest, None, True)
        self.secret = None if task.key_bits is None else paillier.generate_keypair(task.key_bits)[1]
        spec = RunSpec(
            run="benchmark",
            algorithm="one-way",
            settings={},
            epsilon=EPSILON,
            tolerate=1,
            members=tuple(self.names),
            manifest_digest=self.manifest.digest,
            secure_sum=task.kind,
        )
        rows = ROWS // task.parties
        enrolments = [Enrolment.signed(name, spec, rows, identity) for name, identity in self.identities.items()]
        self.plan = RunPlan(spec, tuple(enrolments), None if self.secret is None else self.secret.public.n)
        self.context = self.new_context()

    def new_context(self) -> TimedContext:
        """The round, at one node."""
        tables = tuple(combinations(range(ATTRIBUTES), 2))
        round_ = Round("benchmark", "pairs", "1-pairs", PureBudget(EPSILON).whole.noise(Tables(tables)))
        modulus, exponents = self.plan.modulus, self.task.kind.exponents
        residues = None if modulus is None or exponents is None else Residues(modulus, exponents)
        return TimedContext(self.plan, self.manifest, round_, self.schema, residues)

    def counts(self, name: str) -> NDArray[np.int64]:
        """Made up: int64 of shape (cells,)."""
        generator = np.random.default_rng(self.names.index(name))
        return generator.integers(0, ROWS // self.task.parties, self.context.cells)


@dataclass(frozen=True)
class Took:
    """What a party took so far: core-seconds by stage, and its largest memory in MB."""

    seconds: dict[str, float]
    peak: float


class _Party:
    """One party's node, in its process."""

    def __init__(self, consortium: Consortium, name: str) -> None:
        self._name, self._identity = name, consortium.identities[name]
        self._consortium, self._context = consortium, consortium.new_context()
        self._stages = self._context.stages
        self._noisy = np.empty(0, dtype=np.int64)
        self._keys: dict[str, bytes] = {}

    def took(self) -> Took:
        return Took(self._stages.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)

    def answer(self, step: Step) -> Reply:
        context, c = self._context, self._consortium
        match step:
            case Contribute():
                with self._stages.stage("noise"):
                    law = context.round.noise.law(1)
                    self._noisy = law.share(c.plan.noise_quota, context.cells, SystemEntropy())
                self._noisy += c.counts(self._name)
                return Done()
            case SealBlock():
                with self._stages.stage("mask"):
                    self._keys = self._keys or mask_keys(self._identity, self._name, c.plan, c.manifest)
                with self._stages.stage("seal"):
                    part = self._noisy[context.sum.cells_of(step.block)]
                    return Sealed(
                        secure_sum.seal_block(
                            part, context, step.attempt, step.block, self._name, self._identity, self._keys
                        )
                    )
            case CombineBlock():
                with self._stages.stage("combine"):
                    total = secure_sum.combine_block(
                        step.blobs, context, step.attempt, step.block, step.node, self._identity, step.base
                    )
                    if step.node == context.tree(step.attempt).root:
                        return Sum(total)
                    child = c.plan.parties + step.node
                    return Sealed(secure_sum.sealed(total, context, step.attempt, step.block, child, self._identity))
            case _:
                raise AssertionError(step)


def _serve(consortium: Consortium, name: str, link: Connection) -> None:
    party = _Party(consortium, name)
    while (step := link.recv()) is not None:
        link.send(party.answer(step))
    link.send(party.took())


class PartyProcesses:
    """All parties, forked: keys need not travel. Leaving the context ends them."""

    def __init__(self, consortium: Consortium) -> None:
        fork = multiprocessing.get_context("fork")
        self._links: dict[str, Connection] = {}
        self._processes = []
        for name in consortium.names:
            self._links[name], theirs = fork.Pipe()
            process = fork.Process(target=_serve, args=(consortium, name, theirs), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)

    def __enter__(self) -> PartyProcesses:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._processes:
            process.terminate()
            process.join()

    def tell(self, party: str, step: Step) -> Any:
        """The party's reply."""
        self._links[party].send(step)
        return self._links[party].recv()

    def finish(self) -> list[Took]:
        """End them all: what each took."""
        for link in self._links.values():
            link.send(None)
        return [link.recv() for link in self._links.values()]
