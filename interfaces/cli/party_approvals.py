"""``privity party show|approve|reject``: the owner's word on a run, from a process of its own beside the node."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Ledger
from privity.common.storage.journal import Journal
from privity.common.text import text_table
from privity.common.text.command_hints import option
from privity.common.text.terminal import agreed, say, say_json
from privity.interfaces.console.run_standing import under_way
from privity.party import run_notice
from privity.party.approvals import Approvals, Filed
from privity.party.config import JOURNAL_FILE, PartyConfig, ledger_of, load_config, read_policy
from privity.party.policy import Policy
from privity.party.sources.pass_progress import pass_in_words
from privity.party.told_in_time import leaving_in_time

Config = Annotated[Path, typer.Option(help="party.toml")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]
Run = Annotated[str, typer.Argument(help="name of the run")]
HERE = Path("party.toml")
STANDARD_OUTPUT = 1


def approvals_of(config: PartyConfig) -> Approvals:
    """What this party was asked, by its journal."""
    file = config.state / JOURNAL_FILE
    if not file.exists():
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=file, first="privity party serve")
    return Approvals(Journal(file))


def show(
    run: Annotated[str | None, typer.Argument(help="name of the run; by default all are listed")] = None,
    config: Config = HERE,
    as_json: AsJson = False,
) -> None:
    """Show in plain words what a run would take from this party and what it costs, or list all runs."""
    settings = load_config(config)
    approvals = approvals_of(settings)
    if run is None:
        _list(approvals.filed(), settings.name, as_json)
        if not as_json and (told := pass_in_words(settings.state)):
            say(told)
        return
    filed = approvals.of(run)
    words = list(run_notice.in_words(_notice(filed, settings)))
    if as_json:
        document = _content(filed, settings.name) | {"spec": filed.spec.to_dict(), "in_words": words}
        say(*json.dumps(document, indent=2).split("\n"))
        return
    here = option("config", config, HERE)
    then = f"Then: privity party approve {run}{here} --digest {filed.spec.digest}"
    passing = [told] if under_way(filed) and (told := pass_in_words(settings.state)) else []
    offered = [then, f"or: privity party reject {run}{here}"] if filed.pending else []
    say(_headline(filed, settings), *words, *passing, *offered)


def _headline(filed: Filed, settings: PartyConfig) -> str:
    by = run_notice.asked_by(filed, settings)
    return f"{filed.spec.run}, asked for {filed.asked_at} by {by}: {filed.in_words(settings.name)}."


def _notice(filed: Filed, settings: PartyConfig) -> list[run_notice.Section]:
    with contextlib.ExitStack() as stack:

        def opened() -> tuple[Policy, Ledger]:
            policy = read_policy(settings)
            return policy, stack.enter_context(contextlib.closing(ledger_of(settings, policy.population.name)))

        return run_notice.explained(filed, settings, opened, leaving_in_time)


def approve(
    run: Run,
    digest: Annotated[
        str | None,
        typer.Option(help="approve what `privity party show` showed under this digest; by default it is shown now"),
    ] = None,
    config: Config = HERE,
) -> None:
    """Approve exactly what was read, so that this party takes part in it: show the run and ask, or take its digest."""
    settings = load_config(config)
    approvals, here = approvals_of(settings), option("config", config, HERE)
    if digest is None:
        filed = approvals.of(run)
        if filed.pending:
            _read_and_agreed(filed, settings, here)
        digest = filed.spec.digest
    approvals.approve(run, digest, here)
    say(f"{run}: approved. The node goes on by itself.")


def _read_and_agreed(filed: Filed, settings: PartyConfig, here: str) -> None:
    """Show a run, and go on only if its owner then approves it.

    Raises:
        PrivityError: bad-option: it was not read to its end, or was not approved.
    """
    run = filed.spec.run
    _say_whole(_headline(filed, settings), *run_notice.in_words(_notice(filed, settings)))
    if not agreed(f"Approve {run}?"):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="run", reason=f"nobody approved {run} when asked",
            hint=f"Answer y; or, where nobody can be asked, approve what you have read:"
            f" privity party approve {run}{here} --digest DIGEST, with the digest that privity party show prints.",
        )  # fmt: skip


def reject(
    run: Run,
    reason: Annotated[str, typer.Option(help="the reason; the operator and the other members can read it")] = "",
    config: Config = HERE,
) -> None:
    """Reject a run, at any time: nothing more leaves this party. What left before stays charged."""
    approvals = approvals_of(load_config(config))
    filed = approvals.of(run)
    if filed.closed:
        say(f"{run} has ended: there is nothing left to reject. What has left before stays charged.")
        return
    approvals.reject(run, reason)
    say(f"{run}: rejected. Nothing more of it leaves this party.")


def _say_whole(*lines: str) -> None:
    """Print lines to their end.

    Raises:
        PrivityError: whoever reads it has stopped before.
    """
    try:
        say(*lines)
    except BrokenPipeError:
        # What is left in the buffer would be tried again at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)
        raise PrivityError(
            Catalogue.BAD_OPTION, option="run", reason="it was not read to the end; nothing was approved",
            hint="Show it again, and read all of it.",
        ) from None  # fmt: skip


def _content(filed: Filed, party: str) -> dict[str, Any]:
    return {
        "run": filed.spec.run,
        "algorithm": filed.spec.algorithm,
        "epsilon": str(filed.spec.epsilon),
        "asked_at": filed.asked_at,
        "submitter": filed.submitter,
        "state": filed.state,
        "digest": filed.spec.digest,
        "stands": filed.in_words(party),
        "refusal": None if filed.denied is None else asdict(filed.denied),
    }


def _list(filed: list[Filed], party: str, as_json: bool) -> None:
    if as_json:
        say_json([_content(one, party) for one in filed])
        return
    shown = text_table.table("asked for (UTC)", "run", "algorithm", "epsilon", "state")
    for one in filed:
        run, epsilon = one.spec.run, readable(one.spec.epsilon)
        text_table.add(shown, one.asked_at, run, one.spec.algorithm, epsilon, _in_a_line(one, party))
    text_table.show(shown)


def _in_a_line(filed: Filed, party: str) -> str:
    words = filed.in_words(party)
    return words if filed.denied is None else f"{words}: {'; '.join(filed.denied.reasons)}"
