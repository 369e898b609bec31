"""What an owner changes of a population: its total, and what a run that is gone reserved: for commands and pages."""

from __future__ import annotations

from dataclasses import replace

from privity.common.errors import Catalogue, PrivityError, by_face
from privity.common.privacy.budget import Number, parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.population import Population


def change_population(book: Ledger, wanted: Population, now: Population, *, raise_total: bool) -> None:
    """Declare other terms, as a line of the ledger.

    Args:
        now: what the owner saw.
        raise_total: whether the owner has said that a total is to become larger.

    Raises:
        PrivityError: bad-option: that was not said; or as ``Ledger.change``.
    """
    larger = wanted.total_epsilon > now.total_epsilon or wanted.total_delta > now.total_delta
    if larger and not raise_total:
        reason = f"a larger total weakens what these people were promised: {in_words(now)}"
        hint = f"If that is intended, add {by_face('--raise', 'raise_total=True')}."
        raise PrivityError(Catalogue.BAD_OPTION, option=by_face("raise", "raise_total"), reason=reason, hint=hint)
    book.change(wanted, now)


def changed(
    now: Population, total_epsilon: Number | None, total_delta: Number | None, rows_per_person: int | None
) -> Population:
    """The terms with others in the place of those that are given."""
    return replace(
        now,
        total_epsilon=now.total_epsilon if total_epsilon is None else parse_epsilon(total_epsilon, "total_epsilon"),
        total_delta=now.total_delta if total_delta is None else parse_delta(total_delta, "total_delta"),
        rows_per_person=now.rows_per_person if rows_per_person is None else rows_per_person,
    )


def return_reserved(book: Ledger, run: str) -> None:
    """Return what a run has reserved, at whichever node.

    Raises:
        PrivityError: bad-option: it has reserved nothing.
    """
    found = [one for one in book.reserved() if one.run == run]
    for one in found:
        book.give_back(run, one.node)
    if not found:
        reason = f"{run!r} has reserved nothing of {book.population.name!r}"
        hint = f"See {by_face('privity population list', 'Ledger(NAME)')}."
        raise PrivityError(Catalogue.BAD_OPTION, option="run", reason=reason, hint=hint)


def in_words(population: Population) -> str:
    """Its terms in a sentence."""
    epsilon, delta = readable(population.total_epsilon), readable(population.total_delta)
    rows = "1 row" if population.rows_per_person == 1 else f"up to {population.rows_per_person} rows"
    return f"{population.name!r}: epsilon {epsilon} and delta {delta} in all; a person has {rows}."
