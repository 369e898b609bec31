"""``privity verify`` and ``privity export``: what else is done with a release."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from privity.common.data.sdv_metadata import export_sdv
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.export import export_dpsynth, export_mbi
from privity.common.release.release_folder import read_release
from privity.common.release.verification.release_verification import check_release, check_signed_release
from privity.common.storage.safe_files import refuse_existing
from privity.common.text.terminal import say

Release = Annotated[Path, typer.Argument(help="the folder of a release")]


class Shape(Enum):
    """Whose shape the noisy marginals, or the metadata of the table, are written in."""

    MBI = "mbi"
    DPSYNTH = "dpsynth"
    SDV = "sdv"


def verify_command(
    release: Release,
    root: Annotated[
        Path | None, typer.Option(help="organiser.pub: check who signed the release, and whether all agree")
    ] = None,
    allow_missing: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="a party whose signature need not be there; may be given again"),
    ] = None,
) -> None:
    """Check the files, figures and rows of a release, and who signed it. All faults are listed at once."""
    if root is None and allow_missing:
        reason, hint = "no signature is checked without a root", "Give --root organiser.pub, too."
        raise PrivityError(Catalogue.BAD_OPTION, option="allow-missing", reason=reason, hint=hint)
    found = check_release(release) if root is None else check_signed_release(release, root, allow_missing or ())
    say("The data of this release are whole and fit together. What was checked:")
    for line in found:
        say(f"  {line}")


def export_command(
    release: Release,
    to: Annotated[Shape, typer.Option(help="mbi: one JSON file; dpsynth: a folder; sdv: metadata of the table")],
    out: Annotated[Path, typer.Option(help="file or folder to make; must not exist")],
) -> None:
    """Write a release's noisy marginals, or metadata, in a format that another library reads."""
    refuse_existing(out)
    found = read_release(release)
    if to is Shape.SDV:
        export_sdv(found.schema, out)
        say(f"Metadata of {len(found.schema.attributes) + len(found.schema.unread)} columns written to {out}.")
        return
    exported = (export_mbi if to is Shape.MBI else export_dpsynth)(found, out)
    say(f"{exported.tables} noisy marginals written to {out}.")
    for line in exported.left_out:
        say(line)
