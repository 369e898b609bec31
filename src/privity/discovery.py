"""Domains that nobody declared, from Python: those of numbers, and with a delta categories of texts."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Self

from privity.common.data import schema as read
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.category_budget import CategoryBudget, category_budget
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.learning.category_discovery import discover_categories, open_texts
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.given import Schema, Table, can_be_recoded, coded_by, given_schema
from privity.local_learner import OWNER, LocalLearner
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session, new_run
from privity.party.sources.rows import only_codes


class Discover(LocalLearner):
    """Domains that nobody declared: ``discovered`` has them.

    Texts have categories if a delta is granted: those that many rows have; all others go to one category. They cost a
    share of epsilon and half of delta. Of texts alone there is no model.
    """

    algorithm = "discover"
    _found: tuple[read.Schema, ApproxDP, ApproxDP] | None = None

    def fit(
        self,
        table: Table,
        schema: Schema | None = None,
        *,
        person: str | None = None,
        order: str | None = None,
        numbers: bool = True,
    ) -> Self:
        """Discover the domains; charged to the ledger even if it does not finish.

        Args:
            table, schema, person, order: as of every fit.
            numbers: whether their domains are discovered, too, if categories are; otherwise they stay open.

        Raises:
            ProblemsFound, PrivityError: as of every fit; bad-option: texts below the noise, or no delta.
        """
        declared = given_schema(schema)
        declared.require_reviewed(schema if isinstance(schema, Path | str) else None)
        if not numbers and not open_texts(declared):
            reason, hint = "the categories of all texts are declared", "Leave it out to discover numbers."
            raise PrivityError(Catalogue.BAD_OPTION, option="categories-only", reason=reason, hint=hint)
        if numbers and (undiscovered(declared) or not open_texts(declared)):
            super().fit(table, declared, person=person, order=order)
            self._found = self.fitted.model.schema, self.fitted.charged, self.fitted.spent
            return self
        if not can_be_recoded(table):
            only_codes(open_texts(declared)[0].name)
        coded, run = coded_by(table, person, order), new_run()
        with closing(open_ledger(self.population, self.ledger)) as ledger:
            rows_per_person = ledger.population.rows_per_person
            rows = coded(declared, rows_per_person)
            first = self.for_texts(declared, rows.rows, numbers=False)
            assert first is not None
            mechanism = first.mechanism
            most = mechanism.loss(RELATION).scaled(rows_per_person)
            with ledger.reserving(run, most, OWNER):
                allowance = Allowance(most.epsilon, most.delta, RhoBudget(self.epsilon, self.delta))
                session = local_session(run, ChargedReleases(OWNER, rows, Journal(MEMORY), ledger), allowance)
                found = discover_categories(session, mechanism)
            spent = ApproxDP(ledger.spent(), ledger.spent_delta(), RELATION)
            self._found = found, ApproxDP(ledger.spent(run), ledger.spent_delta(run), RELATION), spent
        return self

    def _budget_for_texts(self, texts: int, numbers: int, _rows: int) -> CategoryBudget:
        """In proportion to how many there are of each: there is no table to make."""
        return category_budget(texts, self.epsilon, self.delta, Fraction(texts, texts + numbers))

    @property
    def discovered(self) -> read.Schema:
        """The schema with the domains; NotFittedError before ``fit``."""
        return self.fitted.model.schema if self._found is None else self._found[0]

    @property
    def charged_(self) -> ApproxDP:
        return self.fitted.charged if self._found is None else self._found[1]

    @property
    def spent_(self) -> ApproxDP:
        return self.fitted.spent if self._found is None else self._found[2]
