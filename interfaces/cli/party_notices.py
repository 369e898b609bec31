"""``privity party notices|fetch``: what the node told its owner, and the release of a run that it took part in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.storage.safe_files import refuse_existing
from privity.common.text.terminal import say
from privity.deploy.operator.curator_link import party_client
from privity.interfaces.cli import notices as shown
from privity.interfaces.cli.party_approvals import approvals_of
from privity.party.config import JOURNAL_FILE, load_config

Config = Annotated[Path, typer.Option(help="party.toml")]
HERE = Path("party.toml")


def notices(config: Config = HERE, trial: shown.Trial = False) -> None:
    """Show what this node told its owner by e-mail or webhook, or send a trial."""
    settings = load_config(config)
    shown.show(config, settings.name, settings.notices, settings.state / JOURNAL_FILE, trial=trial)


def fetch(
    run: Annotated[str, typer.Argument(help="name of the run")],
    out: Annotated[Path | None, typer.Option(help="folder to make; by default the run's name")] = None,
    config: Config = HERE,
) -> None:
    """Fetch the release of a run that this party took part in, and check it like `privity verify`."""
    folder = out or Path(run)
    refuse_existing(folder)
    settings = load_config(config)
    filed = approvals_of(settings).of(run)
    signed = party_client(settings).fetch(run, folder, attested=filed.attested)
    say(f"The release of {run} is in {folder}.", signed)
