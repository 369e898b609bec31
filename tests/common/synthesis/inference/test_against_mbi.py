"""Our fit beside that of mbi (private-pgm), on tables that close a loop, with little noise: the same marginals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from privity.common.synthesis.inference.maximum_likelihood import fit_model
from tests.common.synthesis.inference.test_maximum_likelihood import DOMAIN, LOOP, ROWS, SCHEMA, all_measured

pytestmark = pytest.mark.process

DEVIATION = 1.0
"""Of the noise on a cell, in rows."""

FIT = """
import json, sys
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from mbi import Domain, LinearMeasurement, estimation
given = json.load(sys.stdin)
domain = Domain(given["attributes"], given["shape"])
measurements = [LinearMeasurement(jnp.array(counts, dtype=float), tuple(clique), given["deviation"])
                for clique, counts in given["tables"]]
model = estimation.MirrorDescent().estimate(domain, measurements, known_total=given["rows"], iters=1000)
print(json.dumps([model.project(tuple(pair)).datavector().tolist() for pair in given["pairs"]]))
"""


@pytest.mark.long
def test_marginals_of_a_loop_are_those_of_mbi() -> None:
    """Of both fits every measured cell is within the noise; pairs that nobody measured agree as well."""
    tables = all_measured(LOOP, DEVIATION**2)
    pairs = list(combinations(range(len(DOMAIN)), 2))
    names = SCHEMA.names
    given = {
        "attributes": names,
        "shape": DOMAIN,
        "deviation": DEVIATION,
        "rows": ROWS,
        "tables": [([names[a] for a in t.attributes], t.counts.ravel().tolist()) for t in tables],
        "pairs": [[names[a] for a in pair] for pair in pairs],
    }
    # jax lives in a process of its own: it starts threads, and other tests fork.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT],
        input=json.dumps(given), capture_output=True, text=True, timeout=250, cwd=Path(__file__).parent,
        env={**os.environ, "JAX_PLATFORMS": "cpu"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours = fit_model(tables, SCHEMA, ROWS).model
    for pair, theirs in zip(pairs, json.loads(done.stdout), strict=True):
        apart = ROWS * ours.pairs[pair].ravel() - np.array(theirs)
        assert np.abs(apart).max() < 4 * DEVIATION, pair
        assert np.abs(apart).sum() / 2 / ROWS < 0.003, pair
