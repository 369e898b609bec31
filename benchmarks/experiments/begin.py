"""The beginning of a run: the modulus checked, mask keys agreed on, and a proof of the modulus that is not in use."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import cache, partial
from unittest import mock

import gmpy2
import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid, middle_of
from privity.assessment.audit.audited_consortium import Consortium, generous_policy, make_schema
from privity.common.crypto import masks, paillier
from privity.common.crypto.identity import Identity
from privity.common.data.coded_table import CodedTable
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import Begin, Contribute, Enrol, Enrolled, SealBlock

ROUNDS = 128
"""Of the proof: a modulus with three prime factors passes each with probability 1/2."""
ROOTS = -(-ROUNDS // paillier.SMALL_FACTOR_BITS)
"""n-th roots of the proof: one that shares a factor with phi(n) passes each with probability 2^-20, as it has no
smaller prime factor (Goldberg, Reyzin, Sagga, Baldimtsi 2019)."""

CHECK, AGREE = "check a modulus (a party, a run)", "agree on one mask key"
PROVE, VERIFY = "prototype: prove the modulus", "prototype: verify that (a party, a run)"
UNCHECKED, AS_IT_IS = "begin to the first blocks, modulus unchecked", "begin to the first blocks, as it is"
Proof = tuple[int, list[tuple[bool, bool, int]], list[int]]


def challenge(n: int, w: int, number: int) -> int:
    size = (n.bit_length() + 7) // 8
    seed = b"".join(part.to_bytes(size, "big") for part in (n, w)) + number.to_bytes(2, "big")
    return int.from_bytes(hashlib.shake_256(seed).digest(size + 16), "big") % n


def prove(secret: paillier.SecretKey) -> Proof:
    """Fourth roots of the challenges, each times -1 or w if need be, and n-th roots of the first ones."""
    n, p, q = secret.public.n, secret.p, secret.q
    w = next(w for _ in range(999) if gmpy2.jacobi(w := secrets.randbelow(n), n) == -1)
    inverse = gmpy2.invert(p, q)

    def root(value: int, by_p: int, by_q: int) -> int:
        a, b = gmpy2.powmod(value, by_p, p), gmpy2.powmod(value, by_q, q)
        return int(a + p * ((b - a) * inverse % q))

    def fourth(y: int) -> tuple[bool, bool, int]:
        for minus in (False, True):
            for times in (False, True):
                value = (-y if minus else y) * (w if times else 1) % n
                if gmpy2.jacobi(value, p) == gmpy2.jacobi(value, q) == 1:
                    return minus, times, root(value, ((p + 1) // 4) ** 2 % (p - 1), ((q + 1) // 4) ** 2 % (q - 1))
        raise ValueError("no such root")

    challenges = [challenge(n, w, number) for number in range(ROUNDS)]
    by_p, by_q = gmpy2.invert(n, p - 1), gmpy2.invert(n, q - 1)
    return w, [fourth(y) for y in challenges], [root(y, by_p, by_q) for y in challenges[:ROOTS]]


def holds(n: int, proof: Proof) -> bool:
    w, fourths, roots = proof
    challenges = [challenge(n, w, number) for number in range(ROUNDS)]
    return (
        gmpy2.jacobi(w, n) == -1
        and all(
            gmpy2.powmod(x, 4, n) == (-y if minus else y) * (w if times else 1) % n
            for (minus, times, x), y in zip(fourths, challenges, strict=True)
        )
        and all(gmpy2.powmod(z, n, n) == y for z, y in zip(roots, challenges, strict=False))
    )


@cache
def consortium_of(parties: int, bits: int) -> Consortium:
    generator = np.random.default_rng(1)
    schema = make_schema((4, 4, 4))
    names = [f"party-{k}" for k in range(parties)]
    tables = {n: CodedTable(schema, tuple(generator.integers(0, 4, 500, dtype=np.uint8) for _ in "abc")) for n in names}
    return Consortium(tables, policies=dict.fromkeys(names, generous_policy(bits)), key_bits=bits)


def begin(parties: int, bits: int) -> None:
    """From the first `Begin` to the first block of every party, of a fresh run; one party after another answers."""
    consortium = consortium_of(parties, bits)
    spec = consortium.spec(run=f"run-{secrets.token_hex(4)}")
    names = [f"party-{k}" for k in range(parties)]
    replies = [consortium.tell(name, Enrol(spec)) for name in names]
    enrolments = [Enrolment.from_dict(reply.enrolment) for reply in replies if isinstance(reply, Enrolled)]
    plan = RunPlan(spec, tuple(enrolments), consortium.public.n)
    noise = PureBudget(Fraction(1)).whole.noise(Tables(((0, 1),)))
    round_ = Round(spec.run, "test", "1", noise)
    for step in (Begin(plan), Contribute(round_), SealBlock(spec.run, consortium.attempt(round_), 0)):
        for name in names:
            consortium.tell(name, step)


@cache
def key_of(bits: int) -> tuple[paillier.SecretKey, Proof]:
    secret = paillier.generate_keypair(bits)[1]
    paillier.check_modulus(secret.public.n)  # the product of small primes is made once
    proof = prove(secret)
    if not holds(secret.public.n, proof):
        raise ValueError("the proof does not hold")
    return secret, proof


def work_of(point: Point) -> Callable[[], object]:
    if point["parties"]:
        consortium_of(point["parties"], point["bits"])
        return partial(begin, point["parties"], point["bits"])
    secret, proof = key_of(point["bits"])
    own, peer = Identity.generate(), Identity.generate().public().agreement_key
    works: dict[str, Callable[[], object]] = {
        CHECK: partial(paillier.check_modulus, secret.public.n),
        AGREE: partial(masks.agree, own.agreement, peer, "a", "b", b"run"),
        PROVE: partial(prove, secret),
        VERIFY: partial(holds, secret.public.n, proof),
    }
    return works[point["what"]]


def measure(point: Point, _seed: int, _data: Data) -> Values:
    work = work_of(point)
    unchecked = mock.patch("privity.common.crypto.paillier.check_modulus")
    with unchecked if point["what"] == UNCHECKED else nullcontext():
        started = time.perf_counter()
        work()
        return {"ms": 1000 * (time.perf_counter() - started)}


def points(quick: bool) -> list[Point]:
    times = {"bits": 2048, "seeds": 1} if quick else {"bits": 3072, "seeds": 9}
    alone = grid(what=(CHECK, AGREE, PROVE, VERIFY), parties=0, **times)
    return alone + grid(parties=(3,) if quick else (3, 10), what=(UNCHECKED, AS_IT_IS), **times)


EXPERIMENT = Experiment(
    title="The beginning of a run: checks, key agreement, and a proof of the modulus that is not in use",
    points=points,
    measure=measure,
    shows=(Table("milliseconds", ("what", "parties"), {"ms": middle_of("ms")}),),
    code=("common/crypto", "common/protocol", "party", "benchmarks/experiments/begin.py"),
    alone=lambda _: True,
)
