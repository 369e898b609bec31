"""``privity party transcript``: this party's transcripts, from a process of its own beside the node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.journal import Journal
from privity.common.storage.safe_files import write_whole
from privity.common.text import text_table
from privity.common.text.terminal import say
from privity.party.approvals import Approvals
from privity.party.config import JOURNAL_FILE, load_config
from privity.party.keys import KeyFiles
from privity.party.transcript import TRANSCRIPTS, Transcripts

HINT = "`privity party transcript` without a name lists the runs that there are transcripts of."


def transcript(
    run: Annotated[str | None, typer.Argument(help="name of the run; by default all are listed")] = None,
    out: Annotated[Path | None, typer.Option(help="file to write; by default standard output")] = None,
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
) -> None:
    """Export the signed transcript of a run, for comparison with those of other parties; or list transcripts."""
    settings = load_config(config)
    file = settings.state / JOURNAL_FILE
    if not file.exists():
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=file, first="privity party serve")
    journal = Journal(file)
    keys = KeyFiles(settings.name, settings.keys, settings.certificate, settings.key).load()
    transcripts = Transcripts(settings.name, journal, keys, settings.state / TRANSCRIPTS)
    if run is None:
        _list(transcripts, Approvals(journal))
        return
    text = transcripts.text(run)
    if text is None:
        raise PrivityError(Catalogue.RUN_UNKNOWN, run=run, hint=HINT)
    if out is None:
        say(*text.split("\n"), end="")
    else:
        write_whole(out, text)
        say(f"Written: {out}. It holds digests, and is meant for members of the consortium.")
    if transcripts.is_open(run):
        say(f"{run} has not ended here: the transcript is unfinished.", err=True)


def _list(transcripts: Transcripts, approvals: Approvals) -> None:
    shown = text_table.table("run", "steps", "ended")
    for statement in transcripts.written():
        ended = statement["end"] or "without a word of the curator"
        text_table.add(shown, statement["run"], str(statement["entries"]), ended)
    for filed in approvals.filed():
        unfinished = None if filed.closed else transcripts.of(filed.spec.run)
        if unfinished is not None:
            text_table.add(shown, unfinished.run, str(len(unfinished.entries)), "not yet")
    text_table.show(shown)
