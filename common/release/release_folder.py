"""The folder of a release: what was learnt first, then all of it; read only if every file is as it was written.

Each time the folder is a release that is whole or unfinished, as its ``run.json`` says, which is written last.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from privity.common.data.coded_table import write_csv
from privity.common.data.schema import load_schema
from privity.common.data.written_values import as_texts
from privity.common.errors import Problem, ProblemsFound
from privity.common.formats import read_json, require
from privity.common.release.agreement import disagreements
from privity.common.release.release_contents import (
    ANALYSES,
    ATTESTATIONS,
    EVENTS,
    LARGEST_FILES,
    LEARNT_FILES,
    MARGINALS,
    MODEL,
    PRIVACY,
    REPORT,
    RUN,
    SCHEMA,
    SCORES,
    SYNTHETIC,
    Release,
    files_wanted,
    is_unfinished,
)
from privity.common.release.synthetic_rows import Synthesis
from privity.common.storage.safe_files import regular, sync, write_private
from privity.common.synthesis.models.load_model import load_model

WRITTEN_AT = 315_576_000
"""1 January 1980, 12:00 UTC: a time that ZIP archives can hold in every time zone."""

FETCH_AGAIN = "Fetch the release again from where it was published."

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def write_learnt(folder: Path, release: Release) -> None:
    """Write what was learnt: a release that is unfinished. The folder appears when all of its files are there.

    An unfinished release that stands there is replaced, unless it holds the same documents already.
    """
    with _scratch(folder) as scratch:
        _write_documents(scratch, release)
        if not all(_there(path, folder) for path in scratch.iterdir()):
            _appear(scratch, folder)


def write_release(folder: Path, release: Release, synthetic: Synthesis, report: str) -> None:
    """Write every file of a release; the folder appears when all are there.

    An unfinished release that stands there is finished: it stays one until all files are there.

    Args:
        report: the page, as ``report_page.page_of`` makes it.
    """
    with _scratch(folder) as scratch:
        history = release.schema.history
        of_frame = release.schema if history is None else history.persons
        write_csv(as_texts(synthetic.frame, of_frame), scratch / SYNTHETIC)
        if history is not None and synthetic.events is not None:
            write_csv(as_texts(synthetic.events, history.events), scratch / EVENTS)
        (scratch / REPORT).write_text(report, encoding="utf-8")
        _write_documents(scratch, release)
        _appear(scratch, folder)


def remove_scratch(folder: Path) -> None:
    """Remove what a process left that was killed just after it had written this release."""
    shutil.rmtree(_scratch_of(folder), ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what ``write_learnt`` wrote, if it is there: of a run that makes no release after all."""
    if folder.exists():
        remove_scratch(folder)
        folder.rename(_scratch_of(folder))
        sync(folder.parent)
        remove_scratch(folder)


def _scratch_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-unfinished-release")


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A private folder beside this one, which is gone afterwards."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = _scratch_of(folder)
    # Of a process that was killed while it wrote. Its name is known: nobody looks through all releases for it.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write_documents(scratch: Path, release: Release) -> None:
    """Write the documents, and after them ``run.json``, which names every file that is there."""
    schema = release.schema.released
    _write_json(scratch / SCHEMA, "table_schema" if schema.history is None else "history", schema.table_schema())
    _write_json(scratch / MODEL, "model", release.model.to_dict())
    _write_json(scratch / MARGINALS, "marginals", release.marginals)
    _write_json(scratch / PRIVACY, "privacy", release.privacy)
    if release.scores is not None:
        _write_json(scratch / SCORES, "scores", release.scores)
    if release.analyses is not None:
        _write_json(scratch / ANALYSES, "analyses", release.analyses)
    files = {path.name: _digest(path) for path in sorted(scratch.iterdir())}
    _write_json(scratch / RUN, "run", {**release.run, "files": files})


def _appear(scratch: Path, folder: Path) -> None:
    """Give a release its name; or move its files into the place of an unfinished one, ``run.json`` last."""
    # The folder was private; a release is public.
    scratch.chmod(0o755)
    without_times(scratch)
    # On disk before it has its name: a folder of this name is a release, after a power cut too.
    for path in (*scratch.iterdir(), scratch):
        sync(path)
    if not folder.exists():
        scratch.rename(folder)
    else:
        names = sorted(path.name for path in scratch.iterdir())
        for name in names:
            # A file that is there already is not written anew: a process that is killed again and again gets on.
            if name != RUN and not _there(scratch / name, folder):
                (scratch / name).replace(folder / name)
        # Signatures are of the run.json that goes.
        for path in folder.iterdir():
            if path.name not in names:
                path.unlink()
        sync(folder)
        (scratch / RUN).replace(folder / RUN)
        sync(folder)
        os.utime(folder, (WRITTEN_AT, WRITTEN_AT))
    sync(folder.parent)


def _there(path: Path, folder: Path) -> bool:
    """Whether the folder holds this very file."""
    return (folder / path.name).exists() and filecmp.cmp(path, folder / path.name, shallow=False)


def unfit_file(release: Path) -> Path:
    """Where ``write_unfit`` keeps it: beside where the release would be."""
    return release.with_name(f"{release.name}.unfit.json")


def write_unfit(release: Path, marginals: dict[str, Any]) -> None:
    """Keep what was revealed by a run whose sums no rows give, for whoever looks for the cause; it is no release."""
    file = unfit_file(release)
    file.parent.mkdir(parents=True, exist_ok=True)
    require(marginals, "marginals", file.name)
    write_private(file, json.dumps(marginals, ensure_ascii=False).encode())


def without_times(folder: Path) -> None:
    """Give every file of a release, and its folder, the same fixed time: when a run ends may depend on its rows."""
    for path in (*folder.iterdir(), folder):
        os.utime(path, (WRITTEN_AT, WRITTEN_AT))


def is_release(folder: Path) -> bool:
    """Whether a release stands there already, finished or not: it appears whole, so a folder is one or is damaged.

    Raises:
        PrivityError, ProblemsFound: there is a folder, but not a whole release.
    """
    if not folder.exists():
        return False
    verify_release(folder)
    return True


def verify_release(folder: Path) -> None:
    """Check that every file of a release is there and is the one that ``run.json`` names.

    Raises:
        PrivityError: ``run.json`` cannot be read.
        ProblemsFound: it is of another version; each file that is missing or altered, by name.
    """
    named = str(folder / RUN)
    if not (folder / RUN).is_file():
        hint = "Give the folder that holds run.json and the other files of a release."
        raise ProblemsFound([Problem(named, "", "missing", "there is no such file: this is no release.", hint)])
    document = read_json(folder / RUN, links=False)
    require(document, "run", named)
    problems = file_problems(folder, document)
    if problems:
        raise ProblemsFound(problems)


def file_problems(folder: Path, run: Mapping[str, Any]) -> list[Problem]:
    """Each file that is missing, altered or not named by ``run``, the content of ``run.json``."""
    problems = []
    digests: Mapping[str, str] = run["files"]
    # What is yet to come may be there already, if whoever wrote it was stopped.
    to_come = {*LARGEST_FILES} - {*LEARNT_FILES} if is_unfinished(run) else set()
    there = {name for name in LARGEST_FILES if (folder / name).exists()} - {ATTESTATIONS} - to_come
    for name in sorted({*digests, *files_wanted(run), *there} - {RUN}):
        fault = _fault(folder, name, digests.get(name))
        if fault is not None:
            file = str(folder / name) if _PLAIN.fullmatch(name) else str(folder / RUN)
            problems.append(Problem(file, "", *fault, FETCH_AGAIN))
    return problems


def read_release(folder: Path) -> Release:
    """Read a release that is whole.

    Raises:
        PrivityError, ProblemsFound: as ``verify_release``, or a file that does not fit its format.
    """
    verify_release(folder)
    schema = load_schema(folder / SCHEMA)
    model = load_model(read_json(folder / MODEL, links=False), schema, str(folder / MODEL))
    documents = {}
    for name, form in ((MARGINALS, "marginals"), (PRIVACY, "privacy"), (RUN, "run")):
        documents[form] = read_json(folder / name, links=False)
        require(documents[form], form, str(folder / name))
    for name, form in ((SCORES, "scores"), (ANALYSES, "analyses")):
        if name in documents["run"]["files"]:
            documents[form] = read_json(folder / name, links=False)
            require(documents[form], form, str(folder / name))
    by_name = {f"{form}.json": document for form, document in documents.items()}
    if found := [
        Problem(str(folder / each.file), each.field, each.rule, each.message, FETCH_AGAIN)
        for each in disagreements(by_name, schema)
    ]:
        raise ProblemsFound(found)
    run = {key: value for key, value in documents["run"].items() if key != "files"}
    others = documents.get("scores"), documents.get("analyses")
    return Release(model, documents["marginals"], documents["privacy"], run, *others)


def _fault(folder: Path, name: str, digest: str | None) -> tuple[str, str] | None:
    """Which rule a file of a release breaks, and how; None if it is as it was written."""
    if not _PLAIN.fullmatch(name):
        return "file-name", f"{name!r} is no name of a file of a release."
    if digest is None:
        return "not-named", f"{RUN} does not name this file of a release."
    if (folder / name).is_symlink():
        return "link", "the file is a link, which no file of a release may be."
    if not (folder / name).is_file():
        return "missing", "the file is missing; run.json names it."
    if _digest(folder / name) != digest:
        return "altered", "the file is not the one that run.json names: it was altered, or cut short."
    return None


def _digest(path: Path) -> str:
    with regular(path, links=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_json(path: Path, format_name: str, document: dict[str, Any]) -> None:
    require(document, format_name, path.name)
    indent = None if format_name in ("model", "marginals") else 2
    text = json.dumps(document, indent=indent, ensure_ascii=False, default=_as_it_was)
    path.write_text(text + "\n", encoding="utf-8")


def _as_it_was(number: object) -> float:
    """A number of a document that was read from a file, which has the same text again."""
    if not isinstance(number, Decimal):
        raise TypeError(f"{type(number).__name__} is not JSON")
    return float(number)
