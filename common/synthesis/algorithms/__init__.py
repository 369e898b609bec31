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
from privity.common.privacy.zcdp_budget import RhoAccount
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
from privity.common.synthesis.learning.worst_explained import SELECTIONS, may_draw
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
            its own; otherwise a run with a delta has an account in rho.
        memory: about how many bytes learning from so many rows takes besides the table, if that may be much.
        draws: whether it draws candidates on the rows of one party at a time.
        drawn: whether with these settings it does; it may, if this is left out.
        parts: whether with these settings it opens sums over some of the parties, too.
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
    draws: bool = False
    drawn: Callable[[Mapping[str, Any]], bool] | None = None
    parts: Callable[[Mapping[str, Any]], bool] | None = None
    infers: bool = False
    by_rows: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def possible(self, settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The settings with each that the numbers of rows may make of what they leave out."""
        left = [
            [(name, value) for value in values] for name, values in self.by_rows.items() if settings.get(name) is None
        ]
        return [{**settings, **dict(decided)} for decided in product(*left)]

    def may_draw(self, settings: Mapping[str, Any]) -> bool:
        return self.draws and (self.drawn is None or self.drawn(settings))

    def opens_parts(self, settings: Mapping[str, Any]) -> bool:
        return self.parts is not None and self.parts(settings)

    @property
    def spends_delta(self) -> bool:
        return not self.apart

    def account(self, settings: Mapping[str, Any], epsilon: Fraction, delta: Fraction) -> RhoAccount | None:
        """The account in rho of a run of this algorithm, if it has one; settings may be unread.

        Args:
            epsilon: of the algorithm, without an evaluation's.
        """
        named = None if self.composition is None else self.composition(settings, delta)
        if not delta or self.apart or named == ADVANCED:
            return None
        return RhoAccount(epsilon, delta)

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
    "aim": Algorithm(aim.check, aim.learn, draws=True, drawn=may_draw, by_rows={"selection": SELECTIONS}),
    "copula": Algorithm(
        copula.check,
        copula.learn,
        check_delta=copula.check_delta,
        composition=copula.composition,
        memory=copula.memory,
    ),
    "dp-ccbn": Algorithm(dp_ccbn.check, dp_ccbn.learn, infers=True),
    "dp-subn": Algorithm(dp_subn.check, dp_subn.learn, draws=True, parts=dp_subn.opens_parts, infers=True),
    "independent": Algorithm(independent.Settings.read, independent.learn, apart=True),
    "jtree": Algorithm(jtree.check, jtree.learn, draws=True, infers=True),
    "mst": Algorithm(mst.check, mst.learn, draws=True, drawn=may_draw, infers=True, by_rows={"selection": SELECTIONS}),
    "one-way": Algorithm(one_way.check, one_way.learn, joins=False),
    "privbayes": Algorithm(privbayes.check, privbayes.learn, draws=True, infers=True),
    "privhd": Algorithm(privhd.check, privhd.learn, draws=True, infers=True),
}
"""Every algorithm that a run may name."""


def account_of(spec: RunSpec) -> RhoAccount | None:
    """The account in rho of a run, if it has one; of an algorithm that there is not, none."""
    algorithm = ALGORITHMS.get(spec.algorithm)
    return None if algorithm is None else algorithm.account(spec.settings, spec.learning_epsilon, spec.delta)
