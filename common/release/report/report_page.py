"""The page ``report.html``: a function for each of its sections, in the order of reading."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

from privity.common.data.coded_table import CodedTable
from privity.common.pages import render
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.release.queries.declared_analyses import analyses_of
from privity.common.release.release_contents import (
    ANALYSES,
    ATTESTATIONS,
    MEANINGS,
    RELEASE_FILES,
    SCORES,
    Release,
    files_wanted,
)
from privity.common.release.release_folder import write_release
from privity.common.release.report import TEMPLATES, number_texts, plain_words, quality
from privity.common.release.report.distributions import Measured
from privity.common.release.report.estimates import Estimates, estimates
from privity.common.release.report.heat_map_drawing import heat_map
from privity.common.release.report.histogram_drawing import Histogram, histogram, lying
from privity.common.release.report.model_structure import structures
from privity.common.release.report.overview import Overview, overview, overview_of
from privity.common.release.report.pair_drawing import pair_picture
from privity.common.release.report.pair_strengths import Pair, shown
from privity.common.release.report.quality import Standing, standing
from privity.common.release.report.repeat_command import command, run_request
from privity.common.release.report.structure_drawing import draw
from privity.common.release.report.warnings import ATTRIBUTES, GUARANTEE, MEASURED, NOT_PROTECTED, PAIRS
from privity.common.release.shortcomings import how_fitted
from privity.common.release.statement import largest, whole_loss
from privity.common.release.synthetic_rows import Synthesis

STRONGEST = 12
"""Pairs in the gallery."""

SAID_OF_ORIGIN = ("title", "description", "source", "license")
"""Of what a schema says of its table in words."""

MOST_LISTED = 250
"""Values of an attribute that are listed one by one; the rest are added up in one line."""

MOST_MARGINALS = 2_000
"""Noisy marginals that are listed: a browser labours over a hundred thousand lines."""


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, which names its template, its heading, and what it shows."""

    anchor: str
    title: str
    of: Mapping[str, Any]

    @property
    def template(self) -> str:
        return f"report_{self.anchor}.html.j2"


@dataclass(frozen=True)
class Shown:
    """A distribution, or what was measured in its place: its source in words, its picture and the shares it lists."""

    name: str
    of: Measured
    source: str
    picture: Histogram

    @property
    def listed(self) -> list[Any]:
        return self.of.largest(MOST_LISTED)


def write_with_report(folder: Path, release: Release, synthetic: Synthesis) -> None:
    """Write every file of a release, declared analyses and its report included; as ``write_release``."""
    whole = replace(release, analyses=analyses_of(release, synthetic.table))
    write_release(folder, whole, synthetic, page_of(whole, synthetic.table))


def page_of(release: Release, table: CodedTable) -> str:
    """The report; in its place a page that says so, if it cannot be made.

    Takes seconds where there are many rows or attributes: all pairs of the synthetic rows are counted.
    """
    try:
        return report_page(overview(release, table))
    except Exception as error:
        # All that the run cost is in the other files: a picture that cannot be drawn must not lose them.
        return render(TEMPLATES, "report_failed.html.j2", name=release.schema.name, error=type(error).__name__)


def report_of(folder: Path) -> str:
    """The report of a release, made again from its other files: the same page, to the byte.

    Raises:
        PrivityError, ProblemsFound: as ``overview_of``.
    """
    return report_page(overview_of(folder))


def report_page(whole: Overview) -> str:
    """The page of a release."""
    release = whole.release
    sections = [
        Section("analyses", "Declared analyses", {"analyses": release.analyses}),
        Section(ATTRIBUTES, "Every attribute", attributes(whole)),
        Section(PAIRS, "Which attributes may be studied together", pairs(whole)),
        Section("estimates", "Means and shares, with intervals", {"estimates": shown_estimates(whole)}),
        Section(MEASURED, "What was measured", measured(whole)),
        Section("scores", "How good it is, by the owners", {"scores": release.scores}),
        Section("constraints", "Declared rules", {"rules": release.run.get("constraints")}),
        Section(GUARANTEE, "The guarantee", guarantee(whole)),
        Section("budget", "Privacy budget", budget(release)),
        Section("publication", "Who published it, and its files", publication(release)),
        Section("cost", "What was sent", cost(release)),
        Section("repeat", "To repeat the run", repeat(release)),
        Section("method", "How the figures are made", {}),
    ]
    told = {
        "analyses": release.analyses is not None,
        "scores": release.scores is not None,
        "constraints": "constraints" in release.run,
    }
    return render(
        TEMPLATES,
        "report.html.j2",
        **_common(whole),
        summary=summary(whole),
        sections=[section for section in sections if told.get(section.anchor, True)],
    )


def summary_fragment(whole: Overview) -> str:
    """The first screen of the page by itself, for a page of somebody else's."""
    return render(TEMPLATES, "report_fragment.html.j2", **_common(whole), of=summary(whole), linked=False)


def pictures_page(whole: Overview, chosen: Sequence[int], *, pairs: bool) -> str:
    """A page of these attributes.

    Args:
        chosen: places in the schema.
        pairs: whether the pairs among them are on it, too.
    """
    among = [pair for pair in whole.pairs if pairs and pair.a in chosen and pair.b in chosen]
    some = replace(whole, distributions=tuple(whole.distributions[place] for place in chosen), warnings=())
    of_pairs = {"gallery": [pair_picture(pair, whole.table) for pair in among], "standing": standing}
    return render(
        TEMPLATES, "report_pictures.html.j2", **_common(some), of_attributes=attributes(some), of_pairs=of_pairs
    )


def _common(whole: Overview) -> dict[str, Any]:
    """What every section may use."""
    return {
        "name": whole.name,
        "figures": number_texts,
        "level": number_texts.percent(float(whole.level), 0),
        "warnings": whole.warnings,
    }


def summary(whole: Overview) -> dict[str, Any]:
    """What it is, how good it is, what it is not for, how well people are protected, and whether to publish it."""
    release, privacy = whole.release, whole.release.privacy
    return {
        "what": plain_words.what_it_is(release, whole.table.rows),
        "facts": (
            number_texts.counted(whole.table.rows, "synthetic row" if release.schema.history is None else "person"),
            number_texts.counted(len(release.schema.names), "attribute"),
            plain_words.guarantee(privacy),
            f"algorithm {release.run['algorithm']}",
            f"run {release.run['run']}",
        ),
        "quality": whole.quality,
        "not_for": plain_words.what_not_to_use_it_for(release, whole.quality),
        "guarantee": plain_words.guarantee(privacy),
        "guess": plain_words.what_a_guess_is_worth(release),
        "publish": plain_words.may_it_be_published(release),
    }


def attributes(whole: Overview) -> dict[str, Any]:
    """A histogram of every attribute, and of what was measured in the place of its codes."""
    schema = whole.release.schema
    return {
        "any_missing": any(one.missing for one in schema.attributes),
        "histories": schema.history,
        "places": whole.release.privacy["rows_per_person"] if schema.absent_rows else 0,
        "shown": [
            (d, quality.standing_of(d), _shown(whole, d.attribute.name, d.whole, histogram(d.attribute, d.whole)),
             [_shown(whole, name, part, lying(part)) for name, part in d.parts])
            for d in whole.distributions
        ]
    }  # fmt: skip


def _shown(whole: Overview, name: str, of: Measured, picture: Histogram) -> Shown:
    return Shown(name, of, _source(of, whole.release), picture)


def pairs(whole: Overview) -> dict[str, Any]:
    """What may be studied together, a gallery of the strongest pairs, and all of them."""
    schema = whole.release.schema
    names, listed = schema.names, shown(whole.pairs)
    return {
        "names": names,
        "together": _together(whole),
        "tally": whole.quality.pairs,
        "gallery": [pair_picture(pair, whole.table) for pair in whole.strongest(STRONGEST)],
        "others": _by_first(listed, names),
        "pairs": [(pair, standing(pair)) for pair in sorted(listed, key=lambda pair: pair.rank)],
        "every": math.comb(sum(not one.discover for one in schema.attributes), 2),
        "largest": TABLE_CELLS,
        "standing": standing,
        "heat_map": heat_map(listed, names) if listed else None,
    }


def shown_estimates(whole: Overview) -> Estimates:
    """Means, shares and cross-tabs."""
    return estimates(whole.release, whole.table, whole.strongest(len(whole.pairs)))


def _together(whole: Overview) -> list[tuple[str, dict[Standing, list[str]]]]:
    """For each attribute the others, the strongest first, by how their dependence stands."""
    names = whole.release.schema.names
    found: list[dict[Standing, list[str]]] = [{one: [] for one in quality.OF_PAIRS} for _ in names]
    for pair in sorted(whole.pairs, key=lambda pair: pair.rank):
        stands = standing(pair)
        found[pair.a][stands].append(names[pair.b])
        found[pair.b][stands].append(names[pair.a])
    return list(zip(names, found, strict=True))


def _by_first(listed: Sequence[Pair], names: Sequence[str]) -> list[tuple[Standing, int, list[tuple[str, list[str]]]]]:
    """The pairs without a dependence to study, by how they stand: of each attribute those after it in the schema."""
    found = []
    for stands in (Standing.INDEPENDENT, Standing.HIDDEN, Standing.UNMEASURED):
        by_first: dict[str, list[str]] = {}
        for pair in listed:
            if standing(pair) is stands:
                by_first.setdefault(names[pair.a], []).append(names[pair.b])
        if by_first:
            found.append((stands, sum(map(len, by_first.values())), list(by_first.items())))
    return found


def measured(whole: Overview) -> dict[str, Any]:
    """The noisy marginals, and the structure of the model that was made of them."""
    release = whole.release
    owners = [party["name"] for party in release.privacy["parties"]]
    names = release.schema.derived.names
    return {
        "phases": _by_phase(whole.tables, whole.half_widths),
        "number": len(whole.tables),
        "tables": [
            (" × ".join(names[a] for a in table.attributes) or "all rows", phase, table, width)
            for (phase, table), width in islice(zip(whole.tables, whole.half_widths, strict=True), MOST_MARGINALS)
        ],
        "how_fitted": how_fitted(release.marginals["inference"]),
        "pictures": [(structure, draw(structure)) for structure in structures(release.model, owners)],
    }


def guarantee(whole: Overview) -> dict[str, Any]:
    """Five sentences, what is not protected, and the table for experts."""
    release, privacy = whole.release, whole.release.privacy
    epsilon, delta = whole_loss(privacy)
    return {
        "sentences": plain_words.five_sentences(release),
        "in_plain_words": plain_words.epsilon_and_delta(release),
        "guess": plain_words.guess(release),
        "by_epsilon": plain_words.guess_by_epsilon(epsilon, delta),
        "examples": [
            (text, plain_words.guess_by_epsilon(Fraction(text), Fraction(0))) for text in ("0.1", "1", "3", "5")
        ],
        "rests_on": plain_words.what_it_rests_on(privacy),
        "not_protected": NOT_PROTECTED,
        "epsilon": epsilon,
        "delta": delta,
        "row": largest(privacy, "row"),
        "privacy": privacy,
        "observers": _observers(privacy["observers"]),
    }


def _observers(observers: Iterable[Mapping[str, Any]]) -> list[tuple[list[str], Mapping[str, Any]]]:
    """Observers against whom the same holds for the same reason, together."""
    found: dict[tuple[str, ...], tuple[list[str], Mapping[str, Any]]] = {}
    for observer in observers:
        same = tuple(str(observer[key]) for key in ("epsilon", "delta", "guarantee", "assumption"))
        found.setdefault(same, ([], observer))[0].append(observer["observer"])
    return list(found.values())


def budget(release: Release) -> dict[str, Any]:
    """What each party was charged for each phase, and what the phases asked for."""
    privacy = release.privacy
    in_rho = "rho_per_row" in privacy["parties"][0]
    return {"privacy": privacy, "in_rho": in_rho, "delta": largest(privacy, "row")[1]}


def publication(release: Release) -> dict[str, Any]:
    """The parties, and the files."""
    person, row = largest(release.privacy, "person"), largest(release.privacy, "row")
    parties = release.privacy["parties"]
    there = {SCORES: release.scores, ANALYSES: release.analyses, ATTESTATIONS: parties[1:] or None}
    left_out = {name for name, found in there.items() if found is None}
    left_out |= {*RELEASE_FILES} - {*files_wanted(release.run)}
    files = [(file, meaning) for file, meaning in MEANINGS.items() if file not in left_out]
    origin = [
        *([("Table", release.schema.name)] if release.schema.name else []),
        *((key.capitalize(), text) for key, text in release.schema.carried if key in SAID_OF_ORIGIN),
        ("Run", release.run["run"]),
        ("Algorithm", release.run["algorithm"]),
    ]
    return {"parties": parties, "of_row": person != row, "files": files, "origin": origin}


def cost(release: Release) -> dict[str, Any]:
    """Bytes by phase and party."""
    owners = [party["name"] for party in release.privacy["parties"]]
    network = release.run["bytes"]
    return {"network": network, "phases": _phases(release.run), "parties": _bytes_by_party(release.run, owners)}


def repeat(release: Release) -> dict[str, Any]:
    """How to ask for the same run."""
    request = run_request(release)
    document = None if request is None else json.dumps(request, indent=2, ensure_ascii=False)
    return {"command": command(release), "request": document, "run": release.run}


def _by_phase(tables: Sequence[tuple[str, Any]], widths: Sequence[int]) -> list[dict[str, Any]]:
    """How many marginals each phase measured, of how many cells, and their error bars, least to greatest."""
    found: dict[str, dict[str, Any]] = {}
    for (phase, table), width in zip(tables, widths, strict=True):
        entry = found.setdefault(phase, {"phase": phase, "tables": 0, "cells": 0, "least": width, "greatest": width})
        entry["tables"] += 1
        entry["cells"] += int(table.counts.size)
        entry["least"], entry["greatest"] = min(entry["least"], width), max(entry["greatest"], width)
    return list(found.values())


def _source(measured: Measured, release: Release) -> str:
    """Which tables a distribution was estimated from."""
    margin = measured.margin
    if margin is None:
        return "No noisy marginal of its categories was revealed: the synthetic rows only."
    entries, named = release.marginals["tables"], "one noisy marginal"
    if len(margin.tables) == 1:
        entry = entries[margin.tables[0]]
        named += f", {' x '.join(entry['attributes'])} ({entry['phase']})"
    else:
        named = f"{number_texts.count(len(margin.tables))} noisy marginals together"
    text = f"Estimated from {named}. Error bar: ± {number_texts.count(margin.half_width)} rows"
    text += f" of {number_texts.count(margin.rows)}."
    if measured.absent is not None:
        text += (
            f" {number_texts.counted(measured.absent, 'place')} of {number_texts.count(margin.rows)} are absent"
            f" rows, as estimated; shares are of the {number_texts.count(measured.rows)} others."
        )
    return text


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
