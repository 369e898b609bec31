"""``privity show``: what the report says first, for those who have only a shell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer

from privity.common.data.attribute import Attribute
from privity.common.pages.drawing import shortened
from privity.common.release.release_contents import ANALYSES, EVENTS, SCORES, files_wanted
from privity.common.release.report import plain_words
from privity.common.release.report.distributions import Measured
from privity.common.release.report.number_texts import at_most, counted, percent, real, strength, with_error_bar
from privity.common.release.report.overview import Overview, overview_of
from privity.common.release.report.quality import Tally, standing
from privity.common.release.report.value_groups import groups
from privity.common.release.shortcomings import BEYOND_REMEDY, beyond_ranges
from privity.common.text import text_table
from privity.common.text.terminal import say
from privity.common.text.visible import in_line

WIDTH = 80
BLOCKS = "·▁▂▃▄▅▆▇█"
MOST_BLOCKS = 24
"""Of a histogram."""

NAME, PAIRED, VALUE = 16, 14, 17
"""Letters of an attribute's name, of one of two, and of a value."""

STRONGEST = 10
SIGNED = "Who signed it, and whether all agree: privity verify RELEASE --root organiser.pub"


def show_command(release: Annotated[Path, typer.Argument(help="folder of a release")]) -> None:
    """Show a release in the terminal: what it is, how good it is, its guarantee, every attribute, its files."""
    whole = overview_of(release)
    say(*_summary(whole))
    for analysis in (whole.release.analyses or {"analyses": ()})["analyses"]:
        _show_analysis(analysis)
    _show_attributes(whole)
    if whole.pairs:
        _show_pairs(whole)
    say(*_publication(whole))


def _summary(whole: Overview) -> list[str]:
    """What the first screen of the report says, and the guarantee."""
    release, found = whole.release, whole.quality
    verdict = plain_words.may_it_be_published(release)
    lines = [
        f"Synthetic table of {whole.name}" if whole.name else "Synthetic table",
        *_wrapped(plain_words.what_it_is(release, whole.table.rows), ""),
        *_part("How good is it?"),
        *_tally("attribute", found.attributes),
        *(_tally("pair", found.pairs) if found.pairs.total else ()),
    ]
    if found.checks:
        lines += _wrapped(f"The owners compared it with their real rows: {'; '.join(found.checks)}.")
    lines += [
        *_part("What not to use it for"),
        *_listed(plain_words.what_not_to_use_it_for(release, found)),
        *_part("How well are people protected?"),
        *_listed(plain_words.five_sentences(release)),
        *_part("May it be published?"),
        *_wrapped(verdict.word),
        *_listed(verdict.conditions),
        *_wrapped(verdict.more),
    ]
    if whole.warnings:
        lines += [*_part("Warnings"), *_listed(warned.title for warned in whole.warnings)]
    return lines


def _show_analysis(analysis: Mapping[str, Any]) -> None:
    """A declared regression: its terms with their intervals."""
    say(*_part(f"Declared analysis: {in_line(analysis['formula'])}"))
    if "refused" in analysis:
        say(*_wrapped(f"No estimate: {analysis['refused']}."))
        return
    numbers = ("estimate", "from", "to", "synthetic rows")
    shown = text_table.table("term", *numbers, numbers=numbers, box=None)
    for term in analysis["terms"]:
        figures = (term[key] for key in ("value", "low", "high", "synthetic"))
        text_table.add(shown, in_line(term["term"]), *map(real, figures))
    text_table.show(shown)
    say(*_listed(analysis["notes"]))


def _show_attributes(whole: Overview) -> None:
    say(*_part("Attributes of the synthetic rows, and by how much a share may be off"))
    shown = text_table.table("attribute", "shares", "most frequent", "off", numbers=("off",), box=None)
    for one in whole.distributions:
        most = max(one.whole.shares, key=lambda share: share.synthetic)
        off = "unknown" if one.whole.off is None else f"± {at_most(one.whole.off)} %"
        value = f"{shortened(in_line(most.label), VALUE)} {_plain(percent(most.synthetic, 1))}"
        text_table.add(
            shown, shortened(in_line(one.attribute.name), NAME), _blocks(one.attribute, one.whole), value, off
        )
    text_table.show(shown)
    if beyond := beyond_ranges(whole.release.schema.attributes):
        say(*_part("Estimated beyond the measured range"), *_listed(beyond), *_wrapped(BEYOND_REMEDY))


def _show_pairs(whole: Overview) -> None:
    say(*_part("Strongest pairs: Cramer's V, from 0 (independent) to 1"))
    headings = ("attributes", "measured", "synthetic", "")
    shown = text_table.table(*headings, numbers=headings[1:3], box=None)
    names = whole.release.schema.names
    for pair in whole.strongest(STRONGEST):
        of = pair.measured
        measured = "-" if of is None else with_error_bar(of.v, of.half_width) if of.told else "noise"
        both = " and ".join(shortened(in_line(names[one]), PAIRED) for one in (pair.a, pair.b))
        text_table.add(shown, both, measured, strength(pair.synthetic.v), standing(pair))
    text_table.show(shown)


def _publication(whole: Overview) -> list[str]:
    """Who published it, and its files."""
    release = whole.release
    found = {SCORES: release.scores, ANALYSES: release.analyses}
    events = [EVENTS] if release.schema.history is not None and not release.unfinished else []
    files = [*files_wanted(release.run), *events, *(name for name, content in found.items() if content is not None)]
    return [
        *_part("Published by"),
        *_listed(f"{party['name']}, {party['rows']:,} rows" for party in release.privacy["parties"]),
        *_wrapped(f"in run {release.run['run']}, by the algorithm {release.run['algorithm']}"),
        *(_wrapped(SIGNED) if len(release.privacy["parties"]) > 1 and not release.privacy["simulation"] else ()),
        *_part("Files"),
        *_wrapped(", ".join(files)),
    ]


def _part(title: str) -> list[str]:
    return ["", title]


def _wrapped(text: str, indent: str = "  ", first: str | None = None) -> list[str]:
    first = indent if first is None else first
    return wrap(in_line(_plain(text)), WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def _listed(sentences: Iterable[str]) -> list[str]:
    return [line for sentence in sentences for line in _wrapped(sentence, "    ", "  - ")]


def _tally(what: str, tally: Tally) -> list[str]:
    return _wrapped(f"{counted(tally.total, what)}: {tally.text('{:,}'.format)}")


def _blocks(attribute: Attribute, of: Measured) -> str:
    """Shares in the order of the values, as blocks; one that is there is never an empty one."""
    shares = [share.synthetic for share in of.shares]
    if len(shares) == attribute.present:
        shares = [sum(shares[code] for code in one.codes) for one in groups(attribute, MOST_BLOCKS, shares)]
    largest = max(*shares, 1e-9) if len(shares) > 1 else 1
    return "".join(BLOCKS[max(share > 0, round(8 * share / largest))] for share in shares[:MOST_BLOCKS])


def _plain(text: str) -> str:
    """Numbers as they stand in a terminal."""
    return text.replace("\u202f", ",").replace("\u00a0", " ")
