"""Estimates of accuracy for people: a table in the terminal, a page, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privity.assessment.planning.expected_error import CAVEAT, MEANING, Estimate, Part
from privity.assessment.planning.line_chart import Chart, Series
from privity.assessment.planning.rehearsal import Shape
from privity.common.pages import render
from privity.common.privacy.budget import readable
from privity.common.text import text_table
from privity.common.text.terminal import say

PARTS = {
    "error": "all of it",
    "noise": "what noise in measured marginals adds",
    "model": "what the model leaves out",
}
DECOMPOSITION = (
    "noise's part: what the same run would not have without noise in its tables. model's part: the rest, mostly"
    " dependence that the model leaves out; it falls with epsilon too, as less noise lets a model hold more."
)
HEADINGS = ("algorithm", "parties", "epsilon", "error", "weak to strong", "noise's part", "model's part", "worst pair")
NUMBERS = HEADINGS[1:]


def shape_text(shape: Shape) -> str:
    """The declared shape in one line."""
    parties = len(shape.party_rows)
    owners = "a single owner" if parties == 1 else f"{parties} parties, {shape.tolerate} of which may collude"
    return f"{shape.rows:,} rows of {len(shape.schema.attributes)} attributes; {owners}"


def rows_of(found: Sequence[Estimate]) -> list[tuple[str, ...]]:
    """One row of texts for each estimate, under ``HEADINGS``."""
    return [
        (
            e.algorithm, str(e.parties), readable(e.epsilon), f"{e.error.expected:.3f}", _interval(e.error),
            f"{e.noise.expected:.3f}", f"{e.model.expected:.3f} ({_interval(e.model)})", f"{e.largest.expected:.2f}",
        )
        for e in found
    ]  # fmt: skip


def show(shape: Shape, found: Sequence[Estimate]) -> None:
    """Print the estimates."""
    shown = text_table.table(*HEADINGS, numbers=NUMBERS, box=None)
    for row in rows_of(found):
        text_table.add(shown, *row)
    text_table.show(shown)
    say(f"For {shape_text(shape)}.")
    say(MEANING)
    say(DECOMPOSITION)
    say(CAVEAT)


def charts(found: Sequence[Estimate]) -> list[Chart]:
    """For each number of parties the algorithms compared, and then each algorithm by its parts."""
    made = []
    for parties in dict.fromkeys(e.parties for e in found):
        here = [e for e in found if e.parties == parties]
        owners = "one owner" if parties == 1 else f"{parties} parties"
        names = list(dict.fromkeys(e.algorithm for e in here))
        lines = {name: [e for e in here if e.algorithm == name] for name in names}
        some = lines[names[0]]
        compared = tuple(Series(name, tuple(e.error.expected for e in line)) for name, line in lines.items())
        made.append(_chart(f"Expected error, {owners}", some, compared))
        for name, line in lines.items():
            parts = tuple(
                Series(f"{part}: {text}", tuple(getattr(e, part).expected for e in line), _bars(line, part))
                for part, text in PARTS.items()
            )
            made.append(_chart(f"{name}, {owners}; bars: weak to strong dependence", line, parts))
    return made


def page(shape: Shape, found: Sequence[Estimate]) -> str:
    """A whole page that needs nothing else."""
    pictures = [chart.svg(number) for number, chart in enumerate(charts(found))]
    return render(
        str(__package__),
        "accuracy.html.j2",
        shape=shape_text(shape),
        meaning=MEANING,
        caveat=CAVEAT,
        decomposition=DECOMPOSITION,
        pictures=pictures,
        headings=HEADINGS,
        rows=rows_of(found),
    )


def _chart(title: str, line: Sequence[Estimate], series: tuple[Series, ...]) -> Chart:
    epsilons: list[Fraction] = [e.epsilon for e in line]
    texts = tuple(readable(epsilon) for epsilon in epsilons)
    return Chart(title, "epsilon", "error", tuple(float(e) for e in epsilons), texts, series)


def _bars(line: Sequence[Estimate], part: str) -> tuple[tuple[float, float], ...]:
    return tuple((getattr(e, part).least, getattr(e, part).greatest) for e in line)


def _interval(part: Part) -> str:
    return f"{part.least:.3f} to {part.greatest:.3f}"
