"""``privity plan``: what a run would cost and how good its table would be, for anybody with a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from privity.assessment.planning import accuracy_page
from privity.assessment.planning.expected_error import CAVEAT, MEANING, TYPICAL, Estimate, Grid, estimates
from privity.assessment.planning.invented_tables import shipped_profiles
from privity.assessment.planning.line_chart import one_picture
from privity.assessment.planning.rehearsal import Shape
from privity.assessment.planning.run_cost import (
    Planned,
    about,
    check_tolerated,
    open_domains,
    plan_document,
    planned,
    show_plan,
)
from privity.common.consortium.member_folder import SCHEMA
from privity.common.data.schema import load_schema
from privity.common.privacy.budget import parse_delta, parse_epsilon
from privity.common.protocol.declared_options import Taker
from privity.common.protocol.run_terms import AUTO
from privity.common.runs.automatic_choice import with_algorithm
from privity.common.runs.run_request import OPTIONS
from privity.common.storage.safe_files import refuse_existing, write_text
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text import terminal
from privity.common.text.terminal import say, say_json
from privity.deploy.operator import plan_options
from privity.deploy.operator.foreseen_refusals import forecast_of
from privity.deploy.operator.operator_folder import SETTINGS
from privity.deploy.operator.plan_options import Faults
from privity.deploy.operator.request_options import run_request
from privity.interfaces.cli.options import takes_run_options
from privity.interfaces.cli.schema import tell_unkept_rules

EPSILONS = "0.1,0.2,0.4,0.8,1.6"
COMPARED = "dp-subn,jtree,one-way,privbayes"
PICTURE, PAGE = ".svg", ".html"


@takes_run_options(Taker.PLAN)
def plan_command(
    asked: dict[str, Any],
    schema: Annotated[
        Path | None,
        typer.Option(help="the table's schema (docs/schema.md); by default that of the operator's folder"),
    ] = None,
    config: Annotated[Path, typer.Option(help="operator.toml of the consortium to plan for, without --schema")] = Path(
        SETTINGS
    ),
    rows: Annotated[
        str | None, typer.Option(help="number of rows of all parties together, or of each, such as 9000,300,200")
    ] = None,
    accuracy: Annotated[
        bool, typer.Option("--accuracy", help="predict the error by epsilon, on invented tables")
    ] = False,
    epsilons: Annotated[str, typer.Option(help="epsilons that --accuracy compares")] = EPSILONS,
    algorithms: Annotated[str, typer.Option(help="algorithms that --accuracy compares")] = COMPARED,
    dependence: Annotated[
        str, typer.Option(help="how strongly attributes depend on each other, if you know: weak, typical or strong")
    ] = TYPICAL,
    plot: Annotated[
        Path | None, typer.Option(help="page (.html) or picture (.svg) to make of the result of --accuracy")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Predict what a run costs, and with --accuracy how far off its table will be, before anything is spent."""
    faults = Faults()
    if plot is not None:
        faults.collect("--plot", lambda: refuse_existing(plot))
        if not accuracy or plot.suffix not in (PICTURE, PAGE):
            faults.add(
                "--plot", f"{plot} cannot be made.", f"It goes with --accuracy, and ends in {PAGE} or {PICTURE}."
            )
    if dependence not in (profiles := shipped_profiles()):
        faults.add("--dependence", f"{dependence!r} is unknown.", f"Possible: {', '.join(profiles)}.")
    costed = "epsilon" in asked or "spec" in asked
    if not costed and not accuracy:
        faults.add("--epsilon", "it is left out.", "Give it, or a run by --spec, or ask for --accuracy.")
    parties = asked.get("parties")
    by_name = schema is None and (parties is None or not plan_options.are_numbers(parties))
    if not by_name:
        asked = {name: value for name, value in asked.items() if name != "parties"}
    request = faults.collect(
        "--spec" if "spec" in asked else "--epsilon",
        lambda: run_request(asked if costed else {**asked, "epsilon": "1"}),
    )
    left_out: list[str] = []
    if request is not None and request["algorithm"] not in (AUTO, *ALGORITHMS):
        faults.add("--algorithm", f"{request['algorithm']!r} is no algorithm.", f"Possible: {', '.join(ALGORITHMS)}.")
    if by_name:
        of_run = None if request is None else request.get("parties"), _tolerated(2, asked, request)
        names, left_out = faults.collect("--config", lambda: plan_options.parties_of(config, faults, *of_run)) or (
            [],
            [],
        )
        names = names or ["party 1"]
        counts: tuple[int, ...] = (len(names),)
    else:
        counts = plan_options.numbers_of_parties(parties or "1", faults)
        names = [f"party {k}" for k in range(1, counts[0] + 1)]
        if len(counts) > 1 and not accuracy:
            faults.add("--parties", "several are compared with --accuracy alone.", "Give one number, or --accuracy.")
        faults.collect("--tolerate", lambda: check_tolerated(_tolerated(len(names), asked, request), len(names)))
    tolerated = _tolerated(len(names), asked, request)
    held = plan_options.rows_held(names, rows, faults)
    if max(counts) > (total := sum(held.values())):
        faults.add("--parties", f"{max(counts)} parties cannot share {total:,} rows.", "Give fewer, or more rows.")
    attributes = None if request is None else request.get("attributes")
    over = faults.collect("--schema", lambda: about(load_schema(schema or config.parent / SCHEMA), attributes))
    if request is not None and over is not None and not faults.problems:
        request["tolerate"] = tolerated
        about_it, asked_for = over, request
        request = faults.collect("--algorithm", lambda: with_algorithm(asked_for, about_it, tuple(held.values())))
    grid = None
    if accuracy:
        compared = plan_options.compared_epsilons(epsilons, faults)
        named = plan_options.compared_algorithms(algorithms, faults)
        if over is not None and (hidden := open_domains(over)):
            plan_options.refuse_open_domains(hidden, faults)
            over = None
        if over is not None:
            plan_options.check_pairs(over, faults)
        if over is not None and request is not None:
            spent = parse_delta(request["delta"])
            own = plan_options.settings_of(named, request["algorithm"], request["settings"], over, spent, faults)
            extra = {parse_epsilon(request["epsilon"])} if costed else set()
            grid = Grid(tuple(sorted({*compared, *extra})), own, spent, tuple(sorted(set(counts))))
    faults.raise_any()
    assert over is not None
    assert request is not None
    tell_unkept_rules(over)
    plan = planned(request, over, held) if costed else None
    of_consortium = by_name and len(names) > 1
    foreseen = forecast_of(config, request) if costed and of_consortium else None
    shape = Shape(over, tuple(held.values()), tolerated)
    found = None if grid is None else _estimated(shape, grid, dependence)
    if as_json:
        besides: dict[str, Any] = {"left_out": left_out} if left_out else {}
        if foreseen is not None:
            besides["foreseen"] = foreseen.document()
        say_json(_document(request, held, plan, shape, found) | besides)
    else:
        if plan is not None:
            show_plan(plan, held, request)
            if left_out:
                say(f"Parties of the consortium that take no part: {', '.join(left_out)}.")
        if foreseen is not None:
            say(*foreseen.in_words())
        if found is not None:
            accuracy_page.show(shape, found)
    if plot is not None and found is not None:
        picture = plot.suffix == PICTURE
        write_text(one_picture(accuracy_page.charts(found)) if picture else accuracy_page.page(shape, found), plot)


def _tolerated(parties: int, asked: dict[str, Any], request: dict[str, Any] | None) -> int:
    """t: what was given, else what a spec says; 0 for a single owner."""
    usual = OPTIONS["tolerate"].default
    told = int((request or asked).get("tolerate", usual))
    return 0 if parties == 1 and told == usual and "tolerate" not in asked else told


def _estimated(shape: Shape, grid: Grid, dependence: str) -> list[Estimate]:
    """The grid rehearsed, with a bar for people who wait, and one line where there is no terminal."""
    console = terminal.console(err=True)
    columns = (
        TextColumn("Rehearsing on invented tables"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        shown = bar.add_task("", total=None, left="")
        said = False

        def told(done: int, total: int, seconds: float) -> None:
            nonlocal said
            about = f"about {max(1, round(seconds)):,} s left"
            bar.update(shown, completed=done, total=total, left=about)
            if not said and not console.is_terminal and done == grid.once:
                console.print(f"Rehearsing {total} times on invented tables: {about}.")
                said = True

        return estimates(shape, grid, dependence, told=told)


def _document(
    request: dict[str, Any],
    held: dict[str, int],
    plan: Planned | None,
    shape: Shape,
    found: list[Estimate] | None,
) -> dict[str, Any]:
    """Cost and accuracy for programs."""
    cost = {"format_version": 1} if plan is None else plan_document(request, held, plan)
    if found is None:
        return cost
    declared = {
        "rows": shape.rows,
        "party_rows": list(shape.party_rows),
        "tolerate": shape.tolerate,
        "attributes": len(shape.schema.attributes),
        "schema_digest": shape.schema.digest,
    }
    about = {"meaning": MEANING, "caveat": CAVEAT, "shape": declared}
    return {**cost, "accuracy": {**about, "estimates": [estimate.to_dict() for estimate in found]}}
