"""``privity transcript``: whether the parties of a run were told the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.consortium.manifest import Manifest, read_manifest
from privity.common.consortium.member_folder import ORGANISER_KEY
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.transcript import Transcript, read_transcript
from privity.common.text import text_table
from privity.common.text.terminal import say
from privity.deploy.operator.transcript_comparison import compare

transcript_app = typer.Typer(no_args_is_help=True, help="Compare what the parties of a run received and sent.")

HERE = Path("manifest.json")


@transcript_app.callback()
def _transcript() -> None:
    """Compare what the parties of a run received and sent."""


@transcript_app.command("verify")
def verify(
    files: Annotated[list[Path], typer.Argument(help="transcripts of one run")],
    manifest: Annotated[
        list[Path] | None,
        typer.Option(help="manifest.json; repeat it for each older manifest under whose keys a transcript is signed"),
    ] = None,
    organiser_key: Annotated[
        Path | None, typer.Option(help="the organiser's public key; by default organiser.pub beside the manifest")
    ] = None,
) -> None:
    """Check the chain and signature of each transcript, and compare those of one run. Exit code 10 if they differ."""
    manifests = [read_manifest(path, organiser_key or path.parent / ORGANISER_KEY) for path in manifest or [HERE]]
    transcripts = [read_transcript(file, manifests) for file in files]
    run = _one_run(transcripts)
    found = compare(transcripts)
    if found:
        raise PrivityError(Catalogue.TRANSCRIPTS_DIFFER, run=run, reason=tuple(map(str, found)))
    _show(files, transcripts)
    parties = sorted({transcript.party for transcript in transcripts})
    if len(parties) == 1:
        say(f"Chain and signature hold. Give the transcripts of other parties of {run}, too, to compare them.")
    else:
        say(f"They agree: {', '.join(parties)} were told the same in {run}.")
    absent = [name for name in _newest(manifests).members if name not in parties]
    if absent:
        say(f"Nothing is said about {', '.join(absent)}: no transcript of theirs was given, or they took no part.")


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
    shown = text_table.table("file", "party", "steps", "ended")
    for file, transcript in zip(files, transcripts, strict=True):
        ended = "unfinished" if transcript.end is None else transcript.end
        text_table.add(shown, str(file), transcript.party, str(len(transcript.entries)), ended)
    text_table.show(shown)
