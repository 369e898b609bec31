"""``privity party notices`` and ``privity curator notices``: what a node told people, and a trial."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.notices.channels import Channel, Mail, Notice, NotTakenError
from privity.common.notices.outbox import WAITS, Outbox
from privity.common.storage.journal import Journal
from privity.common.text import text_table
from privity.common.text.terminal import say

Trial = Annotated[bool, typer.Option("--try", help="send a trial on each channel now, and say whether it was accepted")]


def show(file: Path, node: str, channels: tuple[Channel, ...], journal: Path, *, trial: bool) -> None:
    """Say what was sent, what waits and why; or try each channel.

    Args:
        file: the settings that name the channels.
        journal: the node's.

    Raises:
        PrivityError: bad-option: there is no channel to try.
        ProblemsFound: each channel that takes nothing.
    """
    if trial:
        _try(file, node, channels)
        return
    if not channels:
        say(f"{file} has no table `notices`: nobody is told of anything.")
    if not journal.exists():
        return
    table = text_table.table("posted (UTC)", "channel", "notice", "state")
    for each in Outbox(Journal(journal), node, channels).deliveries():
        state = each.state if each.state != WAITS or not each.tries else f"waits, tried {each.tries} times"
        text_table.add(
            table, each.notice.at, each.channel, each.notice.subject, ": ".join(filter(None, (state, each.reason)))
        )
    text_table.show(table)


def _try(file: Path, node: str, channels: tuple[Channel, ...]) -> None:
    if not channels:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="try", reason=f"{file} has no table `notices`",
            hint="Write one: docs/formats.md, Notices.",
        )  # fmt: skip
    at = datetime.now(UTC).isoformat(timespec="seconds")
    notice = Notice("trial", "a trial", "This is a trial: notices come this way.", at)
    problems = []
    for channel in channels:
        try:
            channel.send(node, [notice])
        except NotTakenError as error:
            field = f"notices.{'mail_to' if isinstance(channel, Mail) else channel.name}"
            remedy = "Correct the address, or ask whoever runs it."
            problems.append(Problem(str(file), field, "not-taken", f"{error}.", remedy))
        else:
            say(f"{channel.to} took a trial.")
    if problems:
        raise ProblemsFound(problems)
