"""The evaluation of a simulated release: beside the joint rows, and beside each party's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from privity.assessment.evaluation.evaluation import Candidate, Question
from privity.assessment.evaluation.evaluation_report import Files, judged, write_evaluation
from privity.assessment.evaluation.value_tables import read_values, values_of_frame
from privity.common.data.table_reading import encode
from privity.common.release.release_contents import SYNTHETIC
from privity.common.release.release_folder import read_release
from privity.party.sources.address import parse_address

if TYPE_CHECKING:
    import pandas as pd

ATTACKS = 500


def evaluate_simulation(release: Path, folder: Path, parts: dict[str, pd.DataFrame], rest: pd.DataFrame) -> None:
    """Write ``evaluation.json`` and ``evaluation.html`` into a new folder.

    ``parts`` are the parties' rows by name. ``rest`` are rows of the table that were left out of the simulation: they
    are the control rows of the attacks, if each table has a row for each attack.
    """
    import pandas as pd

    published = read_release(release)
    schema, run = published.schema, str(published.run["run"])
    coded = {name: encode(frame, schema, name) for name, frame in parts.items()}
    real = values_of_frame(pd.concat(parts.values(), ignore_index=True), schema, "the joint table")
    synthetic = read_values(parse_address(str(release / SYNTHETIC)), schema)
    enough = min(len(rest), real.rows, synthetic.rows) >= ATTACKS
    control = values_of_frame(rest, schema, "the rows left out") if enough else None
    candidate = Candidate(release.name, synthetic, run)
    question = Question(real, (candidate,), control, attacks=ATTACKS, parties=tuple(coded.items()))
    evaluation, document = judged(question, _unsaid)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)
    write_evaluation(evaluation, document, Files(folder / "evaluation.json", folder / "evaluation.html"), _unsaid)


def _unsaid(_what: str) -> None:
    """The simulation shows its own progress."""
