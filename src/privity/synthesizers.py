"""One class an algorithm: ``fit`` a model to one's own rows, ``sample`` synthetic ones (``local_learner.py``)."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, Self

from privity import given
from privity.common.public_names import public
from privity.common.storage.safe_files import refuse_existing
from privity.common.synthesis.algorithm_settings import declared
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.discovery import Discover
from privity.given import Table
from privity.local_learner import LocalLearner
from privity.local_release import publish
from privity.releases import Release
from privity.saved_models import SavedModel
from privity.schemas import Schema


@public
class Synthesizer(LocalLearner):
    """Learns a model of one table under differential privacy: by the algorithm that public numbers recommend.

    It is the base of one class an algorithm, such as ``AIM``.

    Args:
        epsilon: what one fit costs for each row, such as ``1``, ``0.5``, ``"1/3"`` or a ``Fraction``; a float stands
            for its shortest decimal.
        delta: the same, for an algorithm that can spend some, such as ``1e-9``; 0 is pure differential privacy.
        population: the people in these rows, as ``declare_population`` named them. Their total is for a
            person, all of whose rows may be replaced. A person has exactly their rows a person in a table, absent ones
            included.
        ledger: the population's ledger; by default the one in the user's state folder.
        settings: the algorithm's own, as its class lists them.

    Attributes:
        algorithm_: name of the algorithm that learnt it.
        model_: the learnt model.
        schema_: the schema that it is learnt by, with the domains that were discovered.
        charged_: what the fit cost a person, as (epsilon, delta); exact.
        spent_: what all releases about these people have cost one of them so far.
        population_: as it was declared.
        record_: what the fit has revealed and charged.

    Raises:
        PrivityError, ProblemsFound: an epsilon that is not possible, or unknown settings.
        NotFittedError: what ends in ``_``, and ``sample``, before ``fit``.
    """

    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """Show the algorithm's settings where Python shows keyword arguments."""
        kind = ALGORITHMS[cls.algorithm].settings
        told, hints = declared(kind), {each.name: _written(str(each.type)) for each in fields(kind)}
        _, *shared, _ = inspect.signature(Synthesizer.__init__).parameters.values()
        own = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[name])
            for name, each in told.items()
        ]
        cls.__signature__ = inspect.Signature([*shared, *own])
        listed = "".join(f"\n    {name}: {each.told}" for name, each in told.items())
        cls.__doc__ = f"{cls.__doc__}\n\nSettings, besides the arguments of every Synthesizer:{listed or ' none.'}"

    def fit(
        self,
        table: Table,
        schema: given.Schema | None = None,
        *,
        person: str | None = None,
        order: str | None = None,
        out: Path | str | None = None,
    ) -> Self:
        """Learn the model; charged to the ledger even if it does not finish.

        If the schema leaves domains to be discovered, that comes first, and is part of what the fit costs: a tenth of
        epsilon and half of delta for categories of texts, up to a quarter of what is left for numbers.

        Before the charge, ``warnings`` has a sentence for each rule that hardly any synthetic row would meet.

        Args:
            table: values as in the schema. A pandas, polars or Arrow table, a relation of DuckDB, or the path or
                address of a table (docs/sources.md).
            schema: the table's declared domains: a Schema, a Table Schema, or the path of one.
            person, order: columns with the key of a person and the number of a row among theirs. They are needed where
                the population was declared with several rows a person, or the schema has absent rows: each person then
                has exactly so many places. Without them each row is a person.
            out: a folder to make of the release, as ``release`` does; what was learnt is written before rows are drawn.

        Raises:
            ProblemsFound: rows that do not fit the schema (the message shows values and is for the owner only).
            PrivityError: population-undeclared, budget-exhausted or ledger-unusable; bad-option: nothing says whose a
                row is, or a domain would not be discovered; rehearsal-failed: rows cannot be drawn under the rules of
                the schema, as invented ones tell; release-unfinished.
        """
        if out is not None:
            refuse_existing(Path(out), "out")
        given.warn_of_unkept_rules(given.given_schema(schema))
        if out is None:
            return super().fit(table, schema, person=person, order=order)
        fitted = self.learn(table, schema, person=person, order=order, out=Path(out))
        publish(lambda: fitted.learnt, Path(out))
        return self

    def release(self, folder: Path | str, rows: int | None = None) -> Release:
        """Publish the last fit as a folder, at no further charge.

        Args:
            folder: to make: synthetic rows, report, privacy statement, noisy marginals, model, schema.
            rows: of the synthetic table; by default as many as are taken to be in the real one.

        Raises:
            NotFittedError: before ``fit``.
            PrivityError: bad-option: there is something already; release-unfinished: the folder has what was learnt,
                and no rows.
        """
        return SavedModel(self.fitted.model, self.fitted.learnt).release(folder, rows)

    @property
    def schema_(self) -> Schema:
        return Schema(self.fitted.model.schema)


def _written(kind: str) -> str:
    """What a person writes for a setting of this type."""
    return kind.replace("Fraction", "Number").replace("tuple[Formula, ...]", "Sequence[str]")


CLASSES: dict[str, type[Synthesizer]] = {
    (name := type(kind).__name__): type(
        name, (Synthesizer,), {"__module__": "privity", "__doc__": kind.title, "algorithm": kind.name}
    )
    for kind in ALGORITHMS.values()
    if not kind.discovers
}
"""One for each algorithm that learns, under the name and with the first line of the algorithm's own class."""

SYNTHESIZERS: dict[str, type[LocalLearner]] = {
    **{each.algorithm: each for each in CLASSES.values()},
    Discover.algorithm: Discover,
}
"""What fits one's own rows, by the name of its algorithm."""
