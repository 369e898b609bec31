"""One synthesis by one program, timed inside its own process: ``python run.py PEER JOB.json``.

This file runs in the peer's environment too, which has nothing of this project: it imports the standard library
and what the peer needs. The last line that it prints is a document with the seconds of the two parts. Reading the
table and importing are not timed.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

DELTA = 1e-9
"""Of the peers whose guarantee has one; those without are pure."""


def timed(fit: Callable[[], Any], sample: Callable[[Any], Any]) -> tuple[dict[str, float], Any]:
    """Seconds of both parts, and what was sampled."""
    started = time.perf_counter()
    model = fit()
    fitted = time.perf_counter()
    sampled = sample(model)
    return {"fit": fitted - started, "sample": time.perf_counter() - fitted}, sampled


def dpart(job: dict[str, Any]) -> dict[str, float]:
    """One parent: two, its default, are slower and less accurate. It takes codes as text for categories.

    With ``replaced`` its draws get epsilon/2 times ln 2: it divides scores in bits by their sensitivity in nats.
    """
    import pandas as pd
    from dpart.engines.priv_bayes import PrivBayes

    table = pd.read_csv(job["codes"], dtype=str)
    half = float(job["epsilon"]) / 2
    draws = half * math.log(2) if job.get("replaced") else half

    def fit() -> PrivBayes:
        model = PrivBayes(epsilon={"dependency": draws, "methods": half}, n_parents=1)
        # Its constructor drops the declared categories that it is given.
        model.bounds = {name: {"categories": [str(code) for code in range(size)]} for name, size in job["domain"]}
        model.fit(table)
        return model

    seconds, frame = timed(fit, lambda model: model.sample(len(table)))
    frame.to_csv(job["out"], index=False)
    return seconds


def data_synthesizer(job: dict[str, Any]) -> dict[str, float]:
    """Correlated mode with two parents; it reads the file itself, as part of the fit."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    names = [name for name, _ in job["domain"]]
    with open(job["codes"]) as file:
        rows = sum(1 for _ in file) - 1
    description = str(Path(job["out"]).with_suffix(".json"))

    def fit() -> None:
        describer = DataDescriber(category_threshold=max(size for _, size in job["domain"]) + 1)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=job["codes"],
            k=2,
            epsilon=float(job["epsilon"]),
            attribute_to_datatype=dict.fromkeys(names, "Integer"),
            attribute_to_is_categorical=dict.fromkeys(names, True),
            attribute_to_is_candidate_key=dict.fromkeys(names, False),
        )
        describer.save_dataset_description_to_file(description)

    def sample(_model: None) -> DataGenerator:
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(rows, description)
        return generator

    seconds, generator = timed(fit, sample)
    generator.save_synthetic_data(job["out"])
    return seconds


def _dpmm(job: dict[str, Any], pipeline: str, **settings: Any) -> dict[str, float]:
    import dpmm.pipelines
    import pandas as pd
    from dpmm.models.base.mechanisms.cdp2adp import cdp_eps

    table = pd.read_csv(job["codes"])
    # It takes an epsilon, from which it computes its rho.
    epsilon = cdp_eps(job["rho"], DELTA) if "rho" in job else float(job["epsilon"])

    def fit() -> Any:
        chosen = getattr(dpmm.pipelines, pipeline)
        model = chosen(epsilon=epsilon, delta=DELTA, disable_processing=True, **settings)
        model.fit(table, domain=dict(job["domain"]))
        return model

    seconds, frame = timed(fit, lambda model: model.generate(n_records=len(table)))
    frame.to_csv(job["out"], index=False)
    return seconds


def dpmm_privbayes(job: dict[str, Any]) -> dict[str, float]:
    """Its PrivBayes with its defaults, on codes and their declared domain."""
    return _dpmm(job, "PrivBayesPipeline")


def dpmm_mst(job: dict[str, Any]) -> dict[str, float]:
    """MST of private-pgm as dpmm carries it."""
    return _dpmm(job, "MSTPipeline")


def dpmm_aim(job: dict[str, Any]) -> dict[str, float]:
    """AIM of private-pgm as dpmm carries it: all pairs are its workload."""
    return _dpmm(job, "AIMPipeline", max_model_size=job["megabytes"])


def _opendp(job: dict[str, Any], algorithm: str, **settings: Any) -> dict[str, float]:
    """Its contingency table of all attributes for ``rho``, as it counts: one row more or less.

    Codes are declared by cuts, which make exactly the declared cells; keys would add one for missing values. Rows are
    sampled: in mbi 1.1.0 the usual sampler, which rounds, lets attributes with one parent move together.
    """
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    table = pl.read_csv(job["codes"])
    cuts = {name: list(range(size - 1)) for name, size in job["domain"]}
    rho = divisible(job["rho"], len(cuts) - 1)

    def fit() -> Any:
        context = dp.Context.compositor(
            data=table.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
        )
        query = context.query(rho=rho).select(*cuts)
        return query.contingency_table(cuts=cuts, algorithm=getattr(dp.mbi, algorithm)(**settings)).release()

    def sample(found: Any) -> tuple[Any, Any]:
        return found.model, found.model.synthetic_data(table.height, "sample").to_dict()

    seconds, (model, rows) = timed(fit, sample)
    pl.DataFrame(rows).select(*cuts).write_csv(job["out"])
    return {**seconds, "model2": _model_distance(model, table.to_dict(as_series=False), dict(job["domain"]))}


def _model_distance(model: Any, columns: dict[str, list[int]], domain: dict[str, int]) -> float:
    """Mean total variation distance over pairs between rows and the model itself, before any row is sampled."""
    import numpy as np

    codes = {name: np.asarray(column) for name, column in columns.items()}
    found = []
    for first, second in combinations(domain, 2):
        cells = codes[first] * domain[second] + codes[second]
        true = np.bincount(cells, minlength=domain[first] * domain[second]) / len(cells)
        fitted = np.asarray(model.project((first, second)).values, dtype=float).ravel()
        found.append(float(np.abs(true - fitted / fitted.sum()).sum() / 2))
    return float(np.mean(found))


def opendp_mst(job: dict[str, Any]) -> dict[str, float]:
    """MST of ``opendp.extras.mbi`` with its defaults."""
    return _opendp(job, "MST")


def opendp_aim(job: dict[str, Any]) -> dict[str, float]:
    """AIM of ``opendp.extras.mbi``, with models of so many megabytes at most; all triples are its workload."""
    return _opendp(job, "AIM", max_size=job["megabytes"])


def divisible(rho: float, parts: int) -> float:
    """The largest of a few numbers just below ``rho`` of which opendp's MST can spend its ``parts`` selections.

    It gives each a part of what is left for them, a step of a double below the quotient, and adds them up rounding
    upwards: for most rho the sum exceeds the whole by the last bit, and the last selection is refused.
    """
    for step in range(1000):
        tried = rho * (1 - step * 1e-9)
        tables = below(below(tried - tried * 0.5))
        draws = below(below(tables - tables * 0.9))
        one, spent = below(draws / parts), 0.0
        for _ in range(parts):
            exact = Fraction(spent) + Fraction(one)
            spent = float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), math.inf)
        if spent <= draws:
            return tried
    return rho


def below(value: float) -> float:
    return math.nextafter(value, -math.inf)


PROGRAMS = {
    "dpart": dpart,
    "data-synthesizer": data_synthesizer,
    "dpmm-privbayes": dpmm_privbayes,
    "dpmm-mst": dpmm_mst,
    "dpmm-aim": dpmm_aim,
    "opendp-mst": opendp_mst,
    "opendp-aim": opendp_aim,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(PROGRAMS[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()))))
