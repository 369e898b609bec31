"""Domains that nobody declared, from Python: those of numbers, and with a delta categories of texts."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from typing import Self

from privity.common.data import schema as read
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import LARGEST_DENOMINATOR, parse_epsilon
from privity.common.privacy.discovery import Discovery
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.mechanisms import ThresholdedCounts
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.run_budget import RhoBudget, RunBudget
from privity.common.runs.planned_run import planned_session
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.learning.domain_discovery import (
    GRIDS,
    LEAST_GROUPS,
    check_noise,
    open_texts,
    undiscovered,
    with_categories,
)
from privity.given import Schema, Table, can_be_recoded, coded_by, given_schema
from privity.local_learner import OWNER, LocalLearner, check_discovery, new_run
from privity.party.charged_releases import ChargedReleases
from privity.party.sources.rows import only_codes


class Discover(LocalLearner):
    """Domains that nobody declared: ``discovered`` has them.

    Texts have categories if a delta is granted: those that many rows have; all others go to one category. They are a
    release of their own, for a share of epsilon and half of delta; there is no model of them.
    """

    algorithm = "discover"
    _found: tuple[read.Schema, ApproxDP, ApproxDP] | None = None

    def fit(
        self,
        table: Table,
        schema: Schema,
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
        if not open_texts(declared):
            if not numbers:
                reason, hint = "the categories of all texts are declared", "Leave it out to discover numbers."
                raise PrivityError(Catalogue.BAD_OPTION, option="categories-only", reason=reason, hint=hint)
            super().fit(table, declared, person=person, order=order)
            self._found = self.fitted.model.schema, self.fitted.charged, self.fitted.spent
            return self
        if not can_be_recoded(table):
            only_codes(open_texts(declared)[0].name)
        coded = coded_by(table, person, order)
        names, run, run_of_rest = [attribute.name for attribute in open_texts(declared)], new_run(), new_run()
        with closing(open_ledger(self.population, self.ledger)) as ledger, ExitStack() as reserved:
            rows_per_person = ledger.population.rows_per_person
            rows = coded(declared, rows_per_person)
            mechanism, rest = self.for_texts(declared, rows.rows, numbers=numbers)
            if rest is not None:
                check_discovery(table, rest)
            most = mechanism.loss(RELATION).scaled(rows_per_person)
            if rest is not None:
                needed = rest.most_of_a_person(rows_per_person)
                ledger.check(most + needed, OWNER)
                # Both before either is spent.
                reserved.enter_context(ledger.reserving(run_of_rest, needed, OWNER))
            reserved.enter_context(ledger.reserving(run, ApproxDP(most.epsilon, most.delta, RELATION), OWNER))
            releases = ChargedReleases(OWNER, rows, Journal(MEMORY), ledger)
            found = releases.categories(run, names, mechanism, Allowance(most.epsilon, most.delta))
            spent = ApproxDP(ledger.spent(), ledger.spent_delta(), RELATION)
            charged = ApproxDP(ledger.spent(run), ledger.spent_delta(run), RELATION)
            by = Discovery(tuple(names), run, ledger.population.name, charged)
            self._found = declared.discovered(with_categories(declared, found), by), charged, spent
            if rest is not None:
                inner = Discover(rest.epsilon, delta=rest.delta, population=self.population, ledger=self.ledger)
                inner._run = run_of_rest
                inner.fit(table, self._found[0], person=person, order=order)
                self._found = inner.discovered, charged + inner.charged_, inner.spent_
                self._fitted = inner.fitted
        return self

    def for_texts(
        self, schema: read.Schema, rows: int, *, numbers: bool = True
    ) -> tuple[ThresholdedCounts, RunBudget | None]:
        """What discovers the categories of so many rows, and what is left for numbers, if any are open.

        Raises:
            PrivityError: bad-option: no delta, or less than the noise would leave to be seen.
        """
        texts, others = open_texts(schema), len(undiscovered(schema)) * numbers
        if not self.delta:
            reason = (
                f"the categories of {', '.join(a.name for a in texts)} are open, and to discover them takes a delta"
            )
            raise PrivityError(
                Catalogue.BAD_OPTION, option="delta", reason=reason, hint="Give one, or declare the categories."
            )
        part = self.epsilon * Fraction(others, len(texts) + others)
        # No more digits than an epsilon may have.
        left = Fraction(math.floor(part * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)
        mechanism = ThresholdedCounts(len(texts), self.epsilon - left, self.delta / (2 if others else 1))
        if mechanism.threshold >= rows:
            reason = f"a text would be seen from {mechanism.threshold} rows on, and there are {rows}"
            needed = float(self.epsilon) * mechanism.threshold * LEAST_GROUPS / rows
            hint = f"Use an epsilon of about {needed:.2g}, or declare the categories."
            raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)
        if not others:
            return mechanism, None
        budget = RhoBudget(parse_epsilon(left), self.delta / 2)
        check_noise(planned_session(schema, {OWNER: rows}, 0, budget), budget.whole * GRIDS, asked=self.epsilon)
        return mechanism, budget

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
