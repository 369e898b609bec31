"""Commands of the curator's operator: ``privity curator ...``."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import typer

from common.process import stop_when_stdin_closes
from curator import server

curator_app = typer.Typer(no_args_is_help=True, help="Commands of the curator's operator.")


@curator_app.callback()
def _curator() -> None:
    """Commands of the curator's operator."""


@curator_app.command()
def serve(
    config: Annotated[Path, typer.Option(help="curator.toml")] = Path("curator.toml"),
    port_file: Annotated[Path | None, typer.Option(help="write the bound port to this file")] = None,
    stop_with_stdin: Annotated[bool, typer.Option(help="stop when standard input closes")] = False,
) -> None:
    """Serve parties and operators until interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    if stop_with_stdin:
        stop_when_stdin_closes()
    asyncio.run(server.serve(server.load_config(config), port_file))
