"""What a run publishes: a folder of files, written as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from common.errors import Catalogue, PrivityError
from common.files import sync
from common.formats import read_json, require
from common.models import Model
from common.models.copula import CopulaModel
from common.models.present_rows import present_count, sample_present
from common.privacy.record import RunRecord
from common.schema import Schema
from common.table import decode, write_csv

FORMAT_VERSION = 1
RELEASE_FILES = ("synthetic.csv", "model.json", "marginals.json", "privacy.json", "run.json")


def marginals_document(record: RunRecord, schema: Schema) -> dict[str, Any]:
    """Every noisy table that the run opened, exactly as it was opened, with the scale of its noise."""
    return {
        "format_version": FORMAT_VERSION,
        "schema_digest": schema.digest,
        "tables": [
            {
                "phase": phase,
                "attributes": [schema.derived.names[a] for a in table.attributes],
                "shape": list(table.counts.shape),
                "law": table.law.name,
                "scale": str(table.law.scale),
                "variance": table.variance,
                "rows": table.rows,
                "counts": table.counts.ravel().tolist(),
            }
            for phase, table in record.measured
        ],
    }


def synthesise(model: Model, rows: int, seed: int | None) -> pd.DataFrame:
    """Sample rows from the model, none of them absent, and decode them to real values.

    ``seed`` decides the sampling only: the model is released, so sampling needs no secret randomness.
    None takes a fresh one.
    """
    generator = np.random.default_rng(seed)
    return decode(sample_present(model, rows, generator), generator)


def rows_to_publish(model: Model, rows: int, seed: int) -> int:
    """How many synthetic rows stand for a table of so many: as many, less those that the model takes to be absent.

    Post-processing of the model. The seed is that of ``synthesise``; what is drawn from it is not.
    """
    return present_count(model, rows, np.random.default_rng([seed, 1]))


def notes(model: Model, *, joins: bool) -> list[str]:
    """Sentences for people on what the model does not show; ``joins`` as in ``common.algorithms.Algorithm``."""
    return [note for note in (modelled_alone(model) if joins else "", weakened(model)) if note]


def weakened(model: Model) -> str:
    """A sentence that names the pairs a copula shows less dependent than they were measured; empty without any."""
    pairs = model.weakened if isinstance(model, CopulaModel) else ()
    if not pairs:
        return ""
    names = model.schema.names
    named = "; ".join(f"{names[a]} and {names[b]}" for a, b in pairs)
    return f"A copula cannot show all of the dependence that was measured between: {named}."


def modelled_alone(model: Model) -> str:
    """A sentence for people that names the attributes modelled alone; empty if there are none."""
    names = [model.schema.names[a] for a in sorted(model.alone)]
    if not names:
        return ""
    every = len(names) == len(model.schema.attributes)
    who = "Every attribute is" if every else f"{len(names)} of {len(model.schema.attributes)} attributes are"
    why = "at this epsilon no table that joins them to others stands out from its noise"
    return f"{who} modelled alone, because {why}: {', '.join(names)}."


def write_release(
    folder: Path,
    *,
    synthetic: pd.DataFrame,
    model: Model,
    record: RunRecord,
    privacy: dict[str, Any],
    run: dict[str, Any],
) -> None:
    """Write every file of a release; the folder appears when all are there.

    Args:
        run: the content of ``run.json`` but for the files' digests, which are added here.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.with_name(f".{folder.name}-unfinished-release")
    # Of a process that was killed while it wrote. Its name is known: nobody looks through all releases for it.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    try:
        write_csv(synthetic, scratch / "synthetic.csv")
        documents = {
            "model": model.to_dict(),
            "marginals": marginals_document(record, model.schema),
            "privacy": privacy,
        }
        for name, document in documents.items():
            _write_json(scratch / f"{name}.json", name, document)
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(scratch.iterdir())}
        _write_json(scratch / "run.json", "run", {**run, "files": files})
        # The folder was private; a release is public.
        scratch.chmod(0o755)
        # On disk before it has its name: a folder of this name is a whole release, after a power cut too.
        for path in (*scratch.iterdir(), scratch):
            sync(path)
        scratch.rename(folder)
        sync(folder.parent)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def is_release(folder: Path) -> bool:
    """Whether a release stands there already: it appears whole, so a folder is one or is damaged.

    Raises:
        PrivityError: there is a folder, but not a whole release.
    """
    if not folder.exists():
        return False
    verify_release(folder)
    return True


def verify_release(folder: Path) -> None:
    """Check that every file of a release is there and is the one that ``run.json`` names.

    Raises:
        PrivityError: file-missing, or tampered with the name of the file.
    """
    document = read_json(folder / "run.json")
    require(document, "run", str(folder / "run.json"))
    for name, digest in document["files"].items():
        path = folder / Path(name).name
        if not path.is_file():
            raise PrivityError(Catalogue.FILE_MISSING, file=path)
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise PrivityError(Catalogue.TAMPERED, what=path, reason="it is not the file that run.json names")


def _write_json(path: Path, format_name: str, document: dict[str, Any]) -> None:
    require(document, format_name, path.name)
    indent = None if format_name in ("model", "marginals") else 2
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
