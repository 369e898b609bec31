"""Commands of a data owner: ``privity party ...``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from common.process import stop_when_stdin_closes
from party.agent import Agent
from party.config import load_config, load_engine

party_app = typer.Typer(no_args_is_help=True, help="Commands of a data owner's node.")


@party_app.callback()
def _party() -> None:
    """Commands of a data owner's node."""


@party_app.command()
def serve(
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
    stop_with_stdin: Annotated[bool, typer.Option(help="stop when standard input closes")] = False,
) -> None:
    """Answer the steps of runs that the policy allows, until interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    settings = load_config(config)
    agent = Agent(settings, load_engine(settings))
    if stop_with_stdin:
        stop_when_stdin_closes()
    asyncio.run(_until_stopped(agent))


async def _until_stopped(agent: Agent) -> None:
    task = asyncio.create_task(agent.serve())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
