"""``privity plan``: what a run would cost and how good its table would be, for anybody with a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from privity.common.data.schema import load_schema
from privity.common.privacy.budget import parse_delta, parse_epsilon
from privity.common.protocol.secure_sum_method import Method
from privity.common.storage.safe_files import write_text
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text import terminal
from privity.common.text.terminal import say_json
from privity.deploy.operator import request_options as options
from privity.deploy.options import refuse_existing
from privity.deploy.planning import accuracy_page, plan_options
from privity.deploy.planning.expected_error import CAVEAT, MEANING, TYPICAL, Estimate, Grid, estimates
from privity.deploy.planning.invented_tables import shipped_profiles
from privity.deploy.planning.line_chart import one_picture
from privity.deploy.planning.plan_options import MOST_PARTIES, Faults
from privity.deploy.planning.rehearsal import Shape
from privity.deploy.planning.run_cost import Planned, about, check_tolerated, plan_document, planned, show_plan

EPSILONS = "0.1,0.2,0.4,0.8,1.6"
COMPARED = "dp-subn,jtree,one-way,privbayes"
PICTURE, PAGE = ".svg", ".html"


def plan_command(
    schema: Annotated[Path, typer.Option(help="the schema of the table (docs/schema.md)")],
    spec: options.Spec = None,
    epsilon: options.Epsilon = None,
    algorithm: options.AlgorithmName = options.ALGORITHM,
    delta: options.Delta = options.NO_DELTA,
    settings: options.Settings = options.NO_SETTINGS,
    inference: options.Inference = None,
    parties: Annotated[int, typer.Option(help="how many; 1 is one owner alone")] = 1,
    tolerate: Annotated[
        int | None, typer.Option(help="t, how many parties may pool what they know; left out, 1, or 0 of one owner")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="of all parties together, in equal parts")] = None,
    party_rows: Annotated[
        list[int] | None, typer.Option(help="in its place: rows of a party, one number, or one for each party")
    ] = None,
    attributes: options.Attributes = None,
    secure_sum: options.SecureSum = Method.PAILLIER,
    key_bits: options.KeyBits = None,
    exponents: options.ExponentsKind = None,
    evaluation_epsilon: options.EvaluationEpsilon = None,
    evaluation_target: options.EvaluationTargets = None,
    accuracy: Annotated[
        bool, typer.Option("--accuracy", help="rehearse on invented tables: the expected error by epsilon")
    ] = False,
    epsilons: Annotated[str, typer.Option(help="that --accuracy compares")] = EPSILONS,
    algorithms: Annotated[str, typer.Option(help="that --accuracy compares")] = COMPARED,
    compare_parties: Annotated[
        str | None, typer.Option(help="numbers of parties that --accuracy compares, such as 1,3,10")
    ] = None,
    dependence: Annotated[
        str, typer.Option(help="how strongly attributes depend on each other, if you know: weak, typical or strong")
    ] = TYPICAL,
    plot: Annotated[
        Path | None, typer.Option(help="a page (.html) or a picture (.svg) of what --accuracy finds, to be made")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, to be read by programs")] = False,
) -> None:
    """Say what a run would cost, and with --accuracy how far off its table would be, before anything is spent."""
    faults = Faults()
    if plot is not None:
        faults.collect("--plot", lambda: refuse_existing(plot))
        if not accuracy or plot.suffix not in (PICTURE, PAGE):
            faults.add(
                "--plot", f"{plot} cannot be made.", f"It goes with --accuracy, and ends in {PAGE} or {PICTURE}."
            )
    if not 1 <= parties <= MOST_PARTIES:
        faults.add("--parties", f"{parties} is not offered.", f"Give 1 to {MOST_PARTIES}.")
        parties = 1
    if dependence not in (profiles := shipped_profiles()):
        faults.add("--dependence", f"{dependence!r} is unknown.", f"Possible: {', '.join(profiles)}.")
    asked = epsilon is not None or spec is not None
    if not asked and not accuracy:
        faults.add("--epsilon", "it is left out.", "Give it, or a run by --spec, or ask for --accuracy.")
    request = faults.collect(
        "--spec" if spec is not None else "--epsilon",
        lambda: options.run_request(
            spec, epsilon if asked else "1", algorithm, delta, settings, options.ONE, attributes, secure_sum, key_bits,
            exponents, None, evaluation_epsilon, evaluation_target, inference,
        ),
    )  # fmt: skip
    if request is not None and request["algorithm"] not in ALGORITHMS:
        faults.add("--algorithm", f"{algorithm!r} is no algorithm.", f"Possible: {', '.join(ALGORITHMS)}.")
    tolerated = _tolerated(parties, tolerate, request)
    faults.collect("--tolerate", lambda: check_tolerated(tolerated, parties))
    held = plan_options.held_by_parties(parties, rows, party_rows, faults)
    names = None if request is None else request.get("attributes")
    over = faults.collect("--schema", lambda: about(load_schema(schema), names))
    grid = None
    if accuracy:
        compared = plan_options.compared_epsilons(epsilons, faults)
        named = plan_options.compared_algorithms(algorithms, faults)
        counts = plan_options.compared_parties(compare_parties, parties, sum(held.values()), faults)
        if over is not None:
            plan_options.check_pairs(over, faults)
        if over is not None and request is not None:
            spent = parse_delta(request["delta"])
            own = plan_options.settings_of(named, request["algorithm"], request["settings"], over, spent, faults)
            extra = {parse_epsilon(request["epsilon"])} if asked else set()
            grid = Grid(tuple(sorted({*compared, *extra})), own, spent, counts)
    faults.raise_any()
    assert over is not None
    assert request is not None
    request["tolerate"] = tolerated
    plan = planned(request, over, held) if asked else None
    shape = Shape(over, tuple(held.values()), tolerated)
    found = None if grid is None else _estimated(shape, grid, dependence)
    if as_json:
        say_json(_document(request, held, plan, shape, found))
    else:
        if plan is not None:
            show_plan(plan, held, request)
        if found is not None:
            accuracy_page.show(shape, found)
    if plot is not None and found is not None:
        picture = plot.suffix == PICTURE
        write_text(one_picture(accuracy_page.charts(found)) if picture else accuracy_page.page(shape, found), plot)


def _tolerated(parties: int, given: int | None, request: dict[str, Any] | None) -> int:
    """t: what was given, else what a spec says; of one owner alone 0."""
    if given is not None:
        return given
    asked = options.ONE if request is None else int(request["tolerate"])
    return 0 if parties == 1 and asked == options.ONE else asked


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
