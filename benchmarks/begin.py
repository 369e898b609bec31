"""What a run's begin costs: the modulus checked, mask keys agreed on, and a proof of the modulus that is not in use.

    python -m benchmarks.begin --out docs/benchmarks

Takes about a minute. Everything runs in this one process. Parties are production engines; from the first `Begin` to the
first block of every party they answer one after another, as if all of them shared this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from unittest import mock

import gmpy2
import numpy as np

from benchmarks.markdown import table
from privity.common.crypto import masks, paillier
from privity.common.crypto.identity import Identity
from privity.common.data.coded_table import CodedTable
from privity.common.protocol.round import Round
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import Begin, Contribute, Enrol, Enrolled, SealBlock
from privity.deploy.audit.audited_consortium import Consortium, generous_policy, make_schema

BITS, RUNS = 3072, 9
ROUNDS = 128
"""Of the proof: a modulus with three prime factors passes each with probability 1/2."""
ROOTS = -(-ROUNDS // paillier.SMALL_FACTOR_BITS)
"""n-th roots of the proof: one that shares a factor with phi(n) passes each with probability 2^-20, as it has no
smaller prime factor (Goldberg, Reyzin, Sagga, Baldimtsi 2019)."""

CHOICE = """**Choice: the checks, and no proof.** The prototype proves in zero knowledge that the modulus is a product
of two primes that are 3 modulo 4 (Canetti, Gennaro, Goldfeder, Makriyannis, Peled 2021, figure 16). It is affordable.
But a curator that cheats may hand its key to whom it likes, and no proof prevents that: the proof would take nothing
from it. What one party sends does not rest on the modulus: it is masked modulo n, whatever n is, and sealed to a
combiner. The proof that no factor is small would need a second modulus, made by each party, on top. The checks find
what software at fault would make: a prime, a power, a small factor.
"""


def milliseconds(work: Callable[[], object]) -> str:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - started))
    return f"{statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f})"


def challenge(n: int, w: int, number: int) -> int:
    size = (n.bit_length() + 7) // 8
    seed = b"".join(part.to_bytes(size, "big") for part in (n, w)) + number.to_bytes(2, "big")
    return int.from_bytes(hashlib.shake_256(seed).digest(size + 16), "big") % n


Proof = tuple[int, list[tuple[bool, bool, int]], list[int]]


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


def begun(parties: int) -> Callable[[], None]:
    """From the first `Begin` to the first block of every party, of a fresh run each time."""
    generator = np.random.default_rng(1)
    schema = make_schema((4, 4, 4))
    names = [f"party-{k}" for k in range(parties)]
    tables = {n: CodedTable(schema, tuple(generator.integers(0, 4, 500, dtype=np.uint8) for _ in "abc")) for n in names}
    consortium = Consortium(tables, policies=dict.fromkeys(names, generous_policy(BITS)), key_bits=BITS)

    def once() -> None:
        spec = consortium.spec(run=f"run-{secrets.token_hex(4)}")
        replies = [consortium.tell(name, Enrol(spec)) for name in names]
        enrolments = [Enrolment.from_dict(reply.enrolment) for reply in replies if isinstance(reply, Enrolled)]
        plan = RunPlan(spec, tuple(enrolments), consortium.public.n)
        round_ = Round(spec.run, "test", "1", ((0, 1),), Fraction(1))
        for step in (Begin(plan), Contribute(round_), SealBlock(spec.run, consortium.attempt(round_), 0)):
            for name in names:
                consortium.tell(name, step)

    return once


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    with mock.patch("privity.common.crypto.paillier.check_modulus"):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of begin.md")
    out = parser.parse_args().out
    public, secret = paillier.generate_keypair(BITS)
    own, peer = Identity.generate(), Identity.generate().public().agreement_key
    proof = prove(secret)
    assert holds(public.n, proof)
    size = (public.n.bit_length() + 7) // 8 * (1 + len(proof[1]) + len(proof[2])) + len(proof[1]) // 4
    paillier.check_modulus(public.n)  # the product of small primes is made once
    rows = [
        (f"check a modulus of {BITS} bits (a party, a run)", milliseconds(lambda: paillier.check_modulus(public.n))),
        ("agree on one mask key", milliseconds(lambda: masks.agree(own.agreement, peer, "a", "b", b"run"))),
        (f"prototype: prove the modulus, {size / 1000:.0f} kB", milliseconds(lambda: prove(secret))),
        ("prototype: verify that (a party, a run)", milliseconds(lambda: holds(public.n, proof))),
    ]
    for parties in (3, 10):
        run = begun(parties)
        run()
        after = milliseconds(run)
        with unchecked():
            before = milliseconds(run)
        rows.append((f"begin to the first blocks, {parties} parties on this machine, modulus unchecked", before))
        rows.append((f"begin to the first blocks, {parties} parties on this machine, as it is", after))
    lines = [
        "# What a begin costs",
        "",
        f"Milliseconds: the median (least to greatest) of {RUNS} runs in one process.",
        "",
        "```",
        "python -m benchmarks.begin --out docs/benchmarks",
        "```",
        *table(("what", "ms"), rows),
        "",
        CHOICE,
    ]
    (out / "begin.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
