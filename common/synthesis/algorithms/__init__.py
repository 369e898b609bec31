"""Algorithms by name: async functions of a session, an epsilon and settings that return a model."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.advanced_composition import ADVANCED
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithms import (
    aim,
    copula,
    dp_ccbn,
    dp_subn,
    independent,
    jtree,
    mst,
    one_way,
    privbayes,
    privhd,
)
from privity.common.synthesis.learning.worst_explained import SELECTIONS, may_select
from privity.common.synthesis.models import Model


@dataclass(frozen=True)
class Algorithm:
    """One way to learn a model.

    Attributes:
        check: reads the plain settings, given the schema; raises ProblemsFound with every
            fault, before any party is asked.
        learn: learns a model for an epsilon in all.
        apart: whether the parties learn models of their own, one by one; they are pure.
        check_delta: reads the settings with a run's delta, and refuses what does not go together.
        composition: reads the settings with a run's delta: whether it is spent by advanced composition, in a round of
            its own; otherwise a run with a delta has an budget in rho.
        memory: about how many bytes learning from so many rows takes besides the table, if that may be much.
        selects: whether it selects candidates on the rows of one party at a time.
        selects_if: whether with these settings it does; it may, if this is left out.
        running_sums: whether with these settings it reveals sums over some of the parties, too.
        infers: whether a setting ``inference`` says how tables are fitted: a name in
            ``privity.common.synthesis.inference.fit_choice.INFERENCES``.
        by_rows: settings that follow from the parties' numbers of rows if they are left out, with what they may be.
        joins: whether attributes may depend on each other; if so, people are told of those that do not.
    """

    check: Callable[[Mapping[str, Any], Schema], object]
    learn: Callable[[Session, Fraction, Mapping[str, Any]], Coroutine[Any, Any, Model]]
    apart: bool = False
    joins: bool = True
    check_delta: Callable[[Mapping[str, Any], Fraction], None] | None = None
    composition: Callable[[Mapping[str, Any], Fraction], str] | None = None
    memory: Callable[[Schema, int], int] | None = None
    selects: bool = False
    selects_if: Callable[[Mapping[str, Any]], bool] | None = None
    running_sums: Callable[[Mapping[str, Any]], bool] | None = None
    infers: bool = False
    by_rows: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def possible(self, settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The settings with each that the numbers of rows may make of what they leave out."""
        left = [
            [(name, value) for value in values] for name, values in self.by_rows.items() if settings.get(name) is None
        ]
        return [{**settings, **dict(decided)} for decided in product(*left)]

    def may_select(self, settings: Mapping[str, Any]) -> bool:
        return self.selects and (self.selects_if is None or self.selects_if(settings))

    def reveals_running_sums(self, settings: Mapping[str, Any]) -> bool:
        return self.running_sums is not None and self.running_sums(settings)

    @property
    def spends_delta(self) -> bool:
        return not self.apart

    def rho_budget(self, settings: Mapping[str, Any], epsilon: Fraction, delta: Fraction) -> RhoBudget | None:
        """The budget in rho of a run of this algorithm, if it has one; settings may be unread.

        Args:
            epsilon: of the algorithm, without an evaluation's.
        """
        named = None if self.composition is None else self.composition(settings, delta)
        if not delta or self.apart or named == ADVANCED:
            return None
        return RhoBudget(epsilon, delta)

    def check_request(self, settings: Mapping[str, Any], schema: Schema, delta: Fraction) -> None:
        """Refuse what cannot run, before any party is asked.

        Raises:
            PrivityError, ProblemsFound: bad settings, or a delta for which the algorithm has no use.
        """
        self.check(settings, schema)
        if self.check_delta is not None:
            self.check_delta(settings, delta)
        elif delta and not self.spends_delta:
            reason = "each party learns a model of its own under pure differential privacy: it has no use for a delta"
            raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint="Leave delta away.")


ALGORITHMS: dict[str, Algorithm] = {
    "aim": Algorithm(aim.check, aim.learn, selects=True, selects_if=may_select, by_rows={"selection": SELECTIONS}),
    "copula": Algorithm(
        copula.check,
        copula.learn,
        check_delta=copula.check_delta,
        composition=copula.composition,
        memory=copula.memory,
    ),
    "dp-ccbn": Algorithm(dp_ccbn.check, dp_ccbn.learn, infers=True),
    "dp-subn": Algorithm(
        dp_subn.check, dp_subn.learn, selects=True, running_sums=dp_subn.reveals_running_sums, infers=True
    ),
    "independent": Algorithm(independent.Settings.read, independent.learn, apart=True),
    "jtree": Algorithm(jtree.check, jtree.learn, selects=True, infers=True),
    "mst": Algorithm(
        mst.check, mst.learn, selects=True, selects_if=may_select, infers=True, by_rows={"selection": SELECTIONS}
    ),
    "one-way": Algorithm(one_way.check, one_way.learn, joins=False),
    "privbayes": Algorithm(privbayes.check, privbayes.learn, selects=True, infers=True),
    "privhd": Algorithm(privhd.check, privhd.learn, selects=True, infers=True),
}
"""Every algorithm that a run may name."""


def rho_budget_of(spec: RunSpec) -> RhoBudget | None:
    """The budget in rho of a run, if it has one; of an algorithm that there is not, none."""
    algorithm = ALGORITHMS.get(spec.algorithm)
    return None if algorithm is None else algorithm.rho_budget(spec.settings, spec.learning_epsilon, spec.delta)
