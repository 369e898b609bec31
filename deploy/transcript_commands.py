"""``privity transcript``: whether the parties of a run were told the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from common.errors import Catalogue, PrivityError
from common.membership.member_folder import ORGANISER_KEY
from common.protocol.manifest import Manifest, read_manifest
from common.protocol.transcript import Transcript, printable, read_transcript
from deploy.transcript_comparison import compare

transcript_app = typer.Typer(no_args_is_help=True, help="What the parties of a run received and sent.")

HERE = Path("manifest.json")


@transcript_app.callback()
def _transcript() -> None:
    """What the parties of a run received and sent."""


@transcript_app.command("verify")
def verify(
    files: Annotated[list[Path], typer.Argument(help="transcripts of one run")],
    manifest: Annotated[
        list[Path] | None,
        typer.Option(help="manifest.json; once more for each older one under whose keys a transcript is signed"),
    ] = None,
    organiser_key: Annotated[
        Path | None, typer.Option(help="the organiser's public key; organiser.pub beside the manifest if left out")
    ] = None,
) -> None:
    """Check chain and signature of each transcript, and compare several of one run: exit code 10 if they differ."""
    manifests = [read_manifest(path, organiser_key or path.parent / ORGANISER_KEY) for path in manifest or [HERE]]
    transcripts = [read_transcript(file, manifests) for file in files]
    run = _one_run(transcripts)
    found = compare(transcripts)
    if found:
        raise PrivityError(Catalogue.TRANSCRIPTS_DIFFER, run=run, reason="\n".join(map(str, found)))
    _show(files, transcripts)
    parties = sorted({transcript.party for transcript in transcripts})
    if len(parties) == 1:
        print(f"Chain and signature hold. Give the transcripts of other parties of {run}, too, to compare them.")
    else:
        print(f"They agree: {', '.join(parties)} were told the same in {run}.")
    absent = [name for name in _newest(manifests).members if name not in parties]
    if absent:
        print(f"Nothing is said about {', '.join(absent)}: no transcript of theirs was given.")


def _newest(manifests: list[Manifest]) -> Manifest:
    return max(manifests, key=lambda manifest: manifest.serial)


def _one_run(transcripts: list[Transcript]) -> str:
    runs = sorted({transcript.run for transcript in transcripts})
    if len(runs) > 1:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="files", reason=f"they are of several runs: {', '.join(runs)}",
            hint="Give transcripts of one run.",
        )  # fmt: skip
    return runs[0]


def _show(files: list[Path], transcripts: list[Transcript]) -> None:
    shown = Table("file", "party", "steps", "ended")
    for file, transcript in zip(files, transcripts, strict=True):
        ended = "unfinished" if transcript.end is None else printable(transcript.end)
        shown.add_row(escape(str(file)), transcript.party, str(len(transcript.entries)), escape(ended))
    Console().print(shown)
