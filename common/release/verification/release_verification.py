"""Everything that can be checked of a release without anything but the release."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import PrivityError, Problem, ProblemsFound
from privity.common.formats import check, read_json
from privity.common.release.agreement import disagreements
from privity.common.release.attestations import read_attestations
from privity.common.release.marginals_file import read_tables
from privity.common.release.queries.declared_analyses import analyses_of, nearly
from privity.common.release.release_contents import (
    ANALYSES,
    ATTESTATIONS,
    EVENTS,
    LEARNT_FILES,
    MARGINALS,
    MODEL,
    PRIVACY,
    RELEASE_FILES,
    REPORT,
    RUN,
    SCHEMA,
    SCORES,
    SYNTHETIC,
)
from privity.common.release.release_folder import FETCH_AGAIN, file_problems, read_release
from privity.common.release.report.report_page import page_of
from privity.common.release.rows_file import read_synthetic
from privity.common.release.statement import in_words, largest, rounded_up
from privity.common.release.verification.rows_verification import broken_rows
from privity.common.release.verification.signature_verification import check_signatures, unchecked
from privity.common.storage.safe_files import read_regular
from privity.common.synthesis.models.load_model import load_model

Taken = TypeVar("Taken")

UNFINISHED = (
    f"It is unfinished: {SYNTHETIC} and {REPORT} are not there. What was learnt is, and all of it was paid for:"
    " privity sample draws rows, privity report makes the page."
)

LINKED = (
    f"{EVENTS}: each event is of one of these persons, keys are unique, events of a person rise in their order, none is"
    " after the end or beyond the most."
)

NOT_ALWAYS = {SCORES: "scores", ANALYSES: "analyses"}
FORMATS = {MODEL: "model", MARGINALS: "marginals", PRIVACY: "privacy", RUN: "run", **NOT_ALWAYS}


def check_release(folder: Path) -> list[str]:
    """Check a release, but no signature; what was checked, in plain words, one sentence each.

    Raises:
        ProblemsFound: every fault at once: missing, altered or malformed files, and what does not fit together.
    """
    return [*_checked(folder), unchecked(folder)]


def _checked(folder: Path) -> list[str]:
    checking = _Checking(folder)
    said = checking.run()
    if checking.problems:
        raise ProblemsFound(checking.problems)
    return said


def check_signed_release(folder: Path, root: Path, allow_missing: Collection[str] = ()) -> Iterator[str]:
    """The same, and then who signed it, by the file of the organiser's public key; sentences as they come.

    Args:
        allow_missing: parties whose statement need not be there.

    Raises:
        PrivityError: the root cannot be read; bad-option: a party that took no part.
        ProblemsFound: at the end, every signature that does not hold; or before, as ``check_release``.
    """
    yield from _checked(folder)
    found = check_signatures(folder, root, allow_missing)
    yield from found.lines
    if found.problems:
        raise ProblemsFound(found.problems)


class _Checking:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Problem] = []
        self._sound: dict[str, Any] = {}

    def run(self) -> list[str]:
        self._read(RUN)
        run = self._sound.get(RUN)
        if run is None:
            missing = [name for name in LEARNT_FILES if name != RUN and not (self.folder / name).is_file()]
            self.problems += [
                Problem(self._path(name), "", "missing", "the file is missing.", FETCH_AGAIN) for name in missing
            ]
            return []
        found = file_problems(self.folder, run)
        self.problems += found
        self._check_folder(run["files"])
        broken = {Path(problem.file).name for problem in found}
        named = [name for name in FORMATS if name not in NOT_ALWAYS or name in run["files"]]
        for name in sorted({*named} - {RUN} - broken):
            self._read(name)
        schema = None if SCHEMA in broken else self._taken(lambda: load_schema(self.folder / SCHEMA))
        self._check_together(schema)
        self._taken(lambda: read_attestations(self.folder))
        table = None
        if schema is not None and SYNTHETIC in run["files"] and SYNTHETIC not in broken:
            table = self._check_rows(run, schema)
        if self.problems:
            return []
        return [
            f"{len(run['files'])} files are there, each with the SHA-256 that {RUN} names, and no others.",
            f"{', '.join([*named, SCHEMA])} have the forms of their formats.",
            f"{MODEL}, {MARGINALS} and {RUN} fit {SCHEMA}. Nothing shows whether model and tables are of this run.",
            *self._about_statement(run),
            *([UNFINISHED] if table is None else self._about_rows(table, run)),
            *self._about_texts(table),
            "Digests show damage, not who made the release, nor that what it says is true.",
        ]

    def _about_statement(self, run: dict[str, Any]) -> list[str]:
        asked = [rounded_up(Fraction(run[key])) for key in ("epsilon", "delta")]
        epsilon, delta = map(rounded_up, largest(self._sound[PRIVACY], "row"))
        return [
            f"The figures of {PRIVACY} follow from the {len(run['charges'])} charges that {RUN} states, and every noisy"
            f" marginal lies under noise that was charged, and is what the parties' rows and this noise can add up to.",
            f"A row loses epsilon {epsilon} and delta {delta} at most, it says; {RUN} asks for epsilon {asked[0]}"
            f" and delta {asked[1]}.",
        ]

    def _about_rows(self, table: CodedTable, run: dict[str, Any]) -> list[str]:
        rows = f"{SYNTHETIC}: {table.rows} rows, as many as {RUN} says, every value in its domain."
        linked = [] if table.schema.history is None else [LINKED]
        return [rows, *linked, *self._about_rules(run)]

    def _about_texts(self, table: CodedTable | None) -> list[str]:
        """Whether the texts for people are those that this version makes of the figures; another's may differ."""
        release = read_release(self.folder)
        stated = release.privacy
        words = in_words(stated, len(stated["observers"]) > 1)
        ours = {f"The sentences in {PRIVACY}": stated["in_words"] == words}
        if table is not None and release.analyses is not None:
            ours[f"The estimates in {ANALYSES}"] = nearly(analyses_of(release, table), release.analyses)
        if table is not None:
            page = read_regular(self.folder / REPORT, links=False) == page_of(release, table).encode()
            ours = {f"The page {REPORT}": page, **ours}
        return [
            f"{what}: as this version of Privity makes them of the other files."
            if same
            else f"{what}: NOT as this version of Privity makes them. Another version made them, or somebody"
            f" altered them; go by the figures, and make the page again: privity report {self.folder} --out FILE."
            for what, same in ours.items()
        ]

    def _about_rules(self, run: dict[str, Any]) -> list[str]:
        rules = run.get("constraints", [])
        held = sum(entry.get("enforced", True) for entry in rules)
        return (
            [f"{held} of {len(rules)} row constraints are enforced, and no row breaks one of these."] if rules else []
        )

    def _check_together(self, schema: Schema | None) -> None:
        for found in disagreements(self._sound, schema):
            self._fault(found.file, found.field, found.rule, found.message)
        if schema is None:
            return
        if MODEL in self._sound:
            self._taken(lambda: load_model(self._sound[MODEL], schema, self._path(MODEL)))
        if MARGINALS in self._sound:
            self._taken(lambda: read_tables(self._sound[MARGINALS], schema, self._path(MARGINALS)))

    def _check_folder(self, named: dict[str, str]) -> None:
        """Nothing else lies there, and every file itself."""
        for path in sorted(self.folder.iterdir()):
            if path.is_symlink():
                message, remedy = "it is a link: what it leads to may change.", "Put the file itself there."
                self.problems.append(Problem(str(path), "", "link", message, remedy))
            elif path.name not in (RUN, ATTESTATIONS, *RELEASE_FILES, *NOT_ALWAYS, *named):
                message, remedy = f"{RUN} does not name it: it is no part of the release.", "Move it elsewhere."
                self.problems.append(Problem(str(path), "", "not-named", message, remedy))

    def _check_rows(self, run: dict[str, Any], schema: Schema) -> CodedTable | None:
        """The synthetic table."""
        if schema.history is not None and EVENTS not in run["files"]:
            return None
        table = self._taken(lambda: read_synthetic(self.folder, schema))
        if table is None:
            return None
        if table.rows != run["rows"]:
            self._fault(SYNTHETIC, "", "rows", f"it has {table.rows} rows, and {RUN} says {run['rows']}.")
        enforced = {entry["rule"] for entry in run.get("constraints", []) if entry.get("enforced", True)}
        for file, message in broken_rows(self.folder, schema, enforced):
            self._fault(file, "", "rule-broken", message)
        return table

    def _read(self, name: str) -> None:
        read = self._taken(lambda: [read_json(self.folder / name, links=False)])
        if read is None:
            return
        (document,) = read
        found = check(document, FORMATS[name], self._path(name))
        self.problems += found
        if not found:
            self._sound[name] = document

    def _taken(self, what: Callable[[], Taken]) -> Taken | None:
        """What a function gives; None if it raises, and then the problem is noted."""
        try:
            return what()
        except ProblemsFound as error:
            self.problems += error.problems
        except PrivityError as error:
            self.problems.append(Problem(str(self.folder), "", error.code, f"{error.message}.", error.remedy))
        return None

    def _path(self, name: str) -> str:
        return str(self.folder / name)

    def _fault(self, name: str, field: str, rule: str, message: str) -> None:
        self.problems.append(Problem(self._path(name), field, rule, message, FETCH_AGAIN))
