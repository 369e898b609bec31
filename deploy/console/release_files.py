"""A fetched release on a page: its files to download, and its report to read."""

from __future__ import annotations

from pathlib import Path

import flask

from privity.common.release.release_contents import (
    MARGINALS,
    MODEL,
    PRIVACY,
    RELEASE_FILES,
    REPORT,
    RUN,
    SCHEMA,
    SYNTHETIC,
)
from privity.common.release.release_folder import is_release

RELEASES = "releases"
"""Folder of fetched releases, beside the settings of their party or operator."""

MEANINGS = {
    SYNTHETIC: "the synthetic table",
    MODEL: "the model that it was drawn from",
    MARGINALS: "the noisy counts",
    PRIVACY: "what it cost each party's people, and what that promises",
    RUN: "how it was made, and the digests of the files",
    SCHEMA: "the columns, and the values that they may have",
    REPORT: "all of it on one page",
}
"""Of each file of a release."""


def release_file(folder: Path, name: str) -> flask.Response:
    """A file of a release. Its report was made elsewhere: it may style itself, and nothing else."""
    if name not in RELEASE_FILES or not is_release(folder):
        flask.abort(404)
    answer: flask.Response = flask.send_file((folder / name).absolute(), as_attachment=name != REPORT)
    answer.headers["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    return answer
