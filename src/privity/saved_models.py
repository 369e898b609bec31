"""A model that was learnt and charged before, for Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from privity.arguments import as_arguments
from privity.common.data.cast_columns import as_types
from privity.common.formats import read_json
from privity.common.formats.given_values import bad_option, whole_number
from privity.common.public_names import public
from privity.common.release.sampling_conditions import conditions_of, given_conditions
from privity.common.release.synthetic_rows import check_release_size, synthesise
from privity.common.synthesis.models import Model
from privity.common.synthesis.models import load_model as load
from privity.given import Schema, given_schema

WARNING = (
    "Synthetic rows: standard errors and tests as if they were real leave out the noise and the model's error. "
    "Release.query has valid intervals (docs/statistics.md)."
)
"""Stands in ``DataFrame.attrs`` of what is sampled."""


@public
@dataclass(frozen=True)
class SavedModel:
    """A model that was learnt and charged before; sampling from it costs nothing."""

    model: Model

    def sample(
        self,
        n: int,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
        *,
        dtypes: Mapping[str, Any] | None = None,
        skip_keys: int = 0,
        independent: bool = False,
    ) -> pd.DataFrame:
        """``n`` synthetic rows that meet the rules of the schema; the seed decides them.

        Args:
            where: conditions on columns: a value, several in a list, or values by their relation, such as
                ``{"age": {">=": 18, "<": 65}}``. They are read as those of a table are; None is a missing value.

            dtypes: types of columns in pandas, such as ``real.dtypes``; others have those that the schema gives them.
            skip_keys: how many numbers other tables have as keys: ``generate: number`` goes on after them.
            independent: whether rows are drawn one by one, so that counts vary as those of a sample do. By default
                they are drawn together, and counts are nearer to the model.

        Raises:
            ProblemsFound: a column or a value that does not exist; conditions that no row can meet, or that a rule
                forbids.
            PrivityError: too-rare: the model has hardly any such rows; bad-option: an argument that is not possible.
        """
        rows, schema = whole_number("n", n, 1), self.model.schema
        seed = None if seed is None else whole_number("seed", seed, 0)
        if not isinstance(where or {}, Mapping):
            raise bad_option("where", f"a {type(where).__name__} has no values by name", "Give a dictionary.")
        with as_arguments():
            check_release_size(rows, schema)
        conditions = conditions_of(schema, given_conditions(where or {}))
        skipped = whole_number("skip_keys", skip_keys, 0)
        if dtypes is not None and not hasattr(dtypes, "items"):
            raise bad_option("dtypes", f"a {type(dtypes).__name__} has no types by name", "Give a dictionary.")
        drawn = synthesise(self.model, rows, seed, conditions, skipped=skipped, independent=independent)
        found = as_types(drawn, schema, dtypes)
        found.attrs["privity"] = WARNING
        return found


@public
def load_model(path: Path | str, schema: Schema) -> SavedModel:
    """Read a ``model.json``.

    Raises:
        PrivityError, ProblemsFound: the file does not fit its format or the schema.
    """
    return SavedModel(load.load_model(read_json(path, links=False), given_schema(schema), str(path)))
