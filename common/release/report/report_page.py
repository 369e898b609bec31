"""The page ``report.html``: all that it shows, in the order of reading."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.data.coded_table import CodedTable
from privity.common.pages import render
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.privacy.statement import largest, rounded_up
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.release.release_contents import Release
from privity.common.release.report import TEMPLATES, number_texts
from privity.common.release.report.bars_and_heat_map import Bars, bars, heat_map
from privity.common.release.report.best_marginals import BestMargins, Margin
from privity.common.release.report.distributions import Distribution, Measured, distributions
from privity.common.release.report.model_structure import Structure, structures
from privity.common.release.report.pair_strengths import Pair, pairs, shown
from privity.common.release.report.repeat_command import command, run_request
from privity.common.release.report.structure_drawing import Drawing, draw
from privity.common.release.report.warnings import NOT_PROTECTED, warnings
from privity.common.release.shortcomings import how_fitted

LARGEST_TOLD = 12
"""Epsilon up to which it is told what it does to odds: beyond that the factor tells nobody anything."""

STRONGEST = 15
"""Pairs in the short table."""


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading, and the template that it is drawn by."""

    anchor: str
    title: str
    template: str


@dataclass(frozen=True)
class Shown:
    """A distribution with what is said of it, and its pictures."""

    of: Distribution
    anchor: str
    source: str
    bars: Bars
    parts: tuple[tuple[str, str, Bars], ...]


@dataclass(frozen=True)
class Picture:
    """The structure of a model, and its drawing."""

    of: Structure
    drawing: Drawing


def report_page(release: Release, table: CodedTable) -> str:
    """The page of a release.

    Args:
        table: its synthetic rows.
    """
    tables = release.tables()
    variables = Fraction(release.marginals["noise_variables"])
    widths = [half_width(t.law, variables) for _, t in tables]
    best = BestMargins(tables, release.schema.derived, variables)
    found = distributions(best, table)
    associations = pairs(best, table)
    listed = shown(associations)
    parties = release.privacy["parties"]
    owners = [party["name"] for party in parties]
    request = run_request(release)
    return render(
        TEMPLATES,
        "report.html.j2",
        release=release,
        sections=_sections(release),
        figures=number_texts,
        name=release.schema.name or "a table",
        synthetic_rows=table.rows,
        rows=sum(party["rows"] for party in parties),
        level=number_texts.percent(float(Fraction(release.marginals["interval_level"]))).replace(".00", ""),
        tables_by_phase=_by_phase(tables, widths),
        odds=_odds(release.privacy),
        not_protected=NOT_PROTECTED,
        warnings=warnings(release, tables, found, associations, widths),
        how_fitted=how_fitted(release.marginals["inference"]),
        pictures=[Picture(structure, draw(structure)) for structure in structures(release.model, owners)],
        shown=[_shown(d, place, release) for place, d in enumerate(found)],
        pairs=listed,
        all_pairs=math.comb(sum(not one.discover for one in release.schema.attributes), 2),
        largest=TABLE_CELLS,
        strongest=[pair for pair in sorted(associations, key=lambda p: p.rank) if _worth_showing(pair)][:STRONGEST],
        heat_map=heat_map(listed, release.schema.names) if listed else None,
        phases=_phases(release.run),
        person=largest(release.privacy, "person"),
        row=largest(release.privacy, "row"),
        rounded_up=rounded_up,
        bytes_by_party=_bytes_by_party(release.run, owners),
        request=None if request is None else json.dumps(request, indent=2, ensure_ascii=False),
        command=command(release),
    )


def _sections(release: Release) -> list[Section]:
    found = [
        Section("short", "In short", "report_short.html.j2"),
        Section("guarantee", "What is protected, and what is not", "report_guarantee.html.j2"),
        Section("warnings", "Warnings", "report_warnings.html.j2"),
        Section("budget", "Privacy budget", "report_budget.html.j2"),
        Section("structure", "What was learnt", "report_structure.html.j2"),
        Section("attributes", "Every attribute", "report_attributes.html.j2"),
        Section("pairs", "Pairs of attributes", "report_pairs.html.j2"),
    ]
    if release.scores is not None:
        found.append(Section("scores", "How good it is, by the owners", "report_scores.html.j2"))
    if "constraints" in release.run:
        found.append(Section("constraints", "Declared constraints", "report_constraints.html.j2"))
    return [
        *found,
        Section("cost", "What was sent", "report_cost.html.j2"),
        Section("repeat", "To repeat the run", "report_repeat.html.j2"),
        Section("method", "How the figures are made", "report_method.html.j2"),
    ]


def _odds(privacy: dict[str, Any]) -> str | None:
    """By how much the release moves the odds on one person at most; None if some delta was spent, or by too much."""
    worst = max(Fraction(party["epsilon_per_person"]) for party in privacy["parties"])
    if any(party["delta_per_person"] != "0" for party in privacy["parties"]) or worst > LARGEST_TOLD:
        return None
    # Not below what it is.
    return f"{math.ceil(math.exp(worst) * 100) / 100:.2f}" if worst < 5 else f"{math.ceil(math.exp(worst)):,}"


def _by_phase(tables: Sequence[tuple[str, Any]], widths: Sequence[int]) -> list[dict[str, Any]]:
    """How many marginals each phase measured, of how many cells, and their error bars, least to greatest."""
    found: dict[str, dict[str, Any]] = {}
    for (phase, table), width in zip(tables, widths, strict=True):
        entry = found.setdefault(phase, {"phase": phase, "tables": 0, "cells": 0, "least": width, "greatest": width})
        entry["tables"] += 1
        entry["cells"] += int(table.counts.size)
        entry["least"], entry["greatest"] = min(entry["least"], width), max(entry["greatest"], width)
    return list(found.values())


def _shown(found: Distribution, place: int, release: Release) -> Shown:
    parts = tuple((name, _source(part, release), bars(part)) for name, part in found.parts)
    return Shown(found, f"attribute-{place + 1}", _source(found.whole, release), bars(found.whole), parts)


def _source(measured: Measured, release: Release) -> str:
    """Which table a distribution was read from, and how."""
    margin = measured.margin
    if margin is None:
        return "No noisy marginal of its categories was revealed: the synthetic rows only."
    named = _table_name(margin, release.schema.derived.names)
    text = f"Measured in {named}"
    if margin.cells > 1:
        text += f"; each share is the sum of {number_texts.counted(margin.cells, 'cell')}"
    text += f". Error bar: ± {number_texts.count(margin.half_width)} rows of {number_texts.count(margin.table.rows)}."
    if measured.absent is not None:
        text += (
            f" {number_texts.counted(measured.absent, 'place')} of {number_texts.count(margin.table.rows)} are absent"
            f" rows, as measured; shares are of the {number_texts.count(measured.rows)} others."
        )
    return text


def _table_name(margin: Margin, names: Sequence[str]) -> str:
    axes = " x ".join(names[a] for a in margin.table.attributes)
    return f"the table {axes} ({margin.phase})"


def _worth_showing(pair: Pair) -> bool:
    return pair.synthetic.v >= 0.005 or (pair.measured is not None and pair.measured.told)


def _phases(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Everything that ``run.json`` tells of each phase, in the order of the run."""
    keys = ("rounds", "cells", "ciphertexts", "unpacked_bytes", "bytes")
    names = dict.fromkeys(phase for key in keys for phase in run[key])
    found = []
    for name in names:
        by_party = run["bytes"].get(name, {})
        found.append(
            {
                "phase": name,
                "bytes": sum(by_party.values()) if by_party else None,
                **{key: run[key].get(name) for key in keys[:-1]},
            }
        )
    return found


def _bytes_by_party(run: dict[str, Any], parties: Sequence[str]) -> list[tuple[str, list[int], int]]:
    """For each party: bytes by phase, in the order of ``run["bytes"]``, and their sum."""
    if not run["bytes"]:
        return []
    totals: Counter[str] = Counter()
    for by_party in run["bytes"].values():
        totals.update(by_party)
    named = [*parties, *(name for name in totals if name not in parties)]
    return [(name, [moved.get(name, 0) for moved in run["bytes"].values()], totals[name]) for name in named]
