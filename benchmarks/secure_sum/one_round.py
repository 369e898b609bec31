"""One round of the secure sum, all parties on this machine, stage by stage, beside plain Paillier in the same run.

The curator's part is that of production (`privity.curator.sum_rounds`), and so are the parts of each party: noise
shares, packing, masks, Paillier, sealing, the tree of combiners. Parties are processes, all at once.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from phe import paillier as phe_paillier

from benchmarks.secure_sum.consortium import Consortium, PartyProcesses, Task
from privity.assessment.planning.worker_processes import worker_processes
from privity.common.crypto import paillier
from privity.common.protocol.steps import Reply, Step
from privity.common.storage.journal import Journal
from privity.common.wire.codec import encode_reply, encode_step
from privity.curator.answer_store import Answers
from privity.curator.sum_rounds import RoundAtWork
from privity.curator.traffic_meter import Meter

FLOOR_PRODUCTS, FLOOR_POWERS = 20_000, 50
SAMPLE_SECONDS = 4.0
"""Of plain Paillier, on each core."""

USUAL_BITS = 3072


def _plain(modulus: int) -> float:
    """Encryptions a second of one number at a time by phe."""
    public = phe_paillier.PaillierPublicKey(modulus)
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < SAMPLE_SECONDS:
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


@dataclass
class _Traffic:
    """Bytes of the messages of one party."""

    sent: int = 0
    received: int = 0


class _Link:
    """The curator's link to the parties, which counts what passes."""

    def __init__(self, parties: PartyProcesses, names: list[str]) -> None:
        self._parties = parties
        self._busy = {name: asyncio.Lock() for name in names}
        self.traffic = {name: _Traffic() for name in names}

    async def ask(self, party: str, step: Step, _phase: str) -> Reply:
        async with self._busy[party]:
            reply = await asyncio.to_thread(self._parties.tell, party, step)
        self.traffic[party].received += len(encode_step(step))
        self.traffic[party].sent += len(encode_reply(step.run, step.key, reply))
        return reply


def measure(task: Task, say: Callable[[str], None] = lambda _text: None) -> dict[str, Any]:
    """One round from counts to the opened sum, which is checked; see ``docs/performance.md`` for the keys."""
    say("making keys")
    consortium = Consortium(task)
    secret = consortium.secret or paillier.generate_keypair(USUAL_BITS)[1]
    modulus = secret.public.n
    product_time, power_time = _floor(modulus)
    cores = os.cpu_count() or 1
    say(f"plain Paillier, {SAMPLE_SECONDS:.0f} s")
    with worker_processes(cores) as pool:
        plain = sum(pool.map(_plain, [modulus] * cores)) / task.parties
    say(f"{consortium.context.cells:,} cells of {task.parties} parties")
    with PartyProcesses(consortium) as parties:
        wall, link = asyncio.run(_one_round(consortium, parties))
        took = parties.finish()
    return _figures(consortium, wall, link, [t.seconds for t in took]) | {
        "peak_mb": max(t.peak for t in took),
        "product_microseconds": product_time,
        "power_milliseconds": power_time,
        "phe_cells_per_second": plain,
        "speedup_over_phe": consortium.context.cells / wall / plain,
    }


async def _one_round(consortium: Consortium, parties: PartyProcesses) -> tuple[float, _Link]:
    """Seconds of the round, and what passed."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(consortium.task.parties + 8))
    link = _Link(parties, consortium.names)
    meter = Meter()
    work = RoundAtWork(consortium.context, 0, None, Answers(Journal(), link.ask, meter), consortium.secret, meter)
    started = time.perf_counter()
    opened = await work.reveal()
    wall = time.perf_counter() - started
    _check(opened, consortium)
    return wall, link


def _figures(c: Consortium, wall: float, link: _Link, took: list[dict[str, float]]) -> dict[str, Any]:
    cells, parties, traffic = c.context.cells, c.task.parties, list(link.traffic.values())
    stages = {
        name: sum(seconds.get(name, 0.0) for seconds in took) / parties
        for name in ("noise", "pack", "mask", "encrypt", "seal")
    }
    own = [sum(value for name, value in seconds.items() if name != "combine") for seconds in took]
    return {
        "cells": cells,
        "parties": parties,
        "secure_sum": c.task.kind.method.value,
        "exponents": c.task.kind.content()["exponents"],
        "key_bits": c.task.key_bits,
        "slot_bits": c.context.slot_bits,
        "blocks": c.context.sum.blocks,
        "seconds": wall,
        "cells_per_second": cells / wall,
        "cells_per_second_per_party": cells / max(own),
        "bytes_per_cell": min(t.sent for t in traffic) / cells,
        "bytes_per_cell_of_worst_party": max(t.sent + t.received for t in traffic) / cells,
        "stages": {
            **stages,
            "combine": sum(seconds.get("combine", 0.0) for seconds in took),
            "open": c.context.stages.seconds["open"],
        },
    }


def _check(opened: np.ndarray, c: Consortium) -> None:
    """The sum must be that of the counts, but for noise."""
    noise = opened - sum(c.counts(name) for name in c.names)
    law = c.context.round.noise.law(1)
    deviation = math.sqrt(c.task.parties * law.share_variance(c.plan.noise_quota))
    if np.abs(noise).max() > 100 * deviation or not 0.5 < noise.std() / deviation < 2:
        raise AssertionError("the opened sum is not the sum of the counts")
