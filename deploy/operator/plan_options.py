"""What ``privity plan`` was asked for, checked as a whole: every fault of the command line at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from privity.assessment.planning.rehearsal import LARGEST_PAIR
from privity.common.consortium.member_folder import SCHEMA
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import PrivityError, Problem, ProblemsFound
from privity.common.privacy.budget import parse_epsilon
from privity.common.runs.automatic_choice import LIKELY_ROWS
from privity.common.runs.run_request import OPTIONS
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.deploy.operator.operator_folder import newest_manifest

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
        """What is made, or None and one fault more: of this option, or of that which the fault names."""
        try:
            return make()
        except ProblemsFound as error:
            self.problems += error.problems
        except PrivityError as error:
            asked, named = option.strip("-"), str(error.fields.get("option"))
            if named != asked and named in OPTIONS:
                asked, option = named, option.replace(asked, named)
            self.add(option, error.message.removeprefix(f"{asked}: ").rstrip(".") + ".", error.remedy)
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


def are_numbers(text: str) -> bool:
    """Whether parties are given by how many they are, rather than by name."""
    return all(word.strip().isdecimal() for word in text.split(","))


def numbers_of_parties(text: str, faults: Faults) -> tuple[int, ...]:
    """Numbers of parties as they were given; a single owner if none of them can be."""
    found = []
    for word in map(str.strip, text.split(",")):
        if word.isdecimal() and 1 <= int(word) <= MOST_PARTIES:
            found.append(int(word))
        else:
            faults.add("--parties", f"{word!r} is not offered.", f"Give 1 to {MOST_PARTIES}, or several with commas.")
    return tuple(found) or (1,)


def parties_of(config: Path, faults: Faults, asked: Sequence[str] | None, tolerate: int) -> tuple[list[str], list[str]]:
    """The parties of a run of the consortium, and those that it leaves out, by the manifest that its curator serves.

    Its schema must be the one here.

    Args:
        asked: those of the run; None stands for all that are not paused.
        tolerate: how many of them may pool what they know.
    """
    manifest, file = newest_manifest(config), config.parent / SCHEMA
    if file.exists() and load_schema(file).digest != manifest.schema_digest:
        message = f"{file} is not the schema that the curator's manifest (serial {manifest.serial}) names."
        remedy = "Get that one from the organiser: privity operator accept --schema FILE."
        faults.add("--schema", message, remedy)
    for option, reason, remedy in manifest.faults_of_run(asked, tolerate):
        faults.add(f"--{option}", f"{reason}.", remedy)
    names = list(manifest.members_of_run(asked))
    return names, [name for name in manifest.members if name not in names]


def rows_held(names: Sequence[str], text: str | None, faults: Faults) -> dict[str, int]:
    """Rows of each party, from those of all together or one number for each; 1 in place of what cannot be."""
    if text is None:
        return dict.fromkeys(names, LIKELY_ROWS)
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words) or len(words) not in (1, len(names)):
        remedy = "Give the rows of all together, or one number for each party, between commas."
        faults.add("--rows", f"{text!r} for {len(names)} parties.", remedy)
        return dict.fromkeys(names, 1)
    counts = [int(word) for word in words]
    if len(words) == 1:
        share, rest = divmod(counts[0], len(names))
        counts = [share + (place < rest) for place in range(len(names))]
    if min(counts) < 1:
        faults.add("--rows", f"{text} rows of {len(names)} parties.", "Give one row or more for each party.")
    return dict(zip(names, (max(count, 1) for count in counts), strict=True))


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


def refuse_open_domains(names: Sequence[str], faults: Faults) -> None:
    """There is nothing to invent a table of before domains are known."""
    message = f"the domains of {', '.join(names)} are yet to be discovered, and --accuracy needs them."
    remedy = "Run the algorithm discover first, and give the schema that it finds; what it costs, the plan says without"
    faults.add("--schema", message, f"{remedy} --accuracy.")


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
