"""What every algorithm has: a name, settings, a way to learn a model, and what it asks of the parties."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

from privity.common.data.regression_formula import ANALYSES
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound, by_face
from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RhoBudget, RunBudget, Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import BadValueError, declared
from privity.common.synthesis.learning.category_discovery import open_texts
from privity.common.synthesis.learning.countable_pairs import check_tree
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.common.synthesis.models import Model

S = TypeVar("S")
SU_2016 = "Su, Tang, Cheng, Chen, Wu, Differentially Private Multi-Party High-Dimensional Data Publishing (ICDE 2016)"
"""Of three algorithms."""

MOST_PAIRS = 1 << 19
"""Pairs of attributes that a run may look at, so that what it asks for can be told in time: those of 1,024 attributes.
How long it takes: docs/performance.md."""

Fault = tuple[str, str, str, str]
"""Setting, rule, message and remedy."""


@dataclass(frozen=True)
class NoSettings:
    """Of an algorithm that has none."""


class Algorithm(ABC, Generic[S]):
    """One way to learn a model. A subclass is declared in its file alone, and known by being there.

    The first line of its docstring is its title, and its own name that of its class in ``privity``.

    Attributes:
        name: in run specs, releases and on the command line.
        paper: authors, title and where it appeared; empty if there is none.
        settings: a dataclass with a ``setting`` for each of its own.
        apart: whether the parties learn models of their own, one by one; they are pure.
        continues: whether events can be drawn from its models, given what was before them.
        joins: whether attributes may depend on each other; if so, people are told of those that do not.
        all_pairs: whether it measures every pair, so that public numbers leave no attribute alone.
        selects: whether it may select candidates on the rows of one party at a time.
        discovers: whether it is for schemas with attributes whose domain is yet to be discovered.
        overview: the phase that may measure a coarse table of every candidate pair before any is selected.
        rounds: the phase whose tables were each selected against a model of those before them.
        by_rows: settings that follow from the parties' numbers of rows if they are left out, with what they may be.
    """

    name: ClassVar[str]
    paper: ClassVar[str] = ""
    settings: type[S]
    apart: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    joins: ClassVar[bool] = True
    all_pairs: ClassVar[bool] = False
    selects: ClassVar[bool] = False
    by_rows: ClassVar[Mapping[str, Sequence[str]]] = {}
    discovers: ClassVar[bool] = False
    overview: ClassVar[str | None] = None
    rounds: ClassVar[str | None] = None

    @abstractmethod
    async def run(self, session: Session, share: Share, chosen: S) -> Model:
        """Learn a model of the session's rows for the share; all of it is spent through the session."""

    async def learn(self, session: Session, share: Share, settings: Mapping[str, Any]) -> Model:
        """The same with settings that are unread."""
        return await self.run(session, share, self.check(settings, session.schema))

    def check_domain(self, schema: Schema, chosen: S) -> None:
        """Refuse attributes too large for what the algorithm counts: pairs of a tree, unless it says otherwise."""
        check_tree(schema)

    def check_noise(self, session: Session, share: Share, chosen: S, asked: Callable[[Fraction], Fraction]) -> None:
        """Refuse what the noise of the share would hide, by public numbers; ``PrivityError``: bad-option.

        Args:
            asked: the epsilon to ask for, in all, that the session's budget may have this epsilon.
        """

    def implied(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What takes the place of defaults because of other settings, which are unread."""
        return {}

    def conflicts(self, schema: Schema, chosen: S) -> Iterable[Fault]:
        """Settings that do not go together, or with the schema."""
        return ()

    def check_delta(self, settings: Mapping[str, Any], delta: Fraction) -> None:
        """Refuse a delta for which there is no use."""
        if delta and not self.spends_delta:
            reason = "each party learns a model of its own under pure differential privacy: it has no use for a delta"
            raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint="Leave delta away.")

    def spends_at_once(self, settings: Mapping[str, Any]) -> bool:
        """Whether a run with a delta spends all of its budget on one query (``AdvancedBudget``)."""
        return self.apart

    def memory(self, schema: Schema) -> int:
        """About how many bytes learning takes besides the table; 0 if that is not much."""
        return 0

    def may_select(self, settings: Mapping[str, Any]) -> bool:
        """Whether it may select candidates on the rows of one party with these settings."""
        return self.selects

    def reveals_running_sums(self, settings: Mapping[str, Any]) -> bool:
        """Whether with these settings it reveals sums over some of the parties, too."""
        return False

    @property
    def title(self) -> str:
        """What it is, in one line."""
        return (type(self).__doc__ or self.name).split("\n")[0]

    @property
    def infers(self) -> bool:
        """Whether a setting ``inference`` says how tables are fitted (``inference/fit_choice.py``)."""
        return "inference" in declared(self.settings)

    @property
    def spends_delta(self) -> bool:
        return not self.apart

    def unknown(self, settings: Mapping[str, Any]) -> list[Problem]:
        """A fault for each setting that there is not."""
        known = declared(self.settings)
        others = [each.name for each in Algorithm.__subclasses__() if ANALYSES in declared(each.settings)]
        remedies = {ANALYSES: f"Algorithms that measure declared analyses: {', '.join(sorted(others))}."}
        return [
            self._problem(
                key, "unknown", "there is no such setting.", remedies.get(key, f"Known: {', '.join(known) or 'none'}.")
            )
            for key in settings
            if key not in known
        ]

    def read(self, settings: Mapping[str, Any], schema: Schema) -> S:
        """Settings from the plain document of a run spec; one that is None counts as left out.

        Raises:
            ProblemsFound: every fault at once.
        """
        found, problems = self.implied(settings), []
        for key, setting in declared(self.settings).items():
            if settings.get(key) is not None:
                try:
                    found[key] = setting.read(settings[key], schema)
                except BadValueError as error:
                    problems.append(self._problem(key, setting.rule, *error.args))
        chosen = self.settings(**found)
        problems += [self._problem(*fault) for fault in self.conflicts(schema, chosen)]
        problems += self.unknown(settings)
        if problems:
            raise ProblemsFound(problems)
        return chosen

    def _problem(self, key: str, rule: str, message: str, remedy: str) -> Problem:
        return Problem(f"settings of {self.name}", key, rule, message, remedy)

    def check(self, settings: Mapping[str, Any], schema: Schema) -> S:
        """Read the settings, and refuse what is wrong with them or too large, before any party is asked.

        Raises:
            PrivityError, ProblemsFound: too large a domain; bad settings.
        """
        chosen = self.read(settings, schema)
        if texts := open_texts(schema):
            reason = f"the categories of {', '.join(a.name for a in texts)} are yet to be discovered"
            how = by_face("privity schema discover --data", "Schema.discover(...)")
            hint = f"Declare them, or let each owner discover its own: {how}."
            raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=reason, hint=hint)
        if not self.discovers and (numbers := undiscovered(schema)):
            names = ", ".join(schema.attributes[place].name for place in numbers)
            reason = f"the domain of {names} is yet to be discovered"
            hint = "Run the algorithm discover first, and then this one with the schema that it finds."
            raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=reason, hint=hint)
        self.check_domain(schema, chosen)
        return chosen

    def check_request(self, settings: Mapping[str, Any], schema: Schema, delta: Fraction) -> None:
        """The same for a run with a delta.

        Raises:
            PrivityError, ProblemsFound: as ``check``, no domain to discover, or a delta for which it has no use.
        """
        self.check(settings, schema)
        if schema.history is not None and not self.continues:
            able = ", ".join(sorted(each.name for each in Algorithm.__subclasses__() if each.continues))
            reason = f"{self.name} does not keep what follows from what, and the schema is of persons and their events"
            raise PrivityError(Catalogue.BAD_OPTION, option="algorithm", reason=reason, hint=f"Use one of: {able}.")
        if self.discovers and not undiscovered(schema):
            reason = f"it leaves the domain of no number open, so that {self.name} would spend epsilon for nothing"
            hint = 'Run another algorithm with this schema; or leave a domain open, with "domain": "discover".'
            raise PrivityError(Catalogue.BAD_OPTION, option="schema", reason=reason, hint=hint)
        self.check_delta(settings, delta)

    def pairs(self, schema: Schema, chosen: S, parties: int) -> int:
        """How many pairs the algorithm looks at where it only tells what it asks for; by public numbers."""
        return math.comb(len(schema.attributes), 2) if self.joins else 0

    def check_size(self, settings: Mapping[str, Any], schema: Schema, parties: int, *, evaluated: bool) -> None:
        """Refuse a run that is too large for its owners to be told in time what it asks for.

        Args:
            settings: unread.
            evaluated: whether the run has an evaluation, which is of all pairs.

        Raises:
            PrivityError, ProblemsFound: run-too-large; bad settings.
        """
        attributes = len(schema.attributes)
        pairs = self.pairs(schema, self.read(settings, schema), parties) + evaluated * math.comb(attributes, 2)
        if pairs > MOST_PAIRS:
            asked = f"{self.name} over {attributes} attributes and {parties} parties"
            raise PrivityError(Catalogue.RUN_TOO_LARGE, asked=asked, found=pairs, limit=MOST_PAIRS)

    def possible(self, settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The settings with each that the numbers of rows may make of what they leave out."""
        left = [
            [(name, value) for value in values] for name, values in self.by_rows.items() if settings.get(name) is None
        ]
        return [{**settings, **dict(decided)} for decided in product(*left)]

    def budget(self, settings: Mapping[str, Any], epsilon: Fraction, delta: Fraction) -> RunBudget:
        """What a run of this algorithm may spend; settings may be unread.

        Args:
            epsilon: of the algorithm, without an evaluation's.
        """
        if not delta:
            return PureBudget(epsilon)
        return (AdvancedBudget if self.spends_at_once(settings) else RhoBudget)(epsilon, delta)
