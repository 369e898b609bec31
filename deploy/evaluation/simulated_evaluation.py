"""The evaluation of a simulated release: beside the joint rows, and beside each party's own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from privity.common.data.table_reading import encode
from privity.common.release.evaluation.classifier_utility import usual_tasks
from privity.common.release.evaluation.evaluation_document import Question
from privity.common.release.release_contents import SYNTHETIC
from privity.common.release.release_folder import read_release
from privity.deploy.evaluation.evaluation_report import judged, write_evaluation
from privity.party.sources.address import parse_address
from privity.party.sources.open_rows import load_table

ATTACKS = 500


def evaluate_simulation(release: Path, folder: Path, parts: dict[str, pd.DataFrame], rest: pd.DataFrame) -> None:
    """Write ``evaluation.json`` and ``evaluation.html`` into a new folder.

    ``parts`` are the parties' rows by name. ``rest`` are rows of the table that were left out of the simulation: they
    are the control rows of the attacks, if each table has a row for each attack.
    """
    published = read_release(release)
    schema = published.schema
    coded = {name: encode(frame, schema, name) for name, frame in parts.items()}
    real = encode(pd.concat(parts.values(), ignore_index=True), schema, "the joint table")
    synthetic = load_table(parse_address(str(release / SYNTHETIC)), schema)
    enough = min(len(rest), real.rows, synthetic.rows) >= ATTACKS
    control = encode(rest, schema, "the rows left out") if enough else None
    question = Question(
        real, synthetic, control, tuple(usual_tasks(schema)), ATTACKS, tuple(coded.items()), str(published.run["run"])
    )
    document = judged(question, lambda section: None)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)
    write_evaluation(document, folder / "evaluation.json", folder / "evaluation.html")
