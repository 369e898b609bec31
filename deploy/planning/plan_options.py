"""What ``privity plan`` was asked for, checked as a whole: every fault of the command line at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeVar

from privity.common.data.schema import Schema
from privity.common.errors import PrivityError, Problem, ProblemsFound
from privity.common.privacy.budget import parse_epsilon
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.deploy.planning.rehearsal import LARGEST_PAIR
from privity.deploy.planning.run_cost import LIKELY_ROWS, numbered, rows_held

COMMAND_LINE = "the command line"
MOST_PARTIES = 100
Found = TypeVar("Found")


@dataclass
class Faults:
    """Faults of the command line so far."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, option: str, message: str, remedy: str) -> None:
        self.problems.append(Problem(COMMAND_LINE, option, "bad-option", message, remedy))

    def collect(self, option: str, make: Callable[[], Found]) -> Found | None:
        """What is made, or None and one fault more."""
        try:
            return make()
        except ProblemsFound as error:
            self.problems += error.problems
        except PrivityError as error:
            self.add(option, error.message.removeprefix(f"{option.strip('-')}: ").rstrip(".") + ".", error.remedy)
        return None

    def raise_any(self) -> None:
        """Raises ProblemsFound: there are faults."""
        if self.problems:
            raise ProblemsFound(self.problems)


def compared_epsilons(text: str, faults: Faults) -> tuple[Fraction, ...]:
    """Epsilons in ascending order, each once."""
    found = set()
    for word in text.split(","):
        epsilon = faults.collect("--epsilons", lambda word=word: parse_epsilon(word, "epsilons"))  # type: ignore[misc]
        found |= set() if epsilon is None else {epsilon}
    return tuple(sorted(found))


def compared_algorithms(text: str, faults: Faults) -> tuple[str, ...]:
    """The algorithms that a list names, each once."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in names:
        if name not in ALGORITHMS:
            faults.add("--algorithms", f"{name!r} is no algorithm.", f"Possible: {', '.join(ALGORITHMS)}.")
    return tuple(name for name in names if name in ALGORITHMS)


def compared_parties(text: str | None, parties: int, rows: int, faults: Faults) -> tuple[int, ...]:
    """Numbers of parties in ascending order; that of the run if none are given."""
    if text is None:
        return (parties,)
    found = set()
    for word in map(str.strip, text.split(",")):
        if word.isdecimal() and 1 <= int(word) <= min(MOST_PARTIES, rows):
            found.add(int(word))
        else:
            remedy = f"Give numbers of 1 to {min(MOST_PARTIES, rows)} between commas."
            faults.add("--compare-parties", f"{word!r} is no number of parties that these rows can have.", remedy)
    return tuple(sorted(found))


def held_by_parties(parties: int, rows: int | None, party_rows: list[int] | None, faults: Faults) -> dict[str, int]:
    """Rows of each party; one of them has none if that cannot be."""
    names = numbered(parties)
    if rows is not None and party_rows:
        faults.add("--rows", "it comes with --party-rows.", "Leave one of them out.")
    elif rows is not None:
        if rows < parties:
            faults.add("--rows", f"{rows} rows of {parties} parties.", "Give one row or more for each party.")
            return dict.fromkeys(names, 1)
        part, rest = divmod(rows, parties)
        return {name: part + (place < rest) for place, name in enumerate(names)}
    given = party_rows or [LIKELY_ROWS]
    return faults.collect("--party-rows", lambda: rows_held(names, given)) or dict.fromkeys(names, 1)


def check_pairs(schema: Schema, faults: Faults) -> None:
    """Every pair that is too large to be compared."""
    sizes = [(attribute.name, attribute.size) for attribute in schema.attributes]
    for (first, a), (second, b) in combinations(sizes, 2):
        if a * b > LARGEST_PAIR:
            message = (
                f"{first!r} and {second!r} have {a * b:,} cells together; --accuracy compares up to {LARGEST_PAIR:,}."
            )
            faults.add("--schema", message, "Declare fewer bins or categories, or leave one out by --attribute.")
    if len(sizes) < 2:
        faults.add("--schema", "--accuracy compares pairs, and there is one attribute.", "Declare two or more.")


def settings_of(
    names: tuple[str, ...], algorithm: str, settings: dict[str, Any], schema: Schema, delta: Fraction, faults: Faults
) -> dict[str, dict[str, Any]]:
    """Settings of each algorithm that is compared: those given are of the run's own, the others have their defaults."""
    own = {name: settings if name == algorithm else {} for name in names}
    for name, given in own.items():
        spent = delta if ALGORITHMS[name].spends_delta else Fraction(0)
        faults.collect(
            "--algorithms",
            lambda name=name, given=given, spent=spent: ALGORITHMS[name].check_request(given, schema, spent),  # type: ignore[misc]
        )
    return own
