"""``Ledger``: what has been spent on a population, and what is left, as objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy import ledger
from privity.common.privacy.budget import Number, parse_delta, parse_epsilon, readable
from privity.common.privacy.exact_numbers import ExactNumber
from privity.common.privacy.ledger_folder import declare, declared, open_ledger
from privity.common.privacy.ledger_reader import LedgerReader
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population, parse_population
from privity.common.privacy.population_change import change_population, changed, return_reserved
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.public_names import public
from privity.summaries import Shown, Summary

if TYPE_CHECKING:
    import pandas as pd


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

    Declaring the same again changes nothing; ``Ledger.change`` declares another total.

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

    @classmethod
    def populations(cls) -> pd.DataFrame:
        """Every population that this account has declared or used, a line each; figures as floats.

        ``note`` says why a ledger cannot be read.
        """
        import pandas as pd

        lines = []
        for name, file in declared().items():
            line: dict[str, object] = {"population": name, "file": str(file), "note": ""}
            try:
                with closing(open_ledger(name, file)) as book:
                    people, held = book.population, book.held()
                    line |= {"spent": float(book.spent()), "reserved": float(held[0])}
                    line |= {"total_epsilon": float(people.total_epsilon), "spent_delta": float(book.spent_delta())}
                    line |= {"total_delta": float(people.total_delta), "rows_per_person": people.rows_per_person}
            except PrivityError as error:
                line["note"] = error.message
            lines.append(line)
        figures = ("spent", "reserved", "total_epsilon", "spent_delta", "total_delta", "rows_per_person")
        return pd.DataFrame(lines, columns=["population", *figures, "file", "note"])

    def change(
        self,
        *,
        total_epsilon: Number | None = None,
        total_delta: Number | None = None,
        rows_per_person: int | None = None,
        raise_total: bool = False,
    ) -> Self:
        """Declare another total, or more rows a person; the ledger records it.

        A lower total holds at once. More rows a person price everything that was charged before anew.

        Args:
            total_epsilon, total_delta, rows_per_person: what is left out stays.
            raise_total: needed to make a total larger.

        Raises:
            PrivityError: bad-option: a larger total without ``raise_total``, fewer rows a person, or it was changed
                meanwhile.
        """
        with self._opened() as book:
            now = book.population
            wanted = changed(now, total_epsilon, total_delta, rows_per_person)
            change_population(book, wanted, now, raise_total=raise_total)
        return self

    def merge(self, other: Path | str) -> Self:
        """Merge another ledger of the same people into this one, and close it.

        Raises:
            PrivityError: ledger-unusable: it is of other people, or cannot be read.
        """
        with self._opened() as book:
            book.merge(Path(other))
        return self

    def give_back(self, run: str) -> Self:
        """Return what is reserved for a run that will not go on; nothing that was spent comes back.

        Raises:
            PrivityError: bad-option: it has reserved nothing.
        """
        with self._opened() as book:
            return_reserved(book, run)
        return self

    def adjust(self, *, spent_epsilon: Number, spent_delta: Number | None = None) -> Self:
        """Say what was spent, after a restore from a backup: the ledger charges what it lacks, and is used again.

        Args:
            spent_delta: by default what the ledger has.

        Raises:
            PrivityError: bad-option: less than the ledger has.
        """
        with self._opened() as book:
            delta = book.spent_delta() if spent_delta is None else parse_delta(spent_delta, "spent_delta")
            book.adjust(ApproxDP(parse_epsilon(spent_epsilon, "spent_epsilon"), delta, RELATION))
        return self

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
        import pandas as pd

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
        import pandas as pd

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
