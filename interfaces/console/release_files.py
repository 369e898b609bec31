"""A fetched release on a page: its files to download, and its report to read."""

from __future__ import annotations

from pathlib import Path

import flask

from privity.common.release.release_contents import MEANINGS, REPORT
from privity.common.release.release_folder import is_release

RELEASES = "releases"
"""Folder of fetched releases, beside the settings of their party or operator."""


def files_of(folder: Path) -> list[tuple[str, str]]:
    """The files of a fetched release besides its report, and what each is."""
    return [(name, meaning) for name, meaning in MEANINGS.items() if name != REPORT and (folder / name).is_file()]


def release_file(folder: Path, name: str) -> flask.Response:
    """A file of a release. Its report was made elsewhere: it may style itself, and nothing else."""
    if name not in MEANINGS or not is_release(folder) or not (folder / name).is_file():
        flask.abort(404)
    answer: flask.Response = flask.send_file((folder / name).absolute(), as_attachment=name != REPORT)
    answer.headers["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    return answer
