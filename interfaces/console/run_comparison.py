"""A run that an operator has in mind, at several budgets side by side: its cost, who would refuse it, its error."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from privity.assessment.planning.expected_error import TYPICAL, Estimate, Grid, estimates
from privity.assessment.planning.rehearsal import Shape
from privity.assessment.planning.run_cost import Planned, about, planned
from privity.common.consortium.member_folder import SCHEMA
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import PrivityError, Problem
from privity.common.privacy.budget import parse_delta
from privity.common.protocol.declared_options import Option
from privity.common.runs.automatic_choice import with_algorithm
from privity.common.runs.run_request import OPTIONS, request_document
from privity.deploy.operator import plan_options
from privity.deploy.operator.foreseen_refusals import Foreseen, forecast
from privity.deploy.operator.operator_folder import client_of, newest_manifest
from privity.deploy.operator.plan_options import Faults

MOST_DIGITS = 6

FORM_OPTIONS = {name: option for name, option in OPTIONS.items() if option.label}
"""What the form of a new run asks, besides the budgets and parties to compare."""


@dataclass(frozen=True)
class Budgeted:
    """The run at one epsilon.

    Attributes:
        request: what would be submitted.
        refusing: parties that would refuse it, by the limits that they publish.
    """

    epsilon: Fraction
    request: dict[str, Any]
    plan: Planned
    refusing: tuple[Foreseen, ...]

    @property
    def why(self) -> str:
        """Of an algorithm that was chosen by public numbers."""
        chosen = self.request.get("automatic")
        return str(chosen["reason"]) if chosen else ""


@dataclass
class Rehearsed:
    """Rehearsals on invented tables, under way in a thread of their own."""

    done: int = 0
    total: int = 0
    seconds: float = 0.0
    found: dict[Fraction, Estimate] = field(default_factory=dict)
    fault: str = ""
    is_over: bool = False


@dataclass(frozen=True)
class Comparison:
    """The same run at several budgets, or why there is none.

    Attributes:
        problems: all faults of the form; with any there are no budgets.
        rows: that each party is taken to hold.
        silent: parties that publish no limits.
    """

    budgets: tuple[Budgeted, ...]
    problems: tuple[Problem, ...]
    rows: Mapping[str, int] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    shape: Shape | None = None
    grid: Grid | None = None


def compare(config: Path, form: Mapping[str, str], parties: list[str]) -> Comparison:
    """What a form asks for, at each of its epsilons.

    Args:
        form: texts of ``epsilons``, ``rows``, and of each option that has a label.
        parties: names; none stands for all that are not paused.

    Raises:
        PrivityError: no connection, or a manifest that the organiser did not sign.
    """
    faults = Faults()
    manifest, documents = newest_manifest(config), client_of(config).limits()
    epsilons = plan_options.compared_epsilons(form["epsilons"], faults)
    asked: dict[str, Any] = {"parties": parties or None}
    for name, option in FORM_OPTIONS.items():
        if (given := _given(option, form[name])) is not None:
            asked[name] = faults.collect(f"--{name}", partial(option.kind.given, name, given))
    tolerate = asked.get("tolerate") or OPTIONS["tolerate"].default
    names, _ = plan_options.parties_of(config, faults, parties or None, tolerate)
    held = plan_options.rows_held(names, form["rows"].strip() or None, faults)
    over = faults.collect("--attributes", lambda: about(load_schema(config.parent / SCHEMA), asked.get("attributes")))
    budgets = list[Budgeted]()
    silent: tuple[str, ...] = ()
    for epsilon in epsilons if over is not None else ():
        request = request_document({**asked, "epsilon": str(epsilon)}) if not faults.problems else None
        if request is None:
            break
        assert over is not None
        request = with_algorithm(request, over, tuple(held.values()))
        plan = faults.collect("--algorithm", lambda request=request: planned(request, over, held))  # type: ignore[misc]
        if plan is None:
            break
        foreseen = forecast(documents, manifest, request)
        silent = tuple(one.party for one in foreseen.parties if not one.published_at)
        budgets.append(Budgeted(epsilon, request, plan, foreseen.refusing))
    if faults.problems or over is None:
        return Comparison((), tuple(faults.problems))
    shape = Shape(over, tuple(held.values()), tolerate)
    return Comparison(tuple(budgets), (), held, silent, shape, _grid(budgets, over, len(held)))


def _given(option: Option, text: str) -> Any:
    """What a field of the form asks for; None of an empty one."""
    text = text.strip()
    if option.kind.command is int and text.isdecimal() and len(text) <= MOST_DIGITS:
        return int(text)
    if option.kind.schema.get("type") == "array":
        return [name for name in map(str.strip, text.split(option.kind.between)) if name] or None
    return text or None


def _grid(budgets: list[Budgeted], over: Schema, parties: int) -> Grid | None:
    """What would be rehearsed; None of several algorithms, open domains, or pairs that are too large."""
    algorithms, pairs = {one.request["algorithm"] for one in budgets}, Faults()
    plan_options.check_pairs(over, pairs)
    if len(algorithms) != 1 or any(one.plan.hidden for one in budgets) or pairs.problems:
        return None
    request = budgets[0].request
    spent = parse_delta(request["delta"])
    return Grid(tuple(one.epsilon for one in budgets), {request["algorithm"]: request["settings"]}, spent, (parties,))


def rehearse(comparison: Comparison) -> Rehearsed:
    """Begin to rehearse what is compared."""
    found = Rehearsed()
    shape, grid = comparison.shape, comparison.grid
    assert shape is not None
    assert grid is not None

    def told(done: int, total: int, seconds: float) -> None:
        found.done, found.total, found.seconds = done, total, seconds

    def work() -> None:
        try:
            found.found.update({one.epsilon: one for one in estimates(shape, grid, TYPICAL, told=told, processes=1)})
        except Exception as error:  # a page that waits must not wait for ever
            found.fault = error.message if isinstance(error, PrivityError) else type(error).__name__
        found.is_over = True

    threading.Thread(target=work, daemon=True).start()
    return found
