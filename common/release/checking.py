"""Everything that can be checked of a release without anything but the release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from common.errors import PrivityError, Problem, ProblemsFound
from common.formats import check, read_json
from common.models.load import load_model
from common.reading import read_batches, read_table
from common.release.content import MARGINALS, MODEL, PRIVACY, RELEASE_FILES, RUN, SCHEMA, SCORES, SYNTHETIC
from common.release.folder import file_problems
from common.release.marginals import read_tables
from common.rules.text_rows import of_texts
from common.schema import Schema, load_schema

Taken = TypeVar("Taken")

FORMATS = {MODEL: "model", MARGINALS: "marginals", PRIVACY: "privacy", RUN: "run", SCORES: "scores"}
AGAIN = "Fetch the release again from where it was published."


def check_release(folder: Path) -> list[str]:
    """Check a release; what was checked, in plain words, one sentence each.

    Raises:
        ProblemsFound: every fault at once: missing, altered or malformed files, and what does not fit together.
    """
    checking = _Checking(folder)
    said = checking.run()
    if checking.problems:
        raise ProblemsFound(checking.problems)
    return said


class _Checking:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Problem] = []
        self._sound: dict[str, Any] = {}

    def run(self) -> list[str]:
        self._read(RUN)
        run = self._sound.get(RUN)
        if run is None:
            missing = [name for name in RELEASE_FILES if name != RUN and not (self.folder / name).is_file()]
            self.problems += [
                Problem(self._path(name), "", "missing", "the file is missing.", AGAIN) for name in missing
            ]
            return []
        found = file_problems(self.folder, run["files"])
        self.problems += found
        broken = {Path(problem.file).name for problem in found}
        named = [name for name in FORMATS if name != SCORES or SCORES in run["files"]]
        for name in sorted({*named} - {RUN} - broken):
            self._read(name)
        schema = None if SCHEMA in broken else self._taken(lambda: load_schema(self.folder / SCHEMA))
        self._check_together(run, schema)
        rows = 0
        if schema is not None and SYNTHETIC not in broken:
            rows = self._check_rows(run, schema)
        return [
            f"{len(run['files'])} files are there, each with the SHA-256 that {RUN} names.",
            f"{', '.join([*named, SCHEMA])} have the forms of their formats.",
            "Model, tables, statement and run belong to one descriptor and to one run.",
            f"{SYNTHETIC}: {rows} rows, as many as {RUN} says, every value in its domain.",
            *self._about_rules(run),
            "The digests are not signed: they show damage, not who made the release.",
        ]

    def _about_rules(self, run: dict[str, Any]) -> list[str]:
        rules = run.get("constraints", [])
        held = sum(entry.get("enforced", True) for entry in rules)
        return (
            [f"{held} of {len(rules)} row constraints are enforced, and no row breaks one of these."] if rules else []
        )

    def _check_together(self, run: dict[str, Any], schema: Schema | None) -> None:
        privacy = self._sound.get(PRIVACY)
        if privacy is not None and privacy["run"] != run["run"]:
            self._fault(PRIVACY, "run", "other-run", f"the statement is of run {privacy['run']}, not {run['run']}.")
        if schema is None:
            return
        if run["schema_digest"] != schema.digest:
            self._fault(SCHEMA, "", "other-schema", f"the descriptor is not the one that {RUN} names.")
        scores = self._sound.get(SCORES)
        if scores is not None and scores["schema_digest"] != schema.digest:
            self._fault(SCORES, "schema_digest", "other-schema", f"they are not about the descriptor that {RUN} names.")
        if (SCORES in run["files"]) != (run.get("evaluation") is not None):
            self._fault(
                RUN, "evaluation", "other-scores", f"{SCORES} is there if and only if the parties scored the run."
            )
        if MODEL in self._sound:
            self._taken(lambda: load_model(self._sound[MODEL], schema, self._path(MODEL)))
        if MARGINALS in self._sound:
            self._taken(lambda: read_tables(self._sound[MARGINALS], schema, self._path(MARGINALS)))

    def _check_rows(self, run: dict[str, Any], schema: Schema) -> int:
        """Rows of the synthetic table."""
        path = self.folder / SYNTHETIC
        table = self._taken(lambda: read_table(path, schema))
        if table is None:
            return 0
        if table.rows != run["rows"]:
            self._fault(SYNTHETIC, "", "rows", f"it has {table.rows} rows, and {RUN} says {run['rows']}.")
        enforced = {entry["rule"] for entry in run.get("constraints", []) if entry.get("enforced", True)}
        rules = [rule for rule in schema.row_constraints if rule.rule in enforced]
        attributes = dict(zip(schema.names, schema.attributes, strict=True))
        broken = [0] * len(rules)
        for frame in read_batches(path) if rules else ():
            rows = of_texts(rules, attributes, frame)
            broken = [count + int(rule.refused(rows).sum()) for count, rule in zip(broken, rules, strict=True)]
        for rule, count in zip(rules, broken, strict=True):
            if count:
                self._fault(SYNTHETIC, "", "rule-broken", f"{count} rows break the rule {rule.rule}.")
        return table.rows

    def _read(self, name: str) -> None:
        document = self._taken(lambda: read_json(self.folder / name))
        if document is None:
            return
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
        self.problems.append(Problem(self._path(name), field, rule, message, AGAIN))
