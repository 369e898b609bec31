"""``marginals.json``: every noisy marginal of a run, with the law of its noise and its error bars."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.noise_distribution import NoiseLaw
from privity.common.privacy.noisy_count_intervals import LEVEL, half_width
from privity.common.protocol.run_record import RunRecord

FORMAT_VERSION = 1


def marginals_document(record: RunRecord, schema: Schema, noise_variables: Fraction) -> dict[str, Any]:
    """Every noisy marginal, exactly as it was revealed, and how they were fitted.

    Args:
        noise_variables: how many variables of a table's law the noise on a cell amounts to (``Session``).
    """
    return {
        "format_version": FORMAT_VERSION,
        "schema_digest": schema.digest,
        "noise_variables": str(noise_variables),
        "interval_level": str(LEVEL),
        "inference": None if record.inference is None else record.inference.document(),
        "tables": [
            {
                "phase": phase,
                "attributes": [schema.derived.names[a] for a in table.attributes],
                "shape": list(table.counts.shape),
                "law": table.law.name,
                "scale": str(table.law.scale),
                "variance": table.variance,
                "half_width": half_width(table.law, noise_variables),
                "rows": table.rows,
                "counts": table.counts.ravel().tolist(),
            }
            for phase, table in record.measured
        ],
    }


def read_tables(document: dict[str, Any], schema: Schema, file: str) -> list[tuple[str, NoisyTable]]:
    """The tables of a ``marginals.json`` with their phases; the document fits its format.

    Raises:
        PrivityError: tampered, if it does not fit the schema.
    """
    if document["schema_digest"] != schema.digest:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason="the tables belong to another schema")
    derived, found = schema.derived, []
    for entry in document["tables"]:
        try:
            marginal = tuple(derived.index(name) for name in entry["attributes"])
            shape = tuple(derived.domain[a] for a in marginal)
            counts = np.array(entry["counts"], dtype=np.int64).reshape(shape)
            law = NoiseLaw(entry["law"], Fraction(entry["scale"]))
        except (KeyError, ValueError, ArithmeticError) as error:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason=f"a table does not fit: {error}") from error
        found.append((entry["phase"], NoisyTable(marginal, counts, law, float(entry["variance"]), entry["rows"])))
    return found
