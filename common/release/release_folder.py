"""The folder of a release: written as a whole or not at all, and read only if every file is as it was written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from privity.common.data.coded_table import write_csv
from privity.common.data.schema import load_schema
from privity.common.data.written_values import as_texts
from privity.common.errors import Problem, ProblemsFound
from privity.common.formats import read_json, require
from privity.common.release.agreement import disagreements
from privity.common.release.release_contents import (
    ATTESTATIONS,
    LARGEST_FILES,
    MARGINALS,
    MODEL,
    PRIVACY,
    RELEASE_FILES,
    REPORT,
    RUN,
    SCHEMA,
    SCORES,
    SYNTHETIC,
    Release,
)
from privity.common.release.synthetic_rows import Synthesis
from privity.common.storage.safe_files import regular, sync, write_private
from privity.common.synthesis.models.load_model import load_model

WRITTEN_AT = 315_576_000
"""1 January 1980, 12:00 UTC: a time that ZIP archives can hold in every time zone."""

FETCH_AGAIN = "Fetch the release again from where it was published."

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def write_release(folder: Path, release: Release, synthetic: Synthesis, report: str) -> None:
    """Write every file of a release; the folder appears when all are there.

    Args:
        report: the page, as ``report_page.page_of`` makes it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.with_name(f".{folder.name}-unfinished-release")
    # Of a process that was killed while it wrote. Its name is known: nobody looks through all releases for it.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    try:
        write_csv(as_texts(synthetic.frame, release.schema), scratch / SYNTHETIC)
        _write_json(scratch / SCHEMA, "table_schema", release.schema.released.table_schema())
        _write_json(scratch / MODEL, "model", release.model.to_dict())
        _write_json(scratch / MARGINALS, "marginals", release.marginals)
        _write_json(scratch / PRIVACY, "privacy", release.privacy)
        if release.scores is not None:
            _write_json(scratch / SCORES, "scores", release.scores)
        (scratch / REPORT).write_text(report, encoding="utf-8")
        files = {path.name: _digest(path) for path in sorted(scratch.iterdir())}
        _write_json(scratch / RUN, "run", {**release.run, "files": files})
        # The folder was private; a release is public.
        scratch.chmod(0o755)
        without_times(scratch)
        # On disk before it has its name: a folder of this name is a whole release, after a power cut too.
        for path in (*scratch.iterdir(), scratch):
            sync(path)
        scratch.rename(folder)
        sync(folder.parent)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


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
    """Whether a release stands there already: it appears whole, so a folder is one or is damaged.

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
    problems = file_problems(folder, document["files"])
    if problems:
        raise ProblemsFound(problems)


def file_problems(folder: Path, digests: dict[str, str]) -> list[Problem]:
    """Each file that is missing, altered or not named; ``digests`` are those of ``run.json``."""
    problems = []
    there = {name for name in LARGEST_FILES if (folder / name).exists()}
    for name in sorted({*digests, *RELEASE_FILES, *(there - {ATTESTATIONS})} - {RUN}):
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
    scores = None
    if SCORES in documents["run"]["files"]:
        scores = read_json(folder / SCORES, links=False)
        require(scores, "scores", str(folder / SCORES))
    by_name = {f"{form}.json": document for form, document in {**documents, "scores": scores}.items() if document}
    if found := [
        Problem(str(folder / each.file), each.field, each.rule, each.message, FETCH_AGAIN)
        for each in disagreements(by_name, schema)
    ]:
        raise ProblemsFound(found)
    run = {key: value for key, value in documents["run"].items() if key != "files"}
    return Release(model, documents["marginals"], documents["privacy"], run, scores)


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
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
