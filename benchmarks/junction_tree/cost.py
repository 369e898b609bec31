"""One fit in a process of its own; prints its seconds and memory as JSON. Called by ``benchmarks.junction_tree``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.cost import fit_and_sample
from benchmarks.datasets import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--algorithm", required=True)
    parser.add_argument("--epsilon", required=True)
    options = parser.parse_args()
    _, found = fit_and_sample(load(options.data, options.schema), options.algorithm, options.epsilon, {})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
