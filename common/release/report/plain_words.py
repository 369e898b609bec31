"""What a release is, and what its guarantee is, in sentences for readers who know no differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privity.common.privacy.statement import Split, largest
from privity.common.release.release_contents import Release
from privity.common.release.report.number_texts import count, counted, loss
from privity.common.release.report.quality import Quality, Standing

NAMED = 3
"""Attributes that a sentence names; more are counted."""


def what_it_is(release: Release, synthetic_rows: int) -> str:
    """Who published what, and how it was made."""
    parties, simulation = release.privacy["parties"], release.privacy["simulation"]
    who = "One data owner" if len(parties) == 1 else f"{count(len(parties))} data owners together"
    if simulation:
        who = f"A simulation of {counted(len(parties), 'data owner')}"
    rows = counted(sum(party["rows"] for party in parties), "real row")
    together = ", so that none of them saw another one's rows" if len(parties) > 1 and not simulation else ""
    return (
        f"{who} published {counted(synthetic_rows, 'synthetic row')}; none is copied from a real one. They are drawn"
        f" from a statistical model, learned from counts over {rows} to which random noise was added{together}. The"
        f" noise limits what anybody can learn from one person's {_rows(release.privacy)}."
    )


def guarantee(privacy: Mapping[str, Any]) -> str:
    """Epsilon and delta of a person, and after them those of a single row if they are others."""
    person, row = largest(privacy, "person"), largest(privacy, "row")
    told = f"{_of(person)} for a person"
    if person != row:
        told += f"; {_of(row)} for a single row"
    return told + ("; for the split as given" if privacy["split"] == Split.GIVEN else "")


def _of(losses: tuple[Fraction, Fraction]) -> str:
    epsilon, delta = losses
    return f"epsilon {loss(epsilon)}" + (f", delta {loss(delta)}" if delta else "")


def guess(epsilon: Fraction, delta: Fraction) -> str:
    """How often of 100 times somebody guesses right at most which of two equally likely versions of a person was used.

    That is 100 (e^epsilon + delta) / (1 + e^epsilon), rounded up.
    """
    away = math.exp(-float(epsilon))
    right = (1 + float(delta) * away) / (1 + away)
    return f"{min(100.0, math.ceil(1000 * right + 1e-9) / 10):.1f}".removesuffix(".0")


def _rows(privacy: Mapping[str, Any]) -> str:
    one = privacy["rows_per_person"] == 1 and privacy["parties_per_person"] == 1
    return "row" if one else "rows"


def _places(privacy: Mapping[str, Any]) -> str:
    """Where a person may have rows, and how many."""
    m, s = privacy["rows_per_person"], privacy["parties_per_person"]
    each = "one row" if m == 1 else counted(m, "row")
    if len(privacy["parties"]) == 1:
        return each
    return f"{each}, at one party" if s == 1 else f"{each} at a party, and rows at {count(s)} parties"


def what_a_guess_is_worth(privacy: Mapping[str, Any]) -> str:
    """The guarantee as a bet."""
    right = guess(*largest(privacy, "person"))
    return (
        f"Somebody who must guess which of two versions of a person's {_rows(privacy)} was used is right in at most"
        f" {right} of 100 cases with this release in hand, and in 50 by tossing a coin."
    )


def may_it_be_published(release: Release) -> str:
    """What has to be decided before the folder is given to anybody."""
    privacy = release.privacy
    epsilon, delta = largest(privacy, "person")
    if delta * sum(party["rows"] for party in privacy["parties"]) >= 1:
        return "Better not: delta is too large for the number of rows, so that the guarantee means little."
    told = (
        f"Yes, if its owners accept {_of((epsilon, delta))} for a person, and no person has more than"
        f" {_places(privacy)}. The guarantee covers all files of this folder together, whatever readers know or do. The"
        " loss adds to that of other releases about the same people."
    )
    if privacy["simulation"]:
        told += " This was a simulation: one machine saw all rows, and nobody was protected from it."
    return told


def what_not_to_use_it_for(release: Release, quality: Quality) -> list[str]:
    """Uses that the figures of this release do not bear."""
    found = ["Learning about one person, or finding anybody: no row stands for a person."]
    if quality.group is not None:
        found.append(
            f"Groups of fewer than about {count(max(quality.group, 10))} rows: noise alone moves a count by up to"
            f" {count(quality.group)} rows in most cases, even in the marginals with the least noise."
        )
    if any(one.edges and one.histogram is None for one in release.schema.attributes):
        found.append("Anything finer than the bins of a number: within a bin, values are drawn at random.")
    names = [release.schema.names[place] for place in sorted(release.model.alone)]
    far, every = quality.attributes.of(Standing.FAR), len(names) == len(release.schema.names)
    if names:
        few = ", ".join(names) if len(names) <= NAMED else counted(len(names), "attribute")
        depend = "it depends" if len(names) == 1 else "they depend"
        found.append(f"Dependences of {'all attributes' if every else few}: in the synthetic rows {depend} on nothing.")
    unknown, changed = quality.pairs.of(Standing.UNMEASURED), quality.pairs.of(Standing.DIFFERENT)
    if unknown and not every:
        found.append(
            f"Dependences of {counted(unknown, 'pair')} of attributes that were not measured together: the rows show"
            " what the model assumes."
        )
    if changed:
        found.append(f"Dependences of {counted(changed, 'pair')} that changed by more than 0.1 in Cramer's V.")
    if far:
        found.append(f"Shares of {counted(far, 'attribute')} that may be more than 5 percentage points off.")
    found.append(
        "Standard errors and tests as if the rows were real: they leave out the noise. What data owners confirm on real"
        " rows and publish is a release of its own."
    )
    return found


def five_sentences(privacy: Mapping[str, Any]) -> list[str]:
    """The guarantee: what it is, how much, against whom, of whom, and what it leaves out."""
    m, s, k, t = (privacy[key] for key in ("rows_per_person", "parties_per_person", "K", "t"))
    rows = _rows(privacy)
    used = "that person's row was used as it is or replaced by another" if rows == "row" else (
        "all of that person's rows were used as they are or replaced by others"
    )  # fmt: skip
    whom = (
        "It holds against everybody who reads the release, now and later, with any computer; the data owner, who has"
        " the rows, is trusted with them."
    )
    if len(privacy["observers"]) > 1:
        member = privacy["curator_member"]
        runs = f" and run here by party {member}" if member else ""
        whom = (
            f"It holds against the public, the curator (the hub between the owners, not trusted with rows{runs}), each"
            f" of the {k} parties, and up to {t} of them together; against curator and parties it rests on cryptography"
            " and on everybody following the protocol."
        )
    who = "A person is taken to have one row, at one party; somebody with more rows is protected less."
    if rows == "rows":
        where = f" and rows at up to {s} of the parties" if s > 1 else ""
        who = f"A person is taken to have up to {counted(m, 'row')} at a party{where}."
    return [
        f"Whoever reads this release, whatever else they know, learns almost the same about a person whether {used}.",
        f"How much “almost” is, epsilon says: {guarantee(privacy)}. {what_a_guess_is_worth(privacy)}",
        whom,
        who,
        "Not protected are the number of rows of each party, what is true of people in general, and what other releases"
        " about the same people tell: their losses add up.",
    ]
