"""How a release compares with the real rows: data owner only."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privity import given
from privity.assessment.evaluation.evaluation import Evaluation as Found
from privity.assessment.evaluation.evaluation_inputs import Inputs, read_inputs
from privity.assessment.evaluation.evaluation_report import Files, evaluation_page, judged, write_evaluation
from privity.common.errors import RowProblemsFound
from privity.common.formats.given_values import bad_option, whole_number
from privity.common.storage.safe_files import refuse_existing
from privity.common.text.terminal import console, status_line
from privity.html import Page
from privity.party.sources.address import refuse_password
from privity.summaries import Shown, Summary

if TYPE_CHECKING:
    import pandas as pd


class Evaluation(Shown):
    """What ``Release.evaluate`` found: not private, and never to be published.

    Attributes:
        document: all figures (docs/formats.md).
    """

    def __init__(self, found: Found, document: dict[str, Any]) -> None:
        self._found, self.document = found, document

    @property
    def verdict(self) -> tuple[str, ...]:
        """What it comes to, in sentences."""
        return tuple(self.document["verdicts"][0]["in_words"])

    @property
    def questions(self) -> pd.DataFrame:
        """What the rows can be asked: the question, the verdict and why."""
        import pandas as pd

        told = self.document["verdicts"][0]["questions"]
        return pd.DataFrame(
            [{"question": one["question"], "verdict": one["grade"], "why": one["words"]} for one in told]
        )

    @property
    def report(self) -> Page:
        """All of it as a page with pictures, which a notebook shows."""
        return Page(evaluation_page(self._found, self.document, _unsaid))

    def save(self, *, html: Path | str | None = None, json: Path | str | None = None) -> None:
        """Write the page or the figures: data owner only, do not publish.

        Raises:
            PrivityError: bad-option: neither is named, or there is something already.
        """
        if html is None and json is None:
            raise bad_option("html", "nothing to write is named", "Give html=FILE, json=FILE or both.")
        for option, path in (("html", html), ("json", json)):
            if path is not None:
                refuse_existing(Path(path), option)
        files = Files(*(None if path is None else Path(path) for path in (json, html)))
        write_evaluation(self._found, self.document, files, _unsaid)

    def _summary(self) -> Summary:
        return Summary(self.document["notice"], notes=self.verdict, table=self.questions)


def evaluated(
    release: Path,
    real: given.Table,
    control: given.Table | None,
    targets: str | Sequence[str],
    drop: str | Sequence[str],
    attacks: int,
    *,
    quick: bool,
) -> Evaluation:
    """As ``Release.evaluate``."""
    own, held_out = _table("real", real), None if control is None else _table("control", control)
    tried = whole_number("attacks", attacks, 1)
    targets, drop = ((names,) if isinstance(names, str) else names for names in (targets, drop))
    inputs = Inputs(own, (), (release,), None, held_out, tuple(targets), tuple(drop), tried, quick)
    shown = console(err=True)
    title = "Evaluation"
    with status_line(shown, title) if shown.is_terminal or shown.is_jupyter else nullcontext() as show:

        def say(what: str) -> None:
            if show is not None:
                show(f"{title}: {what}")

        try:
            return Evaluation(*judged(read_inputs(inputs, say), say))
        except RowProblemsFound as error:
            raise RowProblemsFound(
                replace(one, file=one.file.removeprefix("--"), remedy=one.remedy.replace("--", ""))
                for one in error.problems
            ) from None


def _table(name: str, table: given.Table) -> str | pd.DataFrame:
    if (frame := given.frame_of(table)) is not None:
        return frame
    if isinstance(table, str | Path):
        refuse_password(str(table))
        return str(table)
    hint = "Give a pandas, polars or Arrow table, a relation of DuckDB, or the path or address of a table."
    raise bad_option(name, f"a {type(table).__name__} is no table", hint)


def _unsaid(_what: str) -> None:
    """It is soon done."""
