"""One round of the secure sum, all parties on this machine, stage by stage, beside plain Paillier in the same run.

The parts are those of production (noise shares, packing, masks, Paillier, sealing, combiner); what is left out is the
wire, the ledgers and the rows: the counts are made up. Parties work in processes, as many at a time as there are cores.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import gmpy2
import numpy as np
from phe import paillier as phe_paillier

from common.crypto import paillier
from common.crypto.identity import Identity
from common.crypto.packing import pack
from common.crypto.residues import Exponents, Residues
from common.crypto.sealing import SealedBlob
from common.privacy.entropy import SystemEntropy
from common.protocol.manifest import Manifest
from common.protocol.plan import Enrolment, RunPlan, RunSpec
from common.protocol.round import Round
from common.protocol.secure_sum import RoundContext, combine, masked_plaintexts, open_sum, sealed
from common.schema import Schema, parse_schema

ATTRIBUTES = 15
"""All pairs of them are the 105 tables of a round."""

ROWS = 1_000_000
EPSILON = Fraction(1)
FLOOR_PRODUCTS, FLOOR_POWERS = 20_000, 50
SAMPLE_SECONDS = 4.0
"""Of plain Paillier, on each core."""


@dataclass(frozen=True)
class Task:
    """What to measure; ``cells`` is rounded up to 105 square tables."""

    cells: int
    parties: int
    key_bits: int
    exponents: Exponents


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
        self.public, self.secret = paillier.generate_keypair(task.key_bits)
        spec = RunSpec("benchmark", "one-way", {}, EPSILON, 1, tuple(self.names), self.manifest.digest)
        rows = ROWS // task.parties
        enrolments = [Enrolment.signed(name, spec, rows, identity) for name, identity in self.identities.items()]
        self.plan = RunPlan(spec, tuple(enrolments), self.public.n)

    @cached_property
    def context(self) -> RoundContext:
        tables = tuple(combinations(range(ATTRIBUTES), 2))
        round_ = Round("benchmark", "pairs", "1-pairs", tables, EPSILON)
        return RoundContext(self.plan, self.manifest, round_, 1, self.names[0], self.schema)

    def counts(self, name: str) -> np.ndarray:
        """Made up: int64 of shape (cells,)."""
        generator = np.random.default_rng(self.names.index(name))
        return generator.integers(0, ROWS // self.task.parties, self.context.cells)


class Stages:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


_consortium: Consortium | None = None
"""Of the workers, which are forked: keys need not travel."""


def _contribute(name: str) -> tuple[SealedBlob, dict[str, float], float]:
    assert _consortium is not None
    c, stages = _consortium, Stages()
    context = c.context
    with stages.stage("noise"):
        round_ = context.round
        share = round_.law(1).share(c.plan.noise_quota, context.cells, SystemEntropy())
    noisy = c.counts(name) + share
    with stages.stage("pack"):
        plaintexts = pack(noisy, context.layout)
    with stages.stage("mask"):
        masked = masked_plaintexts(plaintexts, context, name, c.identities[name])
    with stages.stage("encrypt"):
        ciphertexts = paillier.encrypt(c.public, masked, Residues(c.public.n, c.task.exponents))
    with stages.stage("seal"):
        blob = sealed(ciphertexts, context, name, c.identities[name])
    return blob, stages.seconds, _peak()


def _plain(seconds: float) -> float:
    """Encryptions a second of one number at a time by phe."""
    assert _consortium is not None
    public = phe_paillier.PaillierPublicKey(_consortium.public.n)
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        public.encrypt(done)
        done += 1
    return done / (time.perf_counter() - started)


def _floor(modulus: int) -> tuple[float, float]:
    """Microseconds of a product modulo n^2, milliseconds of a power of |n|/2 bits modulo a number of |n| bits."""
    square = gmpy2.mpz(modulus) ** 2
    number, half = square // 3, gmpy2.mpz(2) ** (modulus.bit_length() // 2) - 1
    started, product = time.perf_counter(), number
    for _ in range(FLOOR_PRODUCTS):
        product = product * number % square
    products = time.perf_counter()
    for _ in range(FLOOR_POWERS):
        gmpy2.powmod(number % modulus, half, modulus)
    ended = time.perf_counter()
    return (products - started) / FLOOR_PRODUCTS * 1e6, (ended - products) / FLOOR_POWERS * 1e3


def _peak() -> float:
    """MB, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 * 1.024  # kilobytes on Linux


def measure(task: Task, say: Callable[[str], None] = lambda _text: None) -> dict[str, Any]:
    """One round from counts to the opened sum, which is checked; see ``docs/performance.md`` for the keys."""
    global _consortium
    say("making keys")
    _consortium = c = Consortium(task)
    context = c.context
    product_time, power_time = _floor(c.public.n)
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(min(cores, task.parties), mp_context=multiprocessing.get_context("fork")) as pool:
        say(f"plain Paillier, {SAMPLE_SECONDS:.0f} s")
        plain = sum(pool.map(_plain, [SAMPLE_SECONDS] * cores)) / task.parties
        say(f"{context.cells:,} cells of {task.parties} parties")
        started = time.perf_counter()
        parts = list(pool.map(_contribute, c.names))
        contributed = time.perf_counter() - started
    blobs = [blob for blob, _, _ in parts]
    stages = Stages()
    with stages.stage("combine"):
        product = combine(list(zip(c.names, blobs, strict=True)), context, c.identities[context.combiner])
    with stages.stage("open"):
        opened = open_sum(product, context, c.secret)
    _check(opened, c)
    wall = contributed + sum(stages.seconds.values())
    upload = len(blobs[-1].ciphertext) + len(blobs[-1].signature)
    returned = len(product) * c.public.ciphertext_bytes
    rate = context.cells / wall
    return {
        "cells": context.cells,
        "parties": task.parties,
        "key_bits": task.key_bits,
        "exponents": task.exponents.value,
        "slot_bits": context.layout.width,
        "seconds": wall,
        "cells_per_second": rate,
        "cells_per_second_per_party": context.cells / max(sum(seconds.values()) for _, seconds, _ in parts),
        "bytes_per_cell": upload / context.cells,
        "bytes_per_cell_of_combiner": (task.parties * upload + returned) / context.cells,
        "stages": {stage: sum(seconds[stage] for _, seconds, _ in parts) / task.parties for stage in parts[0][1]}
        | stages.seconds,
        "peak_mb": max(peak for _, _, peak in parts),
        "product_microseconds": product_time,
        "power_milliseconds": power_time,
        "phe_cells_per_second": plain,
        "speedup_over_phe": rate / plain,
    }


def _check(opened: np.ndarray, c: Consortium) -> None:
    """The sum must be that of the counts, but for noise."""
    noise = opened - sum(c.counts(name) for name in c.names)
    law = c.context.round.law(1)
    deviation = math.sqrt(c.task.parties * law.share_variance(c.plan.noise_quota))
    if np.abs(noise).max() > 100 * deviation or not 0.5 < noise.std() / deviation < 2:
        raise AssertionError("the opened sum is not the sum of the counts")
