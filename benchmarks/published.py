"""Published variants whose guarantee fails, written out and put through the audit that Privity itself must pass.

    python -m benchmarks.published [--quick] [--markdown FILE]

prints claim and observed loss of each, and exits with 0 only if every one fails its claim: that shows that
the audit can fail. No production code uses anything from here.

Sources (section numbers of the papers; what is wrong with each, and its true loss, is in docs/audit.md):

- Su, Tang, Cheng, Chen, Wu, "Differentially Private Multi-Party High-Dimensional Data Publishing" (ICDE
  2016): secure noise replacement (phase 3 of DP-SUBN), multi-party Laplace mechanism (after Pathak, Rane,
  Raj 2010).
- Chen, Xiao, Zhang, Xu, "Differentially Private High-Dimensional Data Publication via Sampling-Based
  Inference" (KDD 2015): threshold mechanism of Algorithm 1.
- Asghar, Ding, Rakotoarivelo, Mrabet, Kaafar, "Differentially Private Release of High-Dimensional Datasets
  using the Gaussian Copula" (2019): Algorithm 2 and Lemma 2.
- Mironov, "On significance of the least significant bits for differential privacy" (CCS 2012): Laplace
  noise in floating point.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from privity.assessment.audit.auditor import Finding, audit
from privity.assessment.audit.findings import WIDE, as_markdown, as_table
from privity.assessment.audit.subject import Seen, Source, Subject, generator
from privity.common.text.terminal import console

CHUNK = 200_000  # runs drawn together


def _chunks(count: int) -> list[int]:
    return [min(CHUNK, count - start) for start in range(0, count, CHUNK)]


def _evidence(view: np.ndarray, zero: float | np.ndarray, one: float | np.ndarray, scale: float) -> np.ndarray:
    """Log-likelihood ratio of world 0 against world 1 under Laplace noise."""
    return (np.abs(view - one) - np.abs(view - zero)) / scale


def literal_noise_replacement(parties: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Phase 3 as it is written: the curator gets every party's noisy statistics and every replaced sum.

    Party k sends N_k = v_k + eta_k to the curator. The running sum becomes S_k = S_{k-1} + N_k - eta_{k-1}:
    the older noise is taken out inside the encryption, the newest stays. From three things that it holds
    the curator computes eta_{k-1} = S_{k-1} + N_k - S_k, hence the exact sum up to party k-1.
    """
    true = np.array([3, *[4] * (parties - 1)])

    def sample(world: int, count: int, source: Source) -> Seen:
        rng = generator(source, "noise")
        vectors = true.copy()
        vectors[0] += world
        noise = rng.laplace(scale=1 / float(epsilon), size=(count, parties))
        sent = vectors + noise
        sums = np.empty((count, parties))
        sums[:, 0] = sent[:, 0]
        for k in range(1, parties):
            sums[:, k] = sums[:, k - 1] + sent[:, k] - noise[:, k - 1]
        replaced = sums[:, 0] + sent[:, 1] - sums[:, 1]
        exact = sums[:, 0] - replaced
        return Seen({"curator": np.rint(exact * 1e6)[:, None] / 1e6})

    name = f"as written, K={parties}, row at party 1"
    return Subject("noise replacement", name, epsilon, sample, runs, quick)


def ideal_noise_replacement(parties: int, at: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Phase 3 with a perfect protocol: nothing is seen but S_1 .. S_K, each under one fresh noise.

    The rows of party j are in S_j .. S_K, and each of these openings costs them epsilon.
    """

    def sample(world: int, count: int, source: Source) -> Seen:
        rng = generator(source, "noise")
        scale = 1 / float(epsilon)
        scores = []
        for part in _chunks(count):
            total = np.zeros(part, dtype=np.float32)
            for _ in range(at, parties + 1):
                # The count of each sum, less what is equal in both worlds.
                total += _evidence(world + rng.laplace(scale=scale, size=part), 0, 1, scale).astype(np.float32)
            # Evidence is a sum of clipped parts: rounding joins what floats tell apart at its ends.
            scores.append(np.round(total, 3))
        return Seen({"public": np.concatenate(scores)[:, None]})

    name = f"ideal, charged once, K={parties}, row at party {at}"
    return Subject("noise replacement", name, epsilon, sample, runs, quick)


def one_hot_noise(parties: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """The multi-party Laplace mechanism: a hidden one-hot vector picks one party's noise for the sum.

    A party knows its own noise. Where the sum less its noise is a whole number, its noise was the one, and
    the number is exact.
    """

    def sample(world: int, count: int, source: Source) -> Seen:
        rng = generator(source, "noise")
        scale = 1 / float(epsilon)
        noise = rng.laplace(scale=scale, size=(count, parties))
        chosen = rng.integers(0, parties, count)
        published = 20 + world + noise[np.arange(count), chosen]
        guess = published - noise[:, -1]
        whole = np.abs(guess - np.rint(guess)) < 1e-9
        exact = whole * np.where(np.rint(guess) == 20, 1.0, -1.0)
        return Seen({f"party {parties}": np.column_stack([exact, _evidence(published, 20, 21, scale)])})

    return Subject("one-hot noise", f"K={parties}", epsilon, sample, runs, quick)


def mutual_information(table: np.ndarray) -> float:
    """In nats, of a table of counts."""
    joint = table / table.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / product[there])).sum())


def threshold_mechanism(attributes: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Algorithm 1 without sampling (rate 1): one noisy threshold for all pairs of attributes.

    All rows are 0 but one, whose first half is 1 in world 0 and whose second half is 1 in world 1. The
    mutual information of all pairs within one half rises by its sensitivity while that of the others falls
    by it; the proof would need them to move the same way.
    """
    rows = 1_000
    half = attributes // 2
    pairs = list(combinations(range(attributes), 2))
    sensitivity = np.log(rows) / rows + (rows - 1) / rows * np.log(rows / (rows - 1))
    first = np.array([a < half and b < half for a, b in pairs])
    second = np.array([a >= half and b >= half for a, b in pairs])

    def sample(world: int, count: int, source: Source) -> Seen:
        rng = generator(source, "noise")
        one = np.array([(a < half) != bool(world) for a in range(attributes)], dtype=int)
        information = []
        for a, b in pairs:
            table = np.zeros((2, 2))
            table[0, 0] = rows - 1
            table[one[a], one[b]] += 1
            information.append(mutual_information(table))
        scale = 2 * sensitivity / float(epsilon)
        threshold = sensitivity / 2
        scores = []
        for start in range(0, count, 20_000):
            part = min(20_000, count - start)
            noisy = np.array(information) + rng.laplace(scale=scale, size=(part, len(pairs)))
            edges = noisy >= threshold + rng.laplace(scale=scale, size=(part, 1))
            scores.append(edges[:, first].sum(axis=1) - edges[:, second].sum(axis=1))
        return Seen({"public": np.concatenate(scores).astype(np.float64)[:, None]})

    return Subject("threshold mechanism", f"d={attributes}", epsilon, sample, runs, quick)


def copula_tables(size: int, epsilon: Fraction, runs: int, quick: int) -> Subject:
    """Algorithm 2: a 2 x 2 table for every pair of values, each with noise for epsilon, charged once.

    A row replaced in both attributes changes two cells in each of 2(2 size - 2) tables; Lemma 2 takes them
    for disjoint.
    """
    cells = 4 * size * size

    def counts(world: int) -> np.ndarray:
        rows = [(0, 0)] * 5 + [(world, world)]
        tables = np.zeros((size, size, 2, 2))
        for x, y in rows:
            for i in range(size):
                for j in range(size):
                    tables[i, j, int(x == i), int(y == j)] += 1
        return tables.ravel()

    zero, one = counts(0), counts(1)
    moved = np.flatnonzero(zero != one)

    def sample(world: int, count: int, source: Source) -> Seen:
        rng = generator(source, "noise")
        scale = 2 / float(epsilon)
        true = (one if world else zero)[moved]
        scores = []
        for part in _chunks(count):
            # Cells that are alike in both worlds carry independent noise and say nothing.
            view = true + rng.laplace(scale=scale, size=(part, moved.size))
            scores.append(np.round(_evidence(view, zero[moved], one[moved], scale).sum(axis=1), 2))
        return Seen({"public": np.concatenate(scores)[:, None]})

    return Subject("copula tables", f"{size} x {size} values, {cells} cells", epsilon, sample, runs, quick)


def float_laplace(epsilon: Fraction, runs: int, quick: int) -> Subject:
    """A count plus Laplace noise in floating point: some doubles can come from one count only.

    Around 0 doubles lie closer together than the sums 1 + noise can lie.
    """

    def sample(world: int, count: int, source: Source) -> Seen:
        rng = generator(source, "noise")
        view = world + rng.laplace(scale=1 / float(epsilon), size=count)
        fine = (np.abs(view) < 0.5) & (view * 2.0**53 != np.rint(view * 2.0**53))
        return Seen({"public": np.column_stack([fine.astype(np.float64), view])})

    return Subject("float Laplace", "numpy, sensitivity 1", epsilon, sample, runs, quick)


def published_subjects() -> list[Subject]:
    """Every variant, with the epsilon that its publication claims for one outcome."""
    one, half = Fraction(1), Fraction(1, 2)
    return [
        literal_noise_replacement(3, half, 200_000, 20_000),
        ideal_noise_replacement(3, 1, half, 4_000_000, 100_000),
        ideal_noise_replacement(4, 1, half, 8_000_000, 100_000),
        ideal_noise_replacement(6, 1, half, 24_000_000, 200_000),
        one_hot_noise(3, one, 200_000, 20_000),
        one_hot_noise(10, one, 200_000, 20_000),
        threshold_mechanism(14, one, 3_000_000, 100_000),
        copula_tables(3, half, 8_000_000, 200_000),
        float_laplace(one, 200_000, 20_000),
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Audit published variants whose guarantee fails.")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--markdown", type=Path, help="where to write the table for the documentation")
    options = parser.parse_args(arguments)
    found: list[Finding] = list(audit(published_subjects(), quick=options.quick, confirm=False))
    console(width=WIDE).print(as_table(found, "Published variants"))
    if options.markdown:
        options.markdown.write_text(as_markdown(found), encoding="utf-8")
    passed = [f.subject.name for f in found if f.holds]
    if passed:
        print("The audit did not find the fault of: " + "; ".join(passed))
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
