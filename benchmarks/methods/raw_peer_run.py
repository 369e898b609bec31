"""One synthesis of a raw table by one program: ``python raw_peer_run.py PROGRAM JOB.json``.

Like ``peer_run.py`` it runs in the program's environment, which has nothing of this project but that script. The job:
``table`` and ``out`` (CSV), ``epsilon`` and ``delta`` of all that the program does, preparation included; ``numbers``
with their decimals, the other columns being categories; ``missing``, the columns where cells may be empty.

Both programs find the bounds of numbers privately, and both can do with missing values in their own way. As their
documentation has it, they read categories off the rows; so does a drafted schema. What they write is rounded to the
decimals that the schema declares.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.methods.peer_run import timed

if TYPE_CHECKING:
    import pandas as pd

DPMM_SHARE = 0.1
"""Of epsilon for the preparation: its default beside an epsilon of 1, and the least that its guide recommends."""

SMARTNOISE_SHARE = 0.5
"""Of epsilon for the preparation: that of the examples in its documentation, that for MST among them."""


def dpmm_mst(job: dict[str, Any]) -> dict[str, float]:
    """Its MST pipeline as it comes: numbers in bins of PrivTree between approximate bounds.

    Its ``proc_epsilon`` is spent on top of its ``epsilon``: half of it on bounds, half on bins, the same on every
    number. Missing values become an attribute of their own. It fails if it finds no bounds for a number, which is the
    likelier the less epsilon there is, or if it halves a bin of floats until nothing is left, as it may at a value that
    many rows have: it would go on, and then draw no row.
    """
    import numpy as np
    from dpmm.pipelines import MSTPipeline

    table = read(job)
    preparation = job["epsilon"] * DPMM_SHARE

    def fit() -> Any:
        model = MSTPipeline(epsilon=job["epsilon"] - preparation, delta=job["delta"], proc_epsilon=preparation)
        try:
            model.proc.fit(table)
        except TypeError as error:
            raise ValueError("it found no bounds for a whole number") from error
        if not all((np.diff(binner.bins) > 0).all() for binner in model.proc.binners.values()):
            raise ValueError("it made bins without bounds or without width")
        model.fit(table)
        return model

    seconds, frame = timed(fit, lambda model: model.generate(n_records=len(table)))
    write(frame, job)
    return seconds


def _smartnoise(job: dict[str, Any], name: str) -> dict[str, float]:
    """Its synthesizer as it comes: numbers in ten equal bins between approximate bounds, drawn as their middles.

    Its ``preprocessor_eps`` comes out of its ``epsilon``, the same for every number. A number that may be missing gets
    an attribute of its own for that, a category one more value.
    """
    from snsynth import Synthesizer
    from snsynth.transform import BinTransformer, LabelTransformer

    table = read(job)
    kinds = {column: BinTransformer if column in job["numbers"] else LabelTransformer for column in table.columns}
    prepared = {column: kind(nullable=column in job["missing"]) for column, kind in kinds.items()}

    def fit() -> Any:
        model = Synthesizer.create(name, epsilon=job["epsilon"], delta=job["delta"])
        model.fit(table, transformer=prepared, preprocessor_eps=job["epsilon"] * SMARTNOISE_SHARE)
        return model

    # It prints, and the last line is ours.
    with contextlib.redirect_stdout(sys.stderr):
        seconds, frame = timed(fit, lambda model: model.sample(len(table)))
    write(frame, job)
    return seconds


def smartnoise_mst(job: dict[str, Any]) -> dict[str, float]:
    """MST of private-pgm as smartnoise-synth carries it."""
    return _smartnoise(job, "mst")


def smartnoise_aim(job: dict[str, Any]) -> dict[str, float]:
    """AIM of private-pgm as smartnoise-synth carries it: pairs of up to 10,000 cells are its workload."""
    return _smartnoise(job, "aim")


def read(job: dict[str, Any]) -> pd.DataFrame:
    """Numbers as pandas reads them, categories as texts; empty cells are missing."""
    import pandas as pd

    names = pd.read_csv(job["table"], nrows=0).columns
    texts = {name: str for name in names if name not in job["numbers"]}
    return pd.read_csv(job["table"], dtype=texts, keep_default_na=False, na_values=[""])


def write(frame: pd.DataFrame, job: dict[str, Any]) -> None:
    import pandas as pd

    for name, decimals in job["numbers"].items():
        if decimals is not None:
            rounded = pd.to_numeric(frame[name]).round(decimals)
            frame[name] = rounded.astype("Int64") if decimals == 0 else rounded
    frame.to_csv(job["out"], index=False)


PROGRAMS = {"dpmm-mst": dpmm_mst, "smartnoise-mst": smartnoise_mst, "smartnoise-aim": smartnoise_aim}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(PROGRAMS[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()))))
