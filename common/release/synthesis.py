"""Synthetic rows of a released model: post-processing, and free."""

from __future__ import annotations

import numpy as np
import pandas as pd

from common.models import Model
from common.models.present_rows import present_count, sample_present
from common.table import decode


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
