"""``Ledger``: what has been spent on a population, and what is left, as objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pandas as pd

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy import ledger
from privity.common.privacy.budget import Number, readable
from privity.common.privacy.exact_numbers import ExactNumber
from privity.common.privacy.ledger_folder import declare, open_ledger
from privity.common.privacy.ledger_reader import LedgerReader
from privity.common.privacy.population import Population, parse_population
from privity.common.public_names import public
from privity.summaries import Shown, Summary


@public
def declare_population(
    name: str,
    *,
    total_epsilon: Number,
    total_delta: Number = 0,
    rows_per_person: int = 1,
    ledger: Path | str | None = None,
) -> Ledger:
    """Declare once the people whose rows will be used: what all releases together may ever cost one of them.

    Declaring the same again changes nothing; ``privity population change`` declares another total.

    Args:
        total_epsilon, total_delta: exact, such as ``4`` and ``1e-6``; a float stands for its shortest decimal.
        rows_per_person: most rows that one person has in any table.
        ledger: the ledger's file; by default one in the user's state folder.

    Raises:
        PrivityError: bad-option: they are declared with other figures, or have a ledger elsewhere; ledger-unusable.
    """
    declare(parse_population(name, total_epsilon, total_delta, rows_per_person), ledger).close()
    return Ledger(name, ledger)


@public
class Ledger(Shown):
    """The ledger of a population that was declared (``declare_population``).

    Each figure is read from its file when it is asked for, so it counts what other programs have charged. Several
    threads and processes may use one object, and it may be pickled: it is a name and a place.

    Args:
        population: what the people are called.
        file: the ledger's file; by default the one in the user's state folder.

    Raises:
        PrivityError: population-undeclared; ledger-unusable.
    """

    def __init__(self, population: str, file: Path | str | None = None) -> None:
        if not isinstance(population, str):
            reason, hint = f"a {type(population).__name__} is no name", "Give the name of the people, a text."
            raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
        self.population, self.file = population, None if file is None else Path(file).absolute()
        with self._opened():
            pass

    @contextmanager
    def _opened(self) -> Iterator[ledger.Ledger]:
        with closing(open_ledger(self.population, self.file)) as book:
            yield book

    @property
    def declared(self) -> Population:
        """The population as it is declared now."""
        with self._opened() as book:
            return book.population

    @property
    def total_epsilon(self) -> ExactNumber:
        """What all releases together may cost one person."""
        return ExactNumber(self.declared.total_epsilon)

    @property
    def total_delta(self) -> ExactNumber:
        """The same for delta."""
        return ExactNumber(self.declared.total_delta)

    @property
    def rows_per_person(self) -> int:
        """Most rows that one person has in any table."""
        return self.declared.rows_per_person

    @property
    def spent(self) -> ExactNumber:
        """Epsilon that a person has been charged so far."""
        with self._opened() as book:
            return ExactNumber(book.spent())

    @property
    def spent_delta(self) -> ExactNumber:
        """The same for delta."""
        with self._opened() as book:
            return ExactNumber(book.spent_delta())

    @property
    def reserved(self) -> ExactNumber:
        """Epsilon that runs which have begun hold back besides what they were charged."""
        with self._opened() as book:
            return ExactNumber(book.held()[0])

    @property
    def left(self) -> ExactNumber:
        """Epsilon that a new run may ask for; below 0 if the total was lowered since."""
        with self._opened() as book:
            return ExactNumber(book.left()[0])

    @property
    def left_delta(self) -> ExactNumber:
        """The same for delta."""
        with self._opened() as book:
            return ExactNumber(book.left()[1])

    @property
    def lines(self) -> pd.DataFrame:
        """Every line, oldest first: when, of which node and run, what it was, and what it added, as floats.

        ``rho`` is that of a step in rho, for one row. ``answered`` is whether a charge was followed by its answer.
        """
        with self._opened() as book:
            entries = list(LedgerReader(book).entries())
        lines = [
            {
                "time": entry.at,
                "node": entry.node,
                "run": entry.charge.run,
                "step": entry.in_words,
                "epsilon": float(entry.added[0]),
                "delta": float(entry.added[1]),
                "rho": None if entry.rho is None else float(entry.rho),
                "answered": entry.answered,
            }
            for entry in entries
        ]
        found = pd.DataFrame(lines)
        return found.assign(
            time=pd.to_datetime(found["time"], utc=True),
            rho=found["rho"].astype("float64"),
            answered=found["answered"].astype("boolean"),
        )

    def _summary(self) -> Summary:
        with self._opened() as book:
            people, runs, spent = book.population, LedgerReader(book).by_run(), (book.spent(), book.spent_delta())
            left, reserved = book.left(), book.reserved()
        totals = people.total_epsilon, people.total_delta
        facts = [
            (word, f"{readable(used)} spent, {readable(rest)} left of {readable(total)}")
            for word, used, rest, total in zip(("epsilon", "delta"), spent, left, totals, strict=True)
        ]
        facts += [("reserved", one.in_words) for one in reserved]
        facts.append(("rows a person", str(people.rows_per_person)))
        lines = [{"run": one.run, "epsilon": readable(one.epsilon), "delta": readable(one.delta)} for one in runs]
        return Summary(f"Ledger of {self.population!r}", tuple(facts), table=pd.DataFrame(lines) if lines else None)
