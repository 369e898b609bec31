"""What a release is, and what its guarantee is, in sentences for readers who know no differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.consortium.manifest import Split
from privity.common.privacy.guessing import divergence_of_a_person, right_at_most
from privity.common.release.release_contents import Release
from privity.common.release.report.number_texts import count, counted, loss, rough
from privity.common.release.report.quality import Quality, Standing
from privity.common.release.statement import largest, of_the_schema, whole_loss
from privity.common.text.first_few import first_few

NAMED = 3
"""Attributes that a sentence names; more are counted."""

SAID_TIMES = 10
"""Largest epsilon of which e^epsilon is said."""


@dataclass(frozen=True)
class Verdict:
    """Whether a release may be published: in a word, on which conditions, and what else to know."""

    word: str
    conditions: tuple[str, ...]
    more: str


def what_it_is(release: Release, synthetic_rows: int) -> str:
    """Who published what, and how it was made."""
    parties, simulation = release.privacy["parties"], release.privacy["simulation"]
    who = "One data owner" if len(parties) == 1 else f"{count(len(parties))} data owners together"
    if simulation:
        who = f"A simulation of {counted(len(parties), 'data owner')}"
    real, made = "real row", counted(synthetic_rows, "synthetic row")
    if "histories" in release.privacy["schema"]:
        real, made = "real person", f"{counted(synthetic_rows, 'synthetic person')} with their events"
    rows = counted(sum(party["rows"] for party in parties), real)
    together = ", so that none of them saw another one's rows" if len(parties) > 1 and not simulation else ""
    return (
        f"{who} published {made}; none is copied from a real one. They are drawn"
        f" from a statistical model, learned from counts over {rows} to which random noise was added{together}. The"
        f" noise limits what anybody can learn from one person's {_rows(release.privacy)}."
    )


def guarantee(privacy: Mapping[str, Any]) -> str:
    """Epsilon and delta of a person, and after them those of a single row if they are others."""
    person, row = largest(privacy, "person"), largest(privacy, "row")
    told = f"{_of(whole_loss(privacy))} for a person"
    told += f", of which {part}" if (part := of_the_schema(privacy)) else ""
    if person != row:
        told += f"; {_of(row)} for a single row" + (" by the run alone" if part else "")
    return told + ("; for the split as given" if privacy["split"] == Split.GIVEN else "")


def _of(losses: tuple[Fraction, Fraction]) -> str:
    epsilon, delta = losses
    return f"epsilon {rough(epsilon)}" + (f", delta {rough(delta)}" if delta else "")


def guess(release: Release) -> str:
    """How often of 100 times somebody guesses right at most which of two equally likely versions of a person was used.

    ``privity.common.privacy.guessing`` has the bound.
    """
    divergence = divergence_of_a_person(release.privacy, release.run)
    return _in_hundred(right_at_most(*whole_loss(release.privacy), divergence))


def guess_by_epsilon(epsilon: Fraction, delta: Fraction) -> str:
    """The same if epsilon and delta are all that is known."""
    return _in_hundred(right_at_most(epsilon, delta))


def _in_hundred(right: Fraction) -> str:
    return f"{float(100 * right):.1f}".removesuffix(".0")


def _rows(privacy: Mapping[str, Any]) -> str:
    if "histories" in privacy["schema"]:
        return "data"
    one = privacy["rows_per_person"] == 1 and privacy["parties_per_person"] == 1
    return "row" if one else "rows"


def _places(privacy: Mapping[str, Any]) -> str:
    """Where a person may have rows, and how many."""
    m, s = privacy["rows_per_person"], privacy["parties_per_person"]
    each = "one row" if m == 1 else counted(m, "row")
    if histories := privacy["schema"].get("histories"):
        each = f"one row in the table of {histories[0]}"
    if len(privacy["parties"]) == 1:
        return each
    return f"{each}, at one party" if s == 1 else f"{each} at a party, and rows at {count(s)} parties"


def what_a_guess_is_worth(release: Release) -> str:
    """The guarantee as a bet."""
    return (
        f"Somebody who must guess which of two versions of a person's {_rows(release.privacy)} was used is right in at"
        f" most {guess(release)} of 100 cases with this release in hand, and in 50 by tossing a coin."
    )


def epsilon_and_delta(release: Release) -> list[str]:
    """What the two figures of a person say, and why a run may be charged less than it asked for."""
    epsilon, delta = whole_loss(release.privacy)
    times = f": at most {_rounded_up_times(epsilon)} times" if epsilon <= SAID_TIMES else ""
    found = [
        f"Epsilon {rough(epsilon)} limits how much more likely any outcome becomes with one version of a person's"
        f" {_rows(release.privacy)} than with another{times}. The smaller it is, the better people are protected."
    ]
    if delta:
        found.append(
            f"Delta {rough(delta)} is a probability that may come on top of that: 1 in {count(math.floor(1 / delta))}."
            " It has to be far smaller than one over the number of rows."
        )
    asked, row = Fraction(release.run["epsilon"]), largest(release.privacy, "row")[0]
    if loss(row) != rough(asked):
        found.append(
            f"Figures are rounded up. The run was allowed epsilon {loss(asked)} for a single row, and {loss(row)} was"
            " charged: a run need not spend all, and makes its noise larger if it must round it, never smaller."
        )
    return found


def _rounded_up_times(epsilon: Fraction) -> str:
    return f"{math.ceil(100 * math.exp(float(epsilon)) + 1e-9) / 100:g}"


def may_it_be_published(release: Release) -> Verdict:
    """What has to be decided before the folder is given to anybody."""
    privacy = release.privacy
    epsilon, delta = whole_loss(privacy)
    if delta * sum(party["rows"] for party in privacy["parties"]) >= 1:
        return Verdict("Better not.", (), "Delta is too large for the number of rows: the guarantee means little.")
    accept = "its owner accepts" if len(privacy["parties"]) == 1 else "all its owners accept"
    more = (
        "All files of this folder may then go to anybody: the guarantee covers them together, whatever readers know or"
        " do. What the law asks is not judged here."
    )
    if privacy["simulation"]:
        more += " This was a simulation: one machine saw all rows, and nobody was protected from it."
    conditions = [
        f"{accept} {_of((epsilon, delta))} for a person, on top of other releases about the same people",
        f"no person has more than {_places(privacy)}",
        *(
            f"what the schema declares of {first_few(each['attributes'])} is public, as the {each['declared_by']}"
            " declared: it was read off the rows"
            for each in privacy["schema"]["read_off_rows"]
        ),
        *(["the types of the columns are public, as the data owner declared"] * privacy["schema"]["stored_types"]),
    ]
    told = (*(f"{each};" for each in conditions[:-1]), f"{conditions[-1]}.")
    return Verdict(f"Yes, on {'two' if len(conditions) == 2 else count(len(conditions))} conditions:", told, more)


def what_not_to_use_it_for(release: Release, quality: Quality) -> list[str]:
    """Uses that the figures of this release do not bear."""
    found = ["Learning about one person, or finding anybody: no row stands for a person."]
    if quality.group is not None:
        found.append(
            f"Groups of fewer than about {count(max(quality.group, 10))} rows: noise alone moves a count by up to"
            f" {count(quality.group)} rows in most cases, and by more in marginals with more noise."
        )
    if any(one.edges and one.histogram is None for one in release.schema.attributes):
        found.append("Anything finer than the bins of a number: within a bin, values are drawn at random.")
    kept = ", except where a declared rule forbids it" if release.run.get("constraints") else ""
    found.append(
        f"Showing that a case exists: a synthetic row may combine values that no real row can have together{kept}."
    )
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
    hidden = quality.pairs.of(Standing.HIDDEN)
    if hidden and not every:
        found.append(f"Dependences of {counted(hidden, 'pair')} that were measured too noisily to tell.")
    if changed:
        found.append(f"Dependences of {counted(changed, 'pair')} that changed by more than 0.1 in Cramer's V.")
    if far:
        found.append(f"Shares of {counted(far, 'attribute')} that may be more than 5 percentage points off.")
    found.append(
        "Standard errors and tests as if the rows were real: they leave out the noise. Intervals that hold the truth:"
        " privity query. If owners check a result on the real rows and publish it, that costs privacy again."
    )
    return found


def five_sentences(release: Release) -> list[str]:
    """The guarantee: what it is, how much, against whom, of whom, and what it leaves out."""
    privacy = release.privacy
    m, s, k, t = (privacy[key] for key in ("rows_per_person", "parties_per_person", "K", "t"))
    rows = _rows(privacy)
    used = "that person's row was used as it is or replaced by another" if rows == "row" else (
        f"all of that person's {rows} were used as they are or replaced by others"
    )  # fmt: skip
    whom = (
        "It holds against everybody who reads the release, now and later, with any computer; the data owner, who has"
        " the rows, is trusted with them."
    )
    if len(privacy["observers"]) > 1:
        member = privacy["curator_member"]
        runs = f" and run here by party {member}" if member else ""
        together = f", and up to {t} of them together" if t > 1 else ""
        whom = (
            f"It holds against the public, the curator (the hub between the owners, not trusted with rows{runs}), and"
            f" each of the {k} parties{together}; against curator and parties it rests on cryptography and on everybody"
            " following the protocol."
        )
    who = "A person is taken to have one row, at one party; somebody with more rows is protected less."
    if rows == "rows":
        where = f" and rows at up to {s} of the parties" if s > 1 else ""
        hidden = "protected too" if release.schema.absent_rows else "not protected"
        who = f"A person is taken to have up to {counted(m, 'row')} at a party{where}; how many it has is {hidden}."
    public = "rows"
    if rows == "data":
        one, other = privacy["schema"]["histories"]
        who = f"These are all data of a person in both tables, {one} and {other}; how many events there are is hidden."
        public = "persons"
    return [
        f"Whoever reads this release, whatever else they know, learns almost the same about a person whether {used}.",
        f"How much “almost” is, epsilon says: {guarantee(privacy)}. {what_a_guess_is_worth(release)}",
        whom,
        who,
        f"Not protected are the number of {public} of each party, what is true of people in general, and what other"
        " releases about the same people tell: their losses add up.",
    ]


def what_it_rests_on(privacy: Mapping[str, Any]) -> list[str]:
    """What has to be true for the guarantee to hold, and no file of the release can show."""
    several = len(privacy["parties"]) > 1
    return [
        f"{'Each owner' if several else 'The owner'} used real rows, and no person has more than {_places(privacy)}.",
        f"{'Owners and curator' if several else 'The owner'} ran the software unchanged, and it draws the noise as it"
        " says.",
        "Attributes, categories, bins and rules were fixed without looking at the rows, or found at a cost in epsilon.",
        "Every other release about the same people is charged to the same ledger.",
    ]
