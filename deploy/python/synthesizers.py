"""The Python face of single-party mode: ``fit`` a model to one's own rows, ``sample`` synthetic ones.

Every fit is charged to a ledger before it looks at the rows, like a run over the network.
"""

from __future__ import annotations

import inspect
import json
import math
import secrets
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema, parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.formats import require
from privity.common.planned_run import planned_session
from privity.common.privacy.budget import LARGEST_DENOMINATOR, parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.ledger_folder import declare, open_ledger
from privity.common.privacy.mechanisms import ThresholdedCounts
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population, parse_population
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.run_budget import AdvancedBudget, RhoBudget, RunBudget
from privity.common.privacy.run_record import RunRecord
from privity.common.protocol.session import Session
from privity.common.release.synthetic_rows import synthesise
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.algorithm_settings import declared
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.algorithms.discover import DOMAINS
from privity.common.synthesis.learning.domain_discovery import (
    GRIDS,
    LEAST_GROUPS,
    SHARE,
    check_noise,
    discover,
    open_texts,
    stand_in,
    undiscovered,
    with_categories,
)
from privity.common.synthesis.models import Model
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import complete, local_session
from privity.party.rows import InMemory, Rows, Texts
from privity.party.sources.text_counts import texts_of_frame

OWNER = "owner"


def declare_population(
    name: str,
    *,
    total_epsilon: str,
    total_delta: str = "0",
    rows_per_person: int = 1,
    ledger: Path | str | None = None,
) -> Population:
    """Declare the people whose rows will be used, once: what all releases about them may cost one of them, ever.

    To say the same again changes nothing; ``privity population change`` declares another total.

    Args:
        total_epsilon, total_delta: exact text such as ``"4"`` and ``"0.000001"``.
        rows_per_person: most rows that one person has in any table.
        ledger: the ledger's file; by default one in the user's state folder.

    Raises:
        PrivityError: bad-option: they are declared otherwise, or have a ledger elsewhere; ledger-unusable.
    """
    declared = parse_population(name, total_epsilon, total_delta, rows_per_person)
    declare(declared, ledger).close()
    return declared


class Synthesizer:
    """Learns a model of one table under differential privacy; the base of one class an algorithm.

    Args:
        epsilon: what one fit costs for each row, exact text such as ``"1.0"`` or ``"1/3"``.
        delta: the same, for an algorithm that can spend some; ``"0"`` is pure differential privacy.
        population: the people whose rows these are, as ``declare_population`` named them. Their total is for a
            person, all of whose rows may be replaced. A table has at most their rows a person: exactly so many, absent
            ones included, where the schema has absent rows.
        ledger: the population's ledger; by default the one in the user's state folder.
        settings: the algorithm's own, as its class lists them; exact numbers as text, such as ``draws="1/10"``.

    Raises:
        PrivityError, ProblemsFound: an epsilon that cannot be, or settings that there are not.
    """

    algorithm: ClassVar[str]
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """Show the algorithm's settings where Python shows keyword arguments."""
        kind = ALGORITHMS[cls.algorithm].settings
        told, hints = declared(kind), {each.name: str(each.type).replace("Fraction", "str") for each in fields(kind)}
        _, *shared, _ = inspect.signature(Synthesizer.__init__).parameters.values()
        own = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[name])
            for name, each in told.items()
        ]
        cls.__signature__ = inspect.Signature([*shared, *own])
        listed = "".join(f"\n    {name}: {each.told}" for name, each in told.items())
        cls.__doc__ = f"{cls.__doc__}\n\nSettings, besides the arguments of every Synthesizer:{listed or ' none.'}"

    def __init__(
        self,
        epsilon: str,
        *,
        population: str,
        delta: str = "0",
        ledger: Path | str | None = None,
        **settings: Any,
    ) -> None:
        if unknown := ALGORITHMS[self.algorithm].unknown(settings):
            raise ProblemsFound(unknown)
        self.epsilon = parse_epsilon(epsilon)
        self.delta = parse_delta(delta)
        self.population = population
        self.settings = settings
        self._ledger = ledger
        self._model: Model | None = None
        self.session: Session | None = None
        self.spent: Fraction | None = None
        self.spent_delta = Fraction(0)
        self.charged: ApproxDP | None = None
        self.declared: Population | None = None

    def fit(
        self,
        table: pd.DataFrame | CodedTable | Rows | Callable[[Schema], Rows],
        schema: Schema | Mapping[str, Any] | Path | str,
    ) -> Self:
        """Learn the model; charged to the ledger whether or not it comes to an end.

        Up to a quarter of the budget goes to the domains of the numbers that the schema leaves to be discovered, if
        there are any.

        Args:
            table: one row a person, or as many as the population was declared with; values as in the schema. Or rows
                where they are: ``privity.party.sources.open_rows.open_rows(...).rows``; or what gives them by a schema.
            schema: the table's declared domains: a Schema, a Table Schema, or the path of one.

        Raises:
            ProblemsFound: rows that do not fit the schema (the message shows values: it is the owner's).
            PrivityError: population-undeclared, budget-exhausted or ledger-unusable.
        """
        declared, kind = given_schema(schema), ALGORITHMS[self.algorithm]
        declared.require_reviewed(schema if isinstance(schema, Path | str) else "the schema")
        open_ = bool(undiscovered(declared)) and not kind.discovers
        kind.check_request(self.settings, stand_in(declared) if open_ else declared, self.delta)
        budget = kind.budget(self.settings, self.epsilon, self.delta)
        if open_:
            _check_discovery(table, budget)
        rows = _rows(table, declared)
        run = f"local-{secrets.token_hex(8)}"
        with closing(open_ledger(self.population, self._ledger)) as ledger:
            population = ledger.population
            most = budget.most_of_a_person(population.rows_per_person)
            ledger.check(most, OWNER)
            # Answers live as long as this call: if it is cut off, what it drew is lost and stays charged.
            journal = Journal(MEMORY)
            raw = isinstance(table, pd.DataFrame) or callable(table)
            recode = (lambda schema: _rows(table, schema)) if raw else None
            releases = ChargedReleases(OWNER, rows, journal, ledger, recode=recode)
            allowance, share = Allowance(most.epsilon, most.delta, budget), budget.whole
            session = local_session(run, releases, allowance)
            if open_:
                found = complete(discover(session, DOMAINS, share * SHARE))
                session, share = session.recoded(found.schema, "table/"), share * (1 - SHARE) + found.left
            learned = complete(kind.learn(session, share, self.settings))
            spent = ledger.spent(), ledger.spent_delta()
            charged = ApproxDP(ledger.spent(run), ledger.spent_delta(run), RELATION)
        # All at once: several threads may fit one object, and the last one's results stand together.
        self.spent, self.spent_delta, self.charged = *spent, charged
        self._model, self.session, self.declared = learned, session, population
        return self

    @property
    def model(self) -> Model:
        """The learnt model; ValueError before ``fit``."""
        if self._model is None:
            raise ValueError("fit it first")
        return self._model

    @property
    def record(self) -> RunRecord:
        """What the fit has revealed and charged; ValueError before ``fit``."""
        if self.session is None:
            raise ValueError("fit it first")
        return self.session.record

    def sample(self, n: int, seed: int | None = None) -> pd.DataFrame:
        """``n`` synthetic rows that meet the rules of the schema; the seed decides the sampling only, never noise.

        Raises:
            PrivityError: too-rare: the model has hardly any rows that do; it can be saved, and sampled otherwise.
        """
        return synthesise(self.model, n, seed)

    def save(self, path: Path | str) -> None:
        """Write the learnt model as JSON; ``load_model`` reads it. It is a release, already charged."""
        document = self.model.to_dict()
        require(document, "model", str(path))
        Path(path).write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        spent = "not fitted" if self.spent is None else f"spent {readable(self.spent)} on {self.population!r} so far"
        delta = f", delta={self.delta}" if self.delta else ""
        return f"{type(self).__name__}(epsilon={self.epsilon}{delta}{settings}; {spent})"


def _rows(table: pd.DataFrame | CodedTable | Rows | Callable[[Schema], Rows], schema: Schema) -> Rows:
    """The rows by this schema."""
    if isinstance(table, pd.DataFrame):
        table = encode(table, schema, "table")
    if isinstance(table, CodedTable):
        return InMemory(table)
    rows = table(schema) if callable(table) else table
    if rows.schema.digest != schema.digest:
        raise PrivityError(Catalogue.TAMPERED, what="table", reason="it is coded under another schema")
    return rows


def _texts(table: object, schema: Schema) -> Texts | None:
    """How many rows of a frame have each text of an attribute; None of what is no frame."""
    if not isinstance(table, pd.DataFrame):
        return None
    return lambda name: texts_of_frame(table, schema.attributes[schema.index(name)])


def _check_discovery(table: object, budget: RunBudget) -> None:
    """Refuse rows that cannot be coded anew, and a budget that is spent at once."""
    if not (isinstance(table, pd.DataFrame) or callable(table)):
        reason, hint = (
            "some domains are yet to be discovered, and the rows are coded",
            "Give a DataFrame, or a function.",
        )
        raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=hint)
    if isinstance(budget, AdvancedBudget):
        reason = "the settings spend all of the budget at once, and some domains are yet to be discovered"
        raise PrivityError(
            Catalogue.BAD_OPTION, option="composition", reason=reason, hint="Use zcdp, or declare all domains."
        )


class Aim(Synthesizer):
    """AIM: again and again the table that the model explains worst."""

    algorithm = "aim"


class Mst(Synthesizer):
    """MST: the tables of a spanning tree of what independence explains worst."""

    algorithm = "mst"


class Copula(Synthesizer):
    """A Gaussian copula of all pairs of attributes."""

    algorithm = "copula"


class Discover(Synthesizer):
    """Domains that nobody declared: ``discovered`` is the schema that has them.

    Texts have categories if a delta is granted: those that many rows have; all others go to one category. They are a
    release of their own, for a share of epsilon and half of delta; there is no model of them.
    """

    algorithm = "discover"
    _discovered: Schema | None = None

    def fit(
        self,
        table: pd.DataFrame | CodedTable | Rows | Callable[[Schema], Rows],
        schema: Schema | Mapping[str, Any] | Path | str,
        texts: Texts | None = None,
        *,
        numbers: bool = True,
    ) -> Self:
        """Discover the domains; charged to the ledger whether or not it comes to an end.

        Args:
            table, schema: as of every Synthesizer.
            texts: how many rows have each text of an attribute, if the table is no DataFrame.
            numbers: whether their domains are discovered, too, if categories are; otherwise they stay open.

        Raises:
            ProblemsFound, PrivityError: as of every Synthesizer; bad-option: texts below the noise, or no delta.
        """
        declared = given_schema(schema)
        declared.require_reviewed(schema if isinstance(schema, Path | str) else "the schema")
        if not open_texts(declared):
            if not numbers:
                reason, hint = "the categories of all texts are declared", "Leave it out to discover numbers."
                raise PrivityError(Catalogue.BAD_OPTION, option="categories-only", reason=reason, hint=hint)
            fitted = super().fit(table, declared)
            self._discovered = fitted.record.domains
            return fitted
        texts = texts or _texts(table, declared)
        names, rows = [attribute.name for attribute in open_texts(declared)], _rows(table, declared)
        mechanism, rest = self.for_texts(declared, rows.rows, numbers=numbers)
        if texts is None:
            raise PrivityError(Catalogue.BAD_OPTION, option="texts", reason="it is missing", hint="Give a DataFrame.")
        if rest is not None:
            _check_discovery(table, rest)
        run = f"local-{secrets.token_hex(8)}"
        with closing(open_ledger(self.population, self._ledger)) as ledger:
            rows_per_person = ledger.population.rows_per_person
            most = mechanism.loss(RELATION).scaled(rows_per_person)
            ledger.check(most if rest is None else most + rest.most_of_a_person(rows_per_person), OWNER)
            releases = ChargedReleases(OWNER, rows, Journal(MEMORY), ledger)
            found = releases.categories(run, names, mechanism, texts, Allowance(most.epsilon, most.delta))
            spent = ledger.spent(), ledger.spent_delta()
            charged = ApproxDP(ledger.spent(run), ledger.spent_delta(run), RELATION)
        self._discovered = known = with_categories(declared, found)
        if rest is not None:
            inner = Discover(str(rest.epsilon), delta=str(rest.delta), population=self.population, ledger=self._ledger)
            inner.fit(table, known)
            assert inner.charged is not None
            assert inner.spent is not None
            known, spent, charged = inner.discovered, (inner.spent, inner.spent_delta), charged + inner.charged
            self._model, self.session, self.declared = inner.model, inner.session, inner.declared
        self.spent, self.spent_delta, self.charged = *spent, charged
        self._discovered = known
        return self

    def for_texts(
        self, schema: Schema, rows: int, *, numbers: bool = True
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
        budget = RhoBudget(parse_epsilon(str(left)), parse_delta(str(self.delta / 2)))
        check_noise(planned_session(schema, {OWNER: rows}, 0, budget), budget.whole * GRIDS, asked=self.epsilon)
        return mechanism, budget

    @property
    def discovered(self) -> Schema:
        """The schema with the domains; ValueError before ``fit``."""
        if self._discovered is None:
            raise ValueError("fit it to a table with open domains")
        return self._discovered


class DPSubn(Synthesizer):
    """DP-SUBN over one party."""

    algorithm = "dp-subn"


class DPCcbn(Synthesizer):
    """DP-CCBN over one party."""

    algorithm = "dp-ccbn"


class PrivBayes(Synthesizer):
    """PrivBayes: noisy conditionals of a network selected by the exponential mechanism."""

    algorithm = "privbayes"


class JTree(Synthesizer):
    """JTree: a junction tree of a dependency graph selected edge by edge."""

    algorithm = "jtree"


class PrivHD(Synthesizer):
    """PrivHD: a junction tree of bigger cliques."""

    algorithm = "privhd"


class Independent(Synthesizer):
    """Independent over one party: the model of its learner."""

    algorithm = "independent"


class OneWay(Synthesizer):
    """Noisy 1-way tables only: what every other algorithm must beat."""

    algorithm = "one-way"


SYNTHESIZERS: dict[str, type[Synthesizer]] = {
    c.algorithm: c for c in (Aim, Copula, Discover, DPSubn, DPCcbn, Independent, JTree, Mst, OneWay, PrivBayes, PrivHD)
}


def given_schema(schema: Schema | Mapping[str, Any] | Path | str) -> Schema:
    """The schema that was given as one, as a Table Schema, or by its path."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return parse_schema(dict(schema), "schema")
    return load_schema(schema)
