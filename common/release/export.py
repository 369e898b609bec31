"""A release's noisy marginals in the shapes that other libraries read: mbi (Private-PGM) and dpsynth.

Only JSON and CSV are written: nothing that runs when it is loaded. docs/using_a_release.md has the lines that load
them. A table that was revealed over the rows of some parties is scaled up to all rows, its noise with it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema
from privity.common.release.release_contents import Release
from privity.common.storage.safe_files import appearing

if TYPE_CHECKING:
    import pandas as pd

FORMAT_VERSION = 1

MOST_CELLS = 1 << 22
"""Of a table over attributes from which a table over derived ones is described."""

COUNT = "count"
"""The last column of a table for dpsynth."""


@dataclass(frozen=True)
class Exported:
    """How many noisy marginals were written, and a sentence for each kind that was not."""

    tables: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Measurement:
    """A noisy marginal as a linear function of a table over the schema's own attributes.

    Attributes:
        clique: the schema's attributes, by index.
        noisy: shape (cells measured,); whole numbers unless they were scaled.
        rows: that the table was revealed over, before it was scaled.
        groups: for each cell of the clique (C order) the measured cell that it counts in; None if that is itself.
    """

    phase: str
    clique: tuple[int, ...]
    noisy: npt.NDArray[Any]
    deviation: float
    rows: int
    groups: npt.NDArray[np.int64] | None


def measurement(phase: str, table: NoisyTable, schema: Schema, total: int) -> Measurement | None:
    """The table over the attributes that its own are derived of; None if that one has too many cells.

    Where each cell of the clique has a measured cell of its own, as with all bits of a code, those cells are the
    measurement; measured cells that no code spells hold nothing but noise and are dropped.

    Args:
        total: rows to which the table is scaled.
    """
    derived, deviation = schema.derived, math.sqrt(table.variance)
    noisy: npt.NDArray[Any] = table.counts.ravel()
    if table.rows != total:
        noisy, deviation = noisy * (total / table.rows), deviation * total / table.rows
    if all(a < len(schema.attributes) for a in table.attributes):
        return Measurement(phase, table.attributes, noisy, deviation, table.rows, None)
    clique = tuple(dict.fromkeys(derived.base[a] for a in table.attributes))
    sizes = [schema.domain[a] for a in clique]
    if math.prod(sizes) > MOST_CELLS:
        return None
    codes = dict(zip(clique, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    places = [derived.derive(a, codes[derived.base[a]]) for a in table.attributes]
    groups = np.ravel_multi_index(places, table.counts.shape).astype(np.int64)
    if len(np.unique(groups)) == groups.size:
        return Measurement(phase, clique, noisy[groups], deviation, table.rows, None)
    return Measurement(phase, clique, noisy, deviation, table.rows, groups)


def export_mbi(release: Release, out: Path) -> Exported:
    """Write one JSON file from which mbi's ``Domain`` and ``LinearMeasurement`` objects are made.

    A table over derived attributes has ``groups``, which say what its cells sum.
    """
    schema = release.schema
    total, found, large = _measurements(release)
    document = {
        "format_version": FORMAT_VERSION,
        "run": release.run["run"],
        "schema_digest": schema.digest,
        "rows": total,
        "domain": {
            "attributes": list(schema.names),
            "shape": list(schema.domain),
            "labels": [list(attribute.labels) for attribute in schema.attributes],
        },
        "measurements": [_entry(measured, schema) for measured in found],
    }
    with appearing(out) as scratch:
        scratch.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
    return Exported(len(found), _too_large(large))


def export_dpsynth(release: Release, out: Path) -> Exported:
    """Write a folder: a table as CSV for each measurement, the attributes' domains, and the noise of each table.

    dpsynth takes no sums of cells, so that tables over generalisations are left out.
    """
    schema = release.schema
    total, found, large = _measurements(release)
    whole = [measured for measured in found if measured.groups is None]
    named = [measured for measured in whole if COUNT not in _names(measured, schema)]
    left_out = [*_too_large(large)]
    if len(whole) < len(found):
        left_out.append(
            f"{len(found) - len(whole)} tables over generalisations or single bits of attributes were left out: "
            "dpsynth reads tables of the attributes themselves only."
        )
    if len(named) < len(whole):
        left_out.append(
            f"{len(whole) - len(named)} tables over the attribute {COUNT!r} were left out: the column of counts has "
            "this name for dpsynth."
        )

    with appearing(out) as scratch:
        scratch.mkdir()
        domain = {
            attribute.name: {"type": "CategoricalAttribute", "possible_values": list(attribute.labels)}
            for attribute in schema.attributes
        }
        _write_json(scratch / "domain.yaml", domain)
        tables = []
        for place, measured in enumerate(named):
            name = f"marginal_{place:05}.csv"
            _frame(measured, schema).to_csv(scratch / name, index=False, lineterminator="\n")
            names = _names(measured, schema)
            tables.append(
                {
                    "file": name,
                    "phase": measured.phase,
                    "clique": names,
                    "stddev": measured.deviation,
                    "rows": measured.rows,
                }
            )
        listed = {"format_version": FORMAT_VERSION, "run": release.run["run"], "rows": total}
        _write_json(scratch / "measurements.json", {**listed, "tables": tables})

    return Exported(len(named), tuple(left_out))


def _measurements(release: Release) -> tuple[int, list[Measurement], int]:
    """The rows of all tables, those that can be described, and how many cannot."""
    tables = release.tables()
    total = max((table.rows for _, table in tables), default=0)
    made = [measurement(phase, table, release.schema, total) for phase, table in tables if table.attributes]
    found = [measured for measured in made if measured is not None]
    return total, found, len(made) - len(found)


def _too_large(tables: int) -> tuple[str, ...]:
    if not tables:
        return ()
    why = f"the attributes they are derived of have more than {MOST_CELLS} cells together"
    return (f"{tables} tables over derived attributes were left out: {why}.",)


def _entry(measured: Measurement, schema: Schema) -> dict[str, Any]:
    groups = {} if measured.groups is None else {"groups": measured.groups.tolist()}
    return {**_about(measured, schema), "noisy_measurement": measured.noisy.tolist(), **groups}


def _about(measured: Measurement, schema: Schema) -> dict[str, Any]:
    return {
        "phase": measured.phase,
        "clique": _names(measured, schema),
        "stddev": measured.deviation,
        "rows": measured.rows,
    }


def _names(measured: Measurement, schema: Schema) -> list[str]:
    return [schema.names[a] for a in measured.clique]


def _frame(measured: Measurement, schema: Schema) -> pd.DataFrame:
    """One line a cell: the labels of its codes, then the noisy count."""
    import pandas as pd

    sizes = [schema.domain[a] for a in measured.clique]
    codes = np.indices(sizes).reshape(len(sizes), -1)
    labels = (
        np.array(schema.attributes[a].labels, dtype=object)[c] for a, c in zip(measured.clique, codes, strict=True)
    )
    columns = dict(zip(_names(measured, schema), labels, strict=True))
    return pd.DataFrame({**columns, COUNT: measured.noisy})


def _write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
