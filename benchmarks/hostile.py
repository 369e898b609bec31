"""Hostile messages to parties and curator, and lies within runs: how each was answered, and what bounds held.

    python -m benchmarks.hostile --messages 100000 --seed 1

Mutated messages of real small runs go to every method of the curator over gRPC and TLS, and to parties as steps. Exits
with 1 if there was a crash, an answer took ten seconds or more, memory grew by more than 50 MB, or a party was charged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.hostile.campaign import campaign
from tests.hostile.tally import Tally

RUNS_IN = 500
"""One lie within a whole run for so many messages."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.monotonic()
    half = options.messages // 2
    with tempfile.TemporaryDirectory() as folder:
        runs = options.messages // RUNS_IN
        tally = campaign(Path(folder), half, options.messages - half, runs, options.seed)
    print_tally(tally)
    print(f"\n{tally.messages} messages in {time.monotonic() - start:.0f} s")
    print(f"slowest answer: {tally.slowest[0]:.2f} s ({tally.slowest[1]})")
    print(f"memory grew by {tally.grown_mb:.0f} MB; charged: {tally.charged}; crashes: {len(tally.crashes)}")
    for bound in tally.broken():
        print(f"BROKEN: {bound}")
    return 1 if tally.broken() else 0


def print_tally(tally: Tally) -> None:
    """By target and answer, and how many of each kind of mutation."""
    by_target: dict[tuple[str, str], Counter[str]] = {}
    for (target, mutation, answer), number in sorted(tally.answers.items()):
        by_target.setdefault((target, answer), Counter())[mutation] += number
    width = max(len(target) for target, _ in by_target)
    for (target, answer), kinds in by_target.items():
        each = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()) if kind)
        print(f"{target:{width}}  {answer:32} {kinds.total():7}  ({each})")
    print("\nWhat the asking run heard of replies that it waited for:")
    for answer, number in sorted(tally.outcomes.items()):
        print(f"  {answer:40} {number:7}")


if __name__ == "__main__":
    sys.exit(main())
