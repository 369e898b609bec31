"""Synthetic rows of a model for Python: what every ``sample`` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privity.arguments import as_arguments
from privity.common.data.cast_columns import as_types
from privity.common.data.written_values import as_pandas
from privity.common.formats.given_values import bad_option, whole_number
from privity.common.release.release_contents import Release
from privity.common.release.sampling_conditions import conditions_of, given_conditions
from privity.common.release.synthetic_histories import draw_histories
from privity.common.release.synthetic_rows import check_release_size, rows_to_publish, synthesise
from privity.common.synthesis.models import Model

if TYPE_CHECKING:
    import pandas as pd

WARNING = (
    "Synthetic rows: standard errors and tests as if they were real leave out the noise and the model's error. "
    "Release.query has valid intervals (docs/statistics.md)."
)
"""Stands in ``DataFrame.attrs`` of what is sampled."""

SEED = 0
"""Of the number of rows that are taken to be there."""


def sampled(
    model: Model,
    n: int,
    seed: int | None,
    where: Mapping[str, object] | None,
    *,
    dtypes: Mapping[str, Any] | None,
    skip_keys: int,
    independent: bool,
) -> pd.DataFrame:
    """As ``SavedModel.sample``, with the same errors."""
    rows, schema = whole_number("n", n, 1), model.schema
    if schema.history is not None:
        raise bad_option("model", "it is of persons and their events", "Use sample_histories, which gives both tables.")
    seed = None if seed is None else whole_number("seed", seed, 0)
    if not isinstance(where or {}, Mapping):
        raise bad_option("where", f"a {type(where).__name__} has no values by name", "Give a dictionary.")
    with as_arguments():
        check_release_size(rows, schema)
    conditions = conditions_of(schema, given_conditions(where or {}))
    skipped = whole_number("skip_keys", skip_keys, 0)
    if dtypes is not None and not hasattr(dtypes, "items"):
        raise bad_option("dtypes", f"a {type(dtypes).__name__} has no types by name", "Give a dictionary.")
    drawn = synthesise(model, rows, seed, conditions, skipped=skipped, independent=independent)
    found = as_types(drawn, schema, dtypes)
    found.attrs["privity"] = WARNING
    return found


def sampled_histories(
    model: Model,
    n: int,
    seed: int | None,
    where: Mapping[str, object] | None = None,
    *,
    skip_keys: int = 0,
    independent: bool = False,
) -> dict[str, pd.DataFrame]:
    """As ``SavedModel.sample_histories``, with the same errors."""
    persons, history = whole_number("n", n, 1), model.schema.history
    seed = None if seed is None else whole_number("seed", seed, 0)
    if history is None:
        raise bad_option("model", "it is of one table, and not of histories", "Use sample.")
    if not isinstance(where or {}, Mapping):
        raise bad_option("where", f"a {type(where).__name__} has no values by name", "Give a dictionary.")
    with as_arguments():
        check_release_size(persons, model.schema)
    conditions = conditions_of(history.persons, given_conditions(where or {}))
    skipped = whole_number("skip_keys", skip_keys, 0)
    drawn = draw_histories(model, persons, seed, conditions, skipped, independent=independent)
    assert drawn.events is not None
    both = (as_pandas(drawn.frame, history.persons), as_pandas(drawn.events, history.events))
    for frame in both:
        frame.attrs["privity"] = WARNING
    return dict(zip(history.names, both, strict=True))


def rows_of(release: Release) -> int:
    """As many as a release has; of an unfinished one, as are taken to be in the real table."""
    if not release.unfinished:
        return int(release.run["rows"])
    return rows_to_publish(release.model, release.places, SEED)
