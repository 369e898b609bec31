"""The release of one owner's rows: what is learnt is one, and is written at once; then rows are drawn."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError
from privity.common.release.release_contents import Release
from privity.common.release.release_folder import write_learnt
from privity.common.release.report.report_page import write_with_report
from privity.common.release.session_release import finished, synthesised


def publish(learnt: Callable[[], Release], out: Path, rows: int | None = None) -> Release:
    """Draw the rows of what was learnt, and write all of it; at no charge.

    Args:
        learnt: makes the unfinished release.
        out: where there is nothing, or that release.
        rows: how many; by default as many as are taken to be in the table.

    Raises:
        PrivityError: release-unfinished: it failed after what was learnt was written.
    """
    with telling_where(out):
        if not out.exists():
            keep(learnt, out)
        began = learnt()
        synthetic = synthesised(began.model, began.places, rows, secrets.randbits(64)).synthetic
        release = finished(began, synthetic)
        write_with_report(out, release, synthetic)
    return release


def keep(learnt: Callable[[], Release], out: Path) -> None:
    """Write what was learnt to its folder; to one for scratch files if that fails, which is told."""
    try:
        write_learnt(out, learnt())
    except Exception as error:
        elsewhere = Path(tempfile.mkdtemp(prefix="privity-release-")) / "release"
        write_learnt(elsewhere, learnt())
        raise _unfinished(elsewhere, f"{out} cannot be written ({error})") from error


@contextmanager
def telling_where(out: Path) -> Iterator[None]:
    """Whatever fails once what was learnt is kept says where it is."""
    try:
        yield
    except KeyboardInterrupt:
        if not out.exists():
            raise
        raise KeyboardInterrupt(_unfinished(out, "it was interrupted").message) from None
    except Exception as error:
        told = isinstance(error, PrivityError) and error.kind is Catalogue.RELEASE_UNFINISHED
        if told or not out.exists():
            raise
        raise _unfinished(out, f"{type(error).__name__}: {error}") from error


def _unfinished(release: Path, reason: str) -> PrivityError:
    return PrivityError(Catalogue.RELEASE_UNFINISHED, file=release, reason=reason)
