"""What the page says in sentences: what was published, and what is worth a warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privity.common.consortium.manifest import Split
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.spreadsheet_formulas import REMEDY, WHY, formulas
from privity.common.release.release_contents import Release
from privity.common.release.report.distributions import Distribution
from privity.common.release.report.number_texts import count, counted, percent
from privity.common.release.report.pair_strengths import Pair
from privity.common.release.shortcomings import BEYOND_REMEDY, WHY_ALONE, WHY_WEAKENED, beyond_ranges, weakened_pairs
from privity.common.synthesis.algorithms import ALGORITHMS

ATTRIBUTES, PAIRS, MEASURED, GUARANTEE = "attributes", "pairs", "measured", "guarantee"
"""Sections of the page that have warnings, by their anchors."""

NAMED = 40
"""Tables that a warning lists; more are counted."""

LARGE = 10
"""Rows of an average cell from which on they are told without decimals."""

NOT_PROTECTED = (
    "How many rows each party has, that it takes part, and which attributes and categories were declared.",
    "That every real row fits the schema and its rules. A run starts only if each does, so every release tells that.",
    "What is true of people in general. If the table shows that smokers fall ill more often, it shows it of every"
    " smoker, whether or not that person's row was used.",
    "Rows that are linked to each other beyond what was declared: relatives, or one person under two names.",
    "Any other release about the same people: what each of them costs adds up, in the ledger of each party.",
)


@dataclass(frozen=True)
class Warned:
    """A warning: in which section of the page it stands, what, why it matters, and what it is about."""

    section: str
    title: str
    text: str
    items: tuple[str, ...] = ()


def warnings(
    release: Release,
    tables: Sequence[tuple[str, NoisyTable]],
    shown: Sequence[Distribution],
    pairs: Sequence[Pair],
    half_widths: Sequence[int],
) -> list[Warned]:
    """Everything that a reader should know before trusting a figure.

    Args:
        half_widths: error bar of a cell of each table.
    """
    found = [
        _unfinished(release),
        _simulation(release),
        _delta(release),
        _alone(release),
        _weakened(release),
        _tables_below_noise_floor(release, tables, half_widths),
        _attributes_below_noise_floor(shown),
        _coverage(release, tables),
        _unmeasured(shown),
        _beyond_range(release),
        _no_pair(tables, pairs),
        _formulas(release),
    ]
    return [warned for warned in found if warned is not None]


def _unfinished(release: Release) -> Warned | None:
    if not release.unfinished:
        return None
    text = (
        "What was learnt, and what it cost, is as in every release, but the run ended before its rows were written. The"
        " rows of this page were drawn for it from the model. privity sample draws as many as you like, at no cost."
    )
    return Warned(MEASURED, "The release has no synthetic rows", text)


def _simulation(release: Release) -> Warned | None:
    if not release.privacy["simulation"]:
        return None
    text = (
        "One machine saw the rows of all parties and held all keys. The figures are those of a real run, but nobody was"
        " protected from that machine. What this page says of the curator and the parties holds for a real run only."
    )
    if release.privacy["split"] == Split.GIVEN:
        text += (
            " The rows were split by what they hold, so the guarantee is for the split as given: it does not protect"
            " the split, nor what row counts tell of it."
        )
    return Warned(GUARANTEE, "This was a simulation", text)


def _delta(release: Release) -> Warned | None:
    rows = sum(party["rows"] for party in release.privacy["parties"])
    if max(Fraction(party["delta_per_person"]) for party in release.privacy["parties"]) * rows < 1:
        return None
    text = f"Delta is not below one over the number of rows ({count(rows)}): the guarantee means little."
    return Warned(GUARANTEE, "Delta is too large", text)


def _alone(release: Release) -> Warned | None:
    names = [release.schema.names[a] for a in sorted(release.model.alone)]
    if not names:
        return None
    algorithm = ALGORITHMS.get(release.run["algorithm"])
    if algorithm is not None and not algorithm.joins:
        why = f"The algorithm {release.run['algorithm']} does not join attributes."
    else:
        why = f"{WHY_ALONE[0].upper()}{WHY_ALONE[1:]}."
    who = (
        "Every attribute was"
        if len(names) == len(release.schema.names)
        else f"{counted(len(names), 'attribute')} of {len(release.schema.names)} {'was' if len(names) == 1 else 'were'}"
    )
    text = f"{why} In the synthetic rows they depend on nothing, whatever they do in the real ones."
    return Warned(PAIRS, f"{who} modelled alone", text, tuple(names))


def _weakened(release: Release) -> Warned | None:
    pairs = weakened_pairs(release.model)
    if not pairs:
        return None
    return Warned(
        PAIRS, f"{counted(len(pairs), 'pair')} shown weaker than measured", f"{WHY_WEAKENED} between them.", pairs
    )


def _tables_below_noise_floor(
    release: Release, tables: Sequence[tuple[str, NoisyTable]], half_widths: Sequence[int]
) -> Warned | None:
    """Tables whose error bar is wider than their average cell."""
    names, below_noise_floor = release.schema.derived.names, []
    for (phase, table), width in zip(tables, half_widths, strict=True):
        average = table.rows / table.counts.size
        if width > average:
            named = " x ".join(names[a] for a in table.attributes)
            rows = count(round(average)) if average >= LARGE else f"{average:.2g}"
            below_noise_floor.append(f"{named} ({phase}): cells of {rows} rows on average, each ± {count(width)}")
    if not below_noise_floor:
        return None
    text = (
        "The error bar of a cell is wider than the average cell has rows. Single cells of such a table mean little;"
        " sums over many of them may still do."
    )
    title = f"{count(len(below_noise_floor))} of {counted(len(tables), 'noisy marginal')} below the noise floor"
    if len(below_noise_floor) > NAMED:
        below_noise_floor[NAMED:] = [f"and {count(len(below_noise_floor) - NAMED)} more"]
    return Warned(MEASURED, title, text, tuple(below_noise_floor))


def _attributes_below_noise_floor(shown: Sequence[Distribution]) -> Warned | None:
    below_noise_floor = tuple(
        f"{d.attribute.name}: each share ± {percent(d.whole.half_width or 0)}, average share"
        f" {percent(1 / len(d.whole.shares))}"
        for d in shown
        if d.whole.below_noise_floor
    )
    if not below_noise_floor:
        return None
    text = "The error bar of a category is wider than the average share of a category, by all noisy marginals together."
    number = counted(len(below_noise_floor), "attribute")
    return Warned(ATTRIBUTES, f"The distribution of {number} is mostly noise", text, below_noise_floor)


def _coverage(release: Release, tables: Sequence[tuple[str, NoisyTable]]) -> Warned | None:
    rows = sum(party["rows"] for party in release.privacy["parties"])
    partial: dict[tuple[str, int], int] = {}
    for phase, table in tables:
        if table.rows < rows:
            partial[phase, table.rows] = partial.get((phase, table.rows), 0) + 1
    if not partial:
        return None
    items = tuple(
        f"{phase}: {counted(number, 'table')} over {count(covered)} of {count(rows)} rows"
        for (phase, covered), number in partial.items()
    )
    text = "They were revealed before all parties had added their rows, and say nothing of the parties that came later."
    return Warned(MEASURED, "Some tables cover some of the parties only", text, items)


def _unmeasured(shown: Sequence[Distribution]) -> Warned | None:
    names = tuple(d.attribute.name for d in shown if d.whole.margin is None)
    if not names:
        return None
    who = "No attribute was" if len(names) == len(shown) else f"{counted(len(names), 'attribute')} not"
    text = (
        "No noisy marginal of their categories was revealed for all parties together, so their synthetic distribution"
        " stands here without an error bar. (In a mixture each party keeps its own tables; bits are measured in the"
        " place of a code.)"
    )
    return Warned(ATTRIBUTES, f"{who} measured as such", text, names if len(names) < len(shown) else ())


def _beyond_range(release: Release) -> Warned | None:
    items = beyond_ranges(release.schema.attributes)
    if not items:
        return None
    title = f"{counted(len(items), 'number')} with values beyond the measured range"
    text = f"An end bin also has what lies farther out, and its error bar is of all of that. {BEYOND_REMEDY}"
    return Warned(ATTRIBUTES, title, text, tuple(items))


def _no_pair(tables: Sequence[tuple[str, NoisyTable]], pairs: Sequence[Pair]) -> Warned | None:
    measured = [pair for pair in pairs if pair.measured is not None]
    if not tables or not measured or any(pair.measured and pair.measured.told for pair in measured):
        return None
    text = f"{counted(len(measured), 'pair')} can be read from noisy marginals, and none is told from its noise."
    return Warned(PAIRS, "No association stands out from the noise", text)


def _formulas(release: Release) -> Warned | None:
    found = formulas(release.schema)
    if not found:
        return None
    return Warned(
        ATTRIBUTES, f"{counted(len(found), 'text')} that a spreadsheet takes for a formula", f"{WHY} {REMEDY}", found
    )
