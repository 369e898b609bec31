"""A release of somebody else's making is refused in words: strange figures, pipes, devices and links in it, too."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privity
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.release.release_contents import MARGINALS, MODEL, PRIVACY, RUN, SCHEMA
from privity.common.release.report.report_page import report_of, write_with_report
from privity.common.release.verification.release_verification import check_release
from privity.release_sources import fetch_release
from tests.harness.releases import release_of

NUMBERS = [10**400, 10**18, -1, 1.5, 1e300, True, "1"]
EXACT = ["1/0", "9" * 5000, "1e999999999", "-1", "1/2\n"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    fields = [{"name": name, "type": "string", "categories": ["x", "y"]} for name in "ab"]
    frame = pd.DataFrame({"a": list("xy") * 20, "b": list("xxyy") * 10})
    release, found = release_of(folder, "one-way", frame, parse_schema({"fields": fields}, "s"))
    write_with_report(folder / "release", release, found)
    check_release(folder / "release")
    return folder / "release"


def leaves(document: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Values without members; of each list the first."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, (*path, key))
    elif isinstance(document, list):
        for place, value in enumerate(document[:1]):
            yield from leaves(value, (*path, place))
    else:
        yield path, document


def with_digests(folder: Path) -> None:
    run = json.loads((folder / RUN).read_text())
    run["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in run["files"]}
    (folder / RUN).write_text(json.dumps(run))


@pytest.mark.parametrize("file", [RUN, PRIVACY, MARGINALS, MODEL])
def test_a_strange_figure_is_refused_in_words_or_is_harmless(sound: Path, tmp_path: Path, file: str) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    text = (sound / file).read_text()
    refused = 0
    for path, value in leaves(json.loads(text)):
        if path[0] == "files" or isinstance(value, bool | None):
            continue
        exact = isinstance(value, str) and value[:1].isdigit() and len(value) < 64
        for strange in EXACT if exact else NUMBERS if isinstance(value, int | float) else ():
            document = json.loads(text)
            place = document
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = strange
            (folder / file).write_text(json.dumps(document))
            with_digests(folder)
            try:
                check_release(folder)
                report_of(folder)
            except PrivityError:
                refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, Path.mkdir, lambda file: file.symlink_to("/etc/passwd"), lambda file: file.symlink_to("/dev/zero"),
     lambda file: file.symlink_to(file.name)],
    ids=["a pipe", "a folder", "a link out", "a link to a device", "a link to itself"],
)  # fmt: skip
@pytest.mark.parametrize("name", [RUN, SCHEMA, "synthetic.csv", "attestations.json"])
def test_what_is_no_file_is_never_read(sound: Path, tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    for reading in (check_release, privity.Release):
        with pytest.raises(PrivityError, match=r"missing|link|regular"):
            reading(folder)


def test_a_pipe_is_no_zip(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "release.zip")
    with pytest.raises(PrivityError, match="no regular file"):
        fetch_release(str(tmp_path / "release.zip"), tmp_path)
