"""The pictures of an evaluation: small ones, each readable at the width of a phone."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.assessment.evaluation.evaluation import Evaluation, TableResult
from privity.assessment.evaluation.pair_comparison import DecileCodes, Pair
from privity.assessment.evaluation.propensity import BARS
from privity.assessment.evaluation.value_tables import Floats
from privity.common.data.attribute import Attribute
from privity.common.storage.safe_files import write_private
from privity.common.text.visible import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REAL = "#4d4d4d"
COLOURS = ("#d95f02", "#1b6ca8", "#5a9e1b", "#a6227b", "#7a5c00")
"""Of the synthetic tables, in their order; told apart with any colour vision, and the real rows are grey."""

STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "privity", "font.family": "sans-serif", "font.size": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9, "legend.frameon": False,
    "legend.fontsize": 7, "figure.constrained_layout.use": True,
}  # fmt: skip
WIDTH, HEIGHT = 3.6, 2.3
MOST_VARIABLES, QUICK_VARIABLES = 40, 12
MOST_BARS = 12
WORST_PAIRS = 4
BINS = 40
LONGEST = 18
FORMATS = ("svg", "png")


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        name: for a file.
        words: what it shows, for those who cannot see it.
    """

    section: str
    name: str
    words: str
    size: tuple[float, float]
    draw: Callable[[Figure], None]

    def rendered(self, kind: str) -> bytes:
        """As SVG or PNG, the same bytes for the same figures."""
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        with rc_context(STYLE):
            figure = Figure(figsize=self.size)
            self.draw(figure)
            stream = io.BytesIO()
            figure.savefig(stream, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else {})
        return stream.getvalue()


def pictures(evaluation: Evaluation) -> Iterator[Picture]:
    """All pictures, the worst variables and pairs first in each section."""
    if evaluation.answers:
        yield _prediction_bars(evaluation)
    for result, colour in zip(evaluation.results, COLOURS * len(evaluation.results), strict=False):
        if result.propensity is not None:
            yield _propensity(result, colour)
        if len(result.pairs.distances) > 1:
            yield _distance_map(evaluation, result)
    order = sorted(
        range(len(evaluation.results[0].columns)),
        key=lambda place: -max(result.columns[place].distance for result in evaluation.results),
    )
    for place in order[: QUICK_VARIABLES if evaluation.question.quick else MOST_VARIABLES]:
        yield _distribution(evaluation, place)
    for result, codes in zip(evaluation.results, evaluation.codes, strict=True):
        for pair in result.pairs.worst(WORST_PAIRS):
            yield _pair(evaluation, result, codes, pair)


def write_pictures(evaluation: Evaluation, folder: Path, say: Callable[[str], None]) -> None:
    """Each picture as SVG and as PNG, into a new folder: data owner only."""
    folder.mkdir(mode=0o700, parents=True)
    for number, picture in enumerate(pictures(evaluation), 1):
        say(f"picture {picture.name}")
        for kind in FORMATS:
            write_private(folder / f"{number:03}-{picture.name}.{kind}", picture.rendered(kind))


def _text(text: str, longest: int = LONGEST) -> str:
    """For a picture: visible, short, and no formula."""
    shown = in_lines(text)
    shown = shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
    return shown.replace("$", r"\$")


def _file(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:60] or "picture"


def _colours(evaluation: Evaluation) -> Sequence[tuple[TableResult, str]]:
    return [(result, COLOURS[place % len(COLOURS)]) for place, result in enumerate(evaluation.results)]


def _distribution(evaluation: Evaluation, place: int) -> Picture:
    real = evaluation.question.real
    attribute, numbers = real.schema.attributes[place], real.numbers[place]
    candidates = evaluation.question.candidates

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_title(_text(attribute.name, 40))
        if numbers is None or attribute.type == "boolean":
            shares = [
                _shares(table.coded.columns[place], attribute.size) for table in (real, *(c.table for c in candidates))
            ]
            _bars(axes, attribute.labels, shares, [result.name for result in evaluation.results])
        else:
            others = [candidate.table.numbers[place] for candidate in candidates]
            _histogram(axes, numbers, [one for one in others if one is not None], evaluation, attribute)

    words = "; ".join(f"{result.name}: distance {result.columns[place].distance:.3f}" for result in evaluation.results)
    return Picture(
        "distributions", _file(attribute.name), f"Distribution of {attribute.name}. {words}.", (WIDTH, HEIGHT), draw
    )


def _shares(codes: np.ndarray, size: int) -> Floats:
    return np.bincount(codes, minlength=size) / len(codes)


def _histogram(
    axes: Axes, real: Floats, others: Sequence[Floats], evaluation: Evaluation, attribute: Attribute
) -> None:
    tables = [numbers[~np.isnan(numbers)] for numbers in (real, *others)]
    present = [numbers for numbers in tables if len(numbers)]
    if not present:
        axes.text(0.5, 0.5, "no value is present", ha="center", transform=axes.transAxes)
        return
    bins = _bins(present, attribute.whole)
    low, high = float(bins[0]), float(bins[-1])
    for numbers, colour, name in zip(
        tables, (REAL, *(colour for _, colour in _colours(evaluation))), _names(evaluation), strict=False
    ):
        # What lies beyond the edges is added to the outermost bars.
        counts = np.histogram(np.clip(numbers, low, high), bins)[0] / max(1, len(numbers))
        if colour == REAL:
            axes.stairs(counts, bins, fill=True, color=REAL, alpha=0.35, label=name)
        else:
            axes.stairs(counts, bins, color=colour, linewidth=1.2, label=name)
    axes.set_ylabel("share of rows")
    if attribute.temporal is None:
        axes.ticklabel_format(axis="x", style="sci", scilimits=(-3, 5))
    else:
        axes.xaxis.set_major_formatter(lambda number, _: attribute.name_of(floor(number)))
        axes.tick_params(axis="x", labelsize=6)
    axes.locator_params(axis="x", nbins=5 if attribute.temporal is None else 3)
    axes.legend()


def _bins(tables: Sequence[Floats], integers: bool) -> Floats:
    """Edges of some 40 bars for the middle 99 % of all tables; of integers each bar has as many."""
    low = min(float(np.quantile(numbers, 0.005)) for numbers in tables)
    high = max(float(np.quantile(numbers, 0.995)) for numbers in tables)
    if integers:
        low, high = np.floor(low), np.ceil(high)
        width = max(1, int(np.ceil((high - low + 1) / BINS)))
        return np.arange(low, high + width + 1, width) - 0.5
    return np.linspace(low, high, BINS + 1) if low < high else np.array([low - 0.5, low + 0.5])


def _names(evaluation: Evaluation) -> list[str]:
    return ["real", *(_text(result.name) for result in evaluation.results)]


def _bars(axes: Axes, labels: Sequence[str], shares: Sequence[Floats], names: Sequence[str]) -> None:
    order = np.argsort(-shares[0], kind="stable")[:MOST_BARS]
    thickness = 0.8 / len(shares)
    for number, (share, colour, name) in enumerate(zip(shares, (REAL, *COLOURS), ["real", *names], strict=False)):
        middle = np.arange(len(order)) + (number - (len(shares) - 1) / 2) * thickness
        axes.barh(middle, share[order], thickness, color=colour, alpha=0.6 if number == 0 else 1, label=_text(name))
    axes.set_yticks(np.arange(len(order)), [_text(labels[code]) for code in order])
    axes.invert_yaxis()
    axes.set_xlabel(
        "share of rows" + (f" ({len(labels) - len(order)} rarer not shown)" if len(order) < len(labels) else "")
    )
    axes.legend()


def _pair(evaluation: Evaluation, result: TableResult, codes: DecileCodes, pair: Pair) -> Picture:
    a, b = pair
    names = evaluation.question.real.schema.names
    labels = [evaluation.deciles.labels(place) for place in pair]

    def draw(figure: Figure) -> None:
        tables = [_table(one, pair) for one in (evaluation.real_codes, codes)]
        kept = [np.flatnonzero((tables[0] + tables[1]).sum(1 - axis)) for axis in (0, 1)]
        kept = [_largest(found, (tables[0] + tables[1]).sum(1 - axis)) for axis, found in enumerate(kept)]
        shown = [table[np.ix_(kept[0], kept[1])] for table in tables]
        most = max(float(table.max()) for table in shown)
        for place, (axes, table, title) in enumerate(
            zip(figure.subplots(1, 2, sharey=True), shown, ("real", _text(result.name)), strict=True)
        ):
            image = axes.imshow(table.T, cmap="Blues", vmin=0, vmax=most, aspect="auto", origin="lower")
            axes.set_title(title)
            axes.set_xlabel(_text(names[a], 24))
            axes.set_xticks(
                range(len(kept[0])), [_text(labels[0][code], 12) for code in kept[0]], rotation=90, fontsize=6.5
            )
            if not place:
                axes.set_ylabel(_text(names[b], 24))
                axes.set_yticks(range(len(kept[1])), [_text(labels[1][code], 14) for code in kept[1]], fontsize=6.5)
        figure.colorbar(image, ax=figure.axes, label="share of rows", shrink=0.8)

    distance = f"total variation distance {result.pairs.distances[pair]:.3f}"
    words = f"{names[a]} and {names[b]}, real rows beside {result.name}: {distance}."
    return Picture("pairs", _file(f"{names[a]} {names[b]} {result.name}"), words, (WIDTH * 1.3, HEIGHT * 1.3), draw)


def _table(codes: DecileCodes, pair: Pair) -> Floats:
    a, b = pair
    shape = codes.sizes[a], codes.sizes[b]
    counts = np.bincount(codes.columns[a] * shape[1] + codes.columns[b], minlength=shape[0] * shape[1])
    return counts.reshape(shape) / codes.rows


def _largest(found: np.ndarray, weight: Floats) -> np.ndarray:
    return found if len(found) <= MOST_BARS else np.sort(found[np.argsort(-weight[found], kind="stable")[:MOST_BARS]])


def _distance_map(evaluation: Evaluation, result: TableResult) -> Picture:
    names = evaluation.question.real.schema.names
    side = max(WIDTH, min(10.0, 1.2 + 0.14 * len(names)))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        matrix = np.full((len(names), len(names)), np.nan)
        for (a, b), distance in result.pairs.distances.items():
            matrix[a, b] = matrix[b, a] = distance
        image = axes.imshow(matrix, cmap="magma_r", vmin=0, vmax=max(0.2, float(np.nanmax(matrix))))
        axes.set_title(f"Distances of all pairs: {_text(result.name)}")
        small = 6 if len(names) <= 30 else 4
        axes.set_xticks(range(len(names)), [_text(name, 16) for name in names], rotation=90, fontsize=small)
        axes.set_yticks(range(len(names)), [_text(name, 16) for name in names], fontsize=small)
        figure.colorbar(image, ax=axes, shrink=0.7)

    worst = result.pairs.worst(1)[0]
    words = (
        f"Total variation distance of every pair of variables of {result.name}; the largest is that of "
        f"{names[worst[0]]} and {names[worst[1]]}, {result.pairs.distances[worst]:.3f}."
    )
    return Picture("all pairs", _file(f"all pairs {result.name}"), words, (side, side), draw)


def _propensity(result: TableResult, colour: str) -> Picture:
    found = result.propensity
    assert found is not None

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        bins = np.linspace(0, 1, BARS + 1)
        axes.stairs(found.real, bins, fill=True, color=REAL, alpha=0.35, label="real rows")
        axes.stairs(found.found, bins, color=colour, linewidth=1.2, label=_text(result.name))
        axes.set_title("Which rows are synthetic?")
        axes.set_xlabel("probability of being synthetic")
        axes.set_ylabel("share of rows")
        axes.legend()

    words = (
        f"Trees that tell the rows of {result.name} from real ones: area under the curve {found.area:.3f}; where the "
        "two shapes overlap, they cannot be told apart."
    )
    return Picture("telling apart", _file(f"propensity {result.name}"), words, (WIDTH, HEIGHT), draw)


def _prediction_bars(evaluation: Evaluation) -> Picture:
    answers = evaluation.answers
    bars = ["best constant", *(_text(result.name) for result in evaluation.results), "real rows"]
    colours = ["#bbbbbb", *(colour for _, colour in _colours(evaluation)), REAL]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        thickness = 0.8 / len(bars)
        for number, (name, colour) in enumerate(zip(bars, colours, strict=True)):
            scores = [(one.constant, *one.found, one.real)[number] for one in answers]
            # A model that is worse than useless has a bar that ends at the picture's edge.
            lengths = [max(-0.2, 0.0 if score is None else score) for score in scores]
            middle = np.arange(len(answers)) + (number - (len(bars) - 1) / 2) * thickness
            axes.barh(middle, lengths, thickness, color=colour, label=f"learned from {name}" if number else name)
        kinds = ["R²" if one.target.task is None else "accuracy" for one in answers]
        axes.set_yticks(
            np.arange(len(answers)),
            [f"{_text(one.target.name)} ({kind})" for one, kind in zip(answers, kinds, strict=True)],
        )
        axes.invert_yaxis()
        axes.set_xlim(-0.2 if any(s is not None and s < 0 for one in answers for s in one.found) else 0, 1)
        axes.set_title("Predictions, tested on real rows")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    words = "; ".join(
        f"{one.target.name}: constant {one.constant:.3f}, "
        + ", ".join(
            f"{result.name} {'none' if score is None else f'{score:.3f}'}"
            for result, score in zip(evaluation.results, one.found, strict=True)
        )
        + f", real rows {one.real:.3f}"
        for one in answers
    )
    size = WIDTH * 1.2, 1.0 + 0.14 * len(answers) * (len(bars) + 1)
    return Picture("predictions", "predictions", f"How well models predict real rows. {words}.", size, draw)
