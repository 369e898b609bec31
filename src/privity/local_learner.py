"""A fit of one's own rows: checked, charged and learnt.

The budget is checked before anything is learned; each step is charged before its answer, as in a run over the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from privity.common.data import schema as read
from privity.common.data.regression_formula import ANALYSES
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.formats.given_values import bad_option
from privity.common.privacy.budget import Number, parse_delta, parse_epsilon, readable
from privity.common.privacy.category_budget import CategoryBudget, category_budget
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.run_budget import AdvancedBudget, RunBudget
from privity.common.protocol.run_record import RunRecord
from privity.common.protocol.run_terms import AUTO
from privity.common.protocol.session import complete
from privity.common.public_names import public
from privity.common.release.release_contents import Release
from privity.common.release.release_folder import write_learnt
from privity.common.release.session_release import ALONE, learnt_release
from privity.common.release.shortcomings import beyond_note, modelled_alone
from privity.common.runs.automatic_choice import check_automatic, choose
from privity.common.runs.carried_runs import check_carried
from privity.common.runs.modelled_together import told_of_one_owner
from privity.common.runs.planned_run import planned_session
from privity.common.runs.rehearsed_release import rehearse_release
from privity.common.storage.journal import MEMORY, Journal
from privity.common.storage.safe_files import refuse_existing
from privity.common.synthesis.algorithms import ALGORITHMS, Algorithm
from privity.common.synthesis.algorithms.discover import DOMAINS
from privity.common.synthesis.learning.category_discovery import check_delta, discover_categories, open_texts
from privity.common.synthesis.learning.domain_discovery import (
    GRIDS,
    LEAST_GROUPS,
    SHARE,
    check_noise,
    discover,
    stand_in,
    undiscovered,
)
from privity.common.synthesis.models import Model
from privity.common.text.first_few import first_few
from privity.common.text.terminal import console, status_line
from privity.given import Schema, Table, can_be_recoded, coded_by, given_schema, plain
from privity.html import table_in_html
from privity.local_release import keep, publish, telling_where
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import Told, local_session, new_run
from privity.party.sources.pass_progress import Share, percent, watched
from privity.sampled_rows import rows_of, sampled, sampled_histories

if TYPE_CHECKING:
    import pandas as pd

OWNER = "owner"


@public
class NotFittedError(ValueError, AttributeError):
    """A model was asked for that has not been learnt yet."""


@dataclass(frozen=True)
class Fitted:
    """What one fit gave.

    Attributes:
        charged: what it cost a person; spent: what all releases about these people have cost one of them so far. Both
            as the ledger has them; until it was asked, what they are at most.
        made: makes the release of it.
    """

    algorithm: str
    model: Model
    record: RunRecord
    charged: ApproxDP
    spent: ApproxDP
    population: Population
    made: Callable[[], Release]

    @property
    def learnt(self) -> Release:
        """The release of it, to which rows are yet to be drawn."""
        return self.made()

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process: the ledger's connection, and the rows."""
        return {**self.__dict__, "made": partial(_same, self.learnt)}


class LocalLearner:
    """Learns a model of one owner's table: what every Synthesizer does, and the discovery of domains.

    It takes schemas in any form and makes none: a ``privity.Schema`` discovers its domains by it.
    """

    algorithm: ClassVar[str] = AUTO

    def __init__(
        self,
        epsilon: Number,
        *,
        population: str | None = None,
        delta: Number = 0,
        ledger: Path | str | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(population, str):
            reason = "a fit is charged to the people whose rows it uses, and nobody says who they are"
            hint = 'Declare them once, declare_population("NAME", total_epsilon=TOTAL), and give population="NAME".'
            raise bad_option("population", reason, hint)
        if self.algorithm == AUTO:
            check_automatic(settings)
        elif unknown := ALGORITHMS[self.algorithm].unknown(settings):
            raise ProblemsFound(unknown)
        self.epsilon = parse_epsilon(epsilon)
        self.delta = parse_delta(delta)
        self.population = population
        self.ledger = ledger
        # As a document has them.
        self.settings = {name: plain(value) for name, value in settings.items()}
        self._given = {"epsilon": epsilon, "population": population, "delta": delta, "ledger": ledger, **settings}
        self._fitted: Fitted | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments of the constructor as they were given, as scikit-learn asks for them."""
        return dict(self._given)

    def set_params(self, **arguments: Any) -> Self:
        """Other arguments for the next fit; what was fitted stays.

        Raises:
            PrivityError, ProblemsFound: as the constructor.
        """
        fitted = self._fitted
        again = type(self)(**{**self._given, **arguments})
        self.__dict__.update(again.__dict__, _fitted=fitted)
        return self

    def fit(
        self, table: Table, schema: Schema | None = None, *, person: str | None = None, order: str | None = None
    ) -> Self:
        """Learn the model; what it takes and what it refuses: ``Synthesizer.fit``."""
        self.learn(table, schema, person=person, order=order)
        return self

    def learn(
        self,
        table: Table,
        schema: Schema | None,
        *,
        person: str | None = None,
        order: str | None = None,
        out: Path | None = None,
        automatic: Mapping[str, Any] | None = None,
    ) -> Fitted:
        """What ``fit`` does; and write what is learnt before anything else is done.

        Args:
            out: the folder to make of it.
            automatic: why this algorithm was chosen, if nobody asked for it, and the fit does not know it.

        Raises:
            ProblemsFound, PrivityError: as of every fit; release-unfinished: it failed after the model was learnt, and
                where that is: in another folder, if this one cannot be written.
        """
        with nullcontext() if out is None else telling_where(out):
            return self._learn(table, schema, person, order, out, automatic)

    def _learn(
        self,
        table: Table,
        schema: Schema | None,
        person: str | None,
        order: str | None,
        out: Path | None,
        automatic: Mapping[str, Any] | None,
    ) -> Fitted:
        declared = given_schema(schema)
        declared.require_reviewed(schema if isinstance(schema, Path | str) else None)
        if declared.row_constraints or out is not None:
            rehearse_release(declared)
        coded = coded_by(table, person, order)
        algorithm, rows, first, run = self.algorithm, None, None, new_run()
        with closing(open_ledger(self.population, self.ledger)) as ledger, self._progress() as told:
            population = ledger.population
            epsilon, delta = self.epsilon, self.delta
            if algorithm == AUTO or open_texts(declared):
                told("reading the rows")
                rows = coded(declared, population.rows_per_person)
                if (first := self.for_texts(declared, rows.rows)) is not None:
                    epsilon, delta = first.epsilon, first.delta
            if algorithm == AUTO:
                assert rows is not None
                chosen = choose(declared, [rows.rows], 0, epsilon, delta, self.settings)
                algorithm, automatic = chosen.algorithm, chosen.document()
            kind = ALGORITHMS[algorithm]
            kind.check_request(self.settings, stand_in(declared, numbers=not kind.discovers), delta)
            if self.settings.get(ANALYSES) or declared.history is not None:
                told("reading the rows")
                rows = rows or coded(declared, population.rows_per_person)
                check_carried(
                    algorithm, self.settings, declared, [rows.rows], 0, epsilon, delta,
                    part=1 - SHARE if undiscovered(declared) else Fraction(1),
                    asked=partial(mul, self.epsilon / epsilon),
                )  # fmt: skip
            budget = kind.budget(self.settings, epsilon, delta)
            numbers = bool(undiscovered(declared))
            if (numbers and not kind.discovers) or first is not None:
                check_discovery(table, budget)
            if numbers and first is not None and rows is not None:
                self._check_noise(declared, rows.rows, kind, budget)
            most = budget.most_of_a_person(population.rows_per_person)
            before = ApproxDP(ledger.spent(), ledger.spent_delta(), RELATION)
            if first is not None:
                most += first.mechanism.loss(RELATION).scaled(population.rows_per_person)
            # All of it, before any is spent.
            with ledger.reserving(run, most, OWNER):
                if rows is None:
                    told("reading the rows")
                    rows = coded(declared, population.rows_per_person)
                self._say_first(algorithm, declared, rows.rows)
                recode = (lambda schema: coded(schema, population.rows_per_person)) if can_be_recoded(table) else None
                # Answers live as long as this call: if it is cut off, what it drew is lost and stays charged.
                releases = ChargedReleases(OWNER, rows, Journal(MEMORY), ledger, recode=recode)
                allowance, share = Allowance(most.epsilon, most.delta, budget), budget.whole
                session = local_session(run, releases, allowance, told=told)
                if first is not None:
                    session = session.recoded(discover_categories(session, first.mechanism), "")
                if numbers and not kind.discovers:
                    found = complete(discover(session, DOMAINS, share * SHARE))
                    session, share = session.recoded(found.schema, "table/"), share * (1 - SHARE) + found.left
                model = complete(kind.learn(session, share, self.settings))
                # Nothing that fails from here on loses it.
                made = partial(
                    learnt_release, session, model,
                    tolerate=0, protection=None, of_run=self._of_run(algorithm, automatic), of_statement={},
                )  # fmt: skip
                fitted = self._fitted = Fitted(algorithm, model, session.record, most, before + most, population, made)
                if out is not None:
                    keep(lambda: fitted.learnt, out)
                spent = ApproxDP(ledger.spent(), ledger.spent_delta(), RELATION)
                charged = ApproxDP(ledger.spent(run), ledger.spent_delta(run), RELATION)
        # All at once: several threads may fit one object, and the last one's results stand together.
        self._fitted = fitted = replace(fitted, charged=charged, spent=spent)
        return fitted

    def _of_run(self, algorithm: str, automatic: Mapping[str, Any] | None) -> dict[str, Any]:
        """What run.json says of a fit."""
        return {
            "algorithm": algorithm,
            **({"automatic": automatic} if automatic else {}),
            "settings": self.settings,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            **ALONE,
        }

    def for_texts(self, schema: read.Schema, rows: int, *, numbers: bool = True) -> CategoryBudget | None:
        """What discovers the categories of open texts in so many rows, and what is left; None if no text is open.

        Args:
            numbers: whether open numbers are discovered, too.

        Raises:
            PrivityError: bad-option: no delta, or less than the noise would leave to be seen.
        """
        if not (texts := open_texts(schema)):
            return None
        check_delta(schema, self.delta)
        found = self._budget_for_texts(len(texts), len(undiscovered(schema)) * numbers, rows)
        if (threshold := found.mechanism.threshold) >= rows:
            named = first_few([text.name for text in texts])
            reason = f"a text of {named} would be seen from {threshold} rows on, and there are {rows}"
            needed = float(self.epsilon) * threshold * LEAST_GROUPS / rows
            hint = f"Use an epsilon of about {needed:.2g}, declare the categories, or leave the columns out."
            raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)
        return found

    def _budget_for_texts(self, texts: int, _numbers: int, rows: int) -> CategoryBudget:
        return category_budget(texts, self.epsilon, self.delta, rows=rows)

    def _check_noise(self, schema: read.Schema, rows: int, kind: Algorithm[Any], budget: RunBudget) -> None:
        """Refuse numbers that would be below the noise, before categories are paid for."""
        planned = planned_session(stand_in(schema, numbers=False), {OWNER: rows}, 0, budget)
        share, others = (Fraction(1), len(schema.attributes) - len(undiscovered(schema)))
        if not kind.discovers:
            share, others = SHARE, 0
        check_noise(planned, budget.whole * share * GRIDS, others, asked=self.epsilon)

    @property
    def fitted(self) -> Fitted:
        """All that the last fit gave; NotFittedError before there was one."""
        if self._fitted is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted: call fit(table, schema) first")
        return self._fitted

    @property
    def algorithm_(self) -> str:
        return self.fitted.algorithm

    @property
    def model_(self) -> Model:
        return self.fitted.model

    @property
    def charged_(self) -> ApproxDP:
        return self.fitted.charged

    @property
    def spent_(self) -> ApproxDP:
        return self.fitted.spent

    @property
    def population_(self) -> Population:
        return self.fitted.population

    @property
    def record_(self) -> RunRecord:
        return self.fitted.record

    def sample(
        self,
        n: int | None = None,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
        *,
        dtypes: Mapping[str, Any] | None = None,
        skip_keys: int = 0,
        independent: bool = False,
    ) -> pd.DataFrame:
        """``n`` synthetic rows that meet the rules of the schema; the seed decides the sampling only, never noise.

        Args:
            n: by default as many as the table has, or is taken to have where rows may be absent.
            where, dtypes, skip_keys, independent: as of ``SavedModel.sample``, with the same errors.
        """
        n = rows_of(self.fitted.learnt) if n is None else n
        return sampled(self.fitted.model, n, seed, where, dtypes=dtypes, skip_keys=skip_keys, independent=independent)

    def sample_histories(self, n: int | None = None, seed: int | None = None, **how: Any) -> dict[str, pd.DataFrame]:
        """``n`` synthetic persons and their events, by the names of both tables: ``SavedModel.sample_histories``."""
        n = rows_of(self.fitted.learnt) if n is None else n
        return sampled_histories(self.fitted.model, n, seed, **how)

    def fit_sample(
        self,
        table: Table,
        schema: Schema | None = None,
        n: int | None = None,
        seed: int | None = None,
        *,
        person: str | None = None,
        order: str | None = None,
    ) -> pd.DataFrame:
        """``fit``, and then ``sample``."""
        return self.fit(table, schema, person=person, order=order).sample(n, seed)

    def publish(self, out: Path, rows: int | None = None) -> Release:
        """Draw the rows of what was learnt, and write all of it (``local_release.publish``)."""
        fitted = self.fitted
        return publish(lambda: fitted.learnt, out, rows)

    def save(self, folder: Path | str) -> None:
        """Write what was learnt, for ``load_model``: a release that has no rows yet, already charged."""
        refuse_existing(Path(folder), "folder")
        write_learnt(Path(folder), self.fitted.learnt)

    @contextmanager
    def _progress(self) -> Iterator[Told]:
        """What shows on a terminal or in a notebook which phase is at work."""
        shown, title = console(err=True), type(self).__name__
        if not (shown.is_terminal or shown.is_jupyter):
            yield lambda phase: None
            return
        at_work = title
        with status_line(shown, title) as show:

            def told(phase: str) -> None:
                nonlocal at_work
                at_work = f"{title}: {phase}"
                show(at_work)

            def passing(share: Share) -> None:
                show(at_work if share is None else f"{at_work}, {percent(share)} of the rows")

            with watched(passing):
                yield told

    def _say_first(self, algorithm: str, schema: read.Schema, rows: int) -> None:
        """On a terminal or in a notebook, what the fit will model together and what alone; nothing is spent yet."""
        shown = console(err=True)
        if shown.is_terminal or shown.is_jupyter:
            for told in told_of_one_owner(schema, rows, algorithm, self.settings, self.epsilon, self.delta):
                shown.print(told, soft_wrap=True)

    def _arguments(self) -> dict[str, str]:
        delta = {"delta": readable(self.delta)} if self.delta else {}
        given = {"epsilon": readable(self.epsilon), **delta, "population": repr(self.population)}
        return given | {name: repr(value) for name, value in self.settings.items()}

    def _told(self) -> str:
        if self._fitted is None:
            return "not fitted"
        spent, total = self.fitted.spent, self.fitted.population
        by = f" by {self.fitted.algorithm}" if self.algorithm == AUTO else ""
        told = f"fitted{by}; {readable(spent.epsilon)} of epsilon {readable(total.total_epsilon)} spent so far"
        model = self.fitted.model
        alone = modelled_alone(model) if ALGORITHMS[self.fitted.algorithm].joins else ""
        return "; ".join(filter(None, (told, alone, beyond_note(model.schema.attributes))))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({arguments}; {self._told()})"

    def _repr_html_(self) -> str:
        return table_in_html(type(self).__name__, [*self._arguments().items(), ("state", self._told())])


def _same(learnt: Release) -> Release:
    return learnt


def check_discovery(table: Table, budget: RunBudget) -> None:
    """Refuse rows that cannot be coded anew, and a budget that is spent at once."""
    if not can_be_recoded(table):
        reason, hint = "some domains are yet to be discovered, and the rows are coded", "Give the table itself."
        raise PrivityError(Catalogue.BAD_OPTION, option="table", reason=reason, hint=hint)
    if isinstance(budget, AdvancedBudget):
        reason = "the settings spend all of the budget at once, and some domains are yet to be discovered"
        raise PrivityError(
            Catalogue.BAD_OPTION, option="composition", reason=reason, hint="Use zcdp, or declare all domains."
        )
