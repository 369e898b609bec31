"""A consortium to practise with: three owners of an invented split of a public table, on this machine alone.

It is one that simulates: its releases say so, and no ledger of this account knows of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from privity.assessment.simulation.child_processes import ProcessGroup
from privity.assessment.simulation.simulated_run import start_nodes
from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.secure_sum_method import Method, SumKind
from privity.common.runs.run_request import request_document
from privity.common.storage.safe_files import refuse_existing
from privity.deploy.consortium.provisioning import Consortium, Limits, provision
from privity.deploy.operator.operator_folder import SETTINGS
from privity.deploy.operator.run_submission import submit_run

if TYPE_CHECKING:
    import pandas as pd

RUN, ASKED = "first-run", "north"
"""The run that waits, and the party whose owner is asked."""

EPSILON, TOTAL = "1", Fraction(5)
PATIENCE = 60.0
SHARES = {"north": 0.5, "south": 0.3, "east": 0.2}
"""Parties, and the part of the rows that each has."""

DIGEST = "9f6c87d05aef087a82cc4465310c8cd3f38327be6eafa43bd81fb98c4f3d088c"
"""SHA-256 of the table: visits to doctors in the RAND health insurance experiment, public, as statsmodels ships it."""

SCHEMA = parse_schema(
    {
        "name": "visits to doctors",
        "fields": [
            {
                "name": "visits",
                "type": "integer",
                "constraints": {"minimum": 0, "maximum": 100},
                "edges": [0, 1, 2, 3, 5, 8, 12, 20, 100],
            },
            {"name": "diseases", "type": "integer", "constraints": {"minimum": 0, "maximum": 60}, "bins": 12},
            {"name": "deductible", "type": "string", "categories": ["no", "yes"]},
            {"name": "health", "type": "string", "categories": ["excellent", "good", "fair", "poor"]},
        ],
    },
    "practice",
)


def practice_table() -> pd.DataFrame:
    """The rows, as texts.

    Raises:
        PrivityError: file-missing, tampered: the table is not the one that this is for.
    """
    import pandas as pd

    found = find_spec("statsmodels")
    where = "statsmodels" if found is None else found.submodule_search_locations[0]  # type: ignore[index]
    file = Path(where) / "datasets" / "randhie" / "randhie.csv"
    if not file.exists():
        raise PrivityError(Catalogue.FILE_MISSING, file=file)
    if hashlib.sha256(file.read_bytes()).hexdigest() != DIGEST:
        raise PrivityError(Catalogue.TAMPERED, what=str(file), reason="it is not the table that is practised on")
    raw = pd.read_csv(file)
    health = pd.Series("excellent", raw.index)
    for name, column in {"good": "hlthg", "fair": "hlthf", "poor": "hlthp"}.items():
        health[raw[column] == 1] = name
    table = {
        "visits": raw["mdvis"].round().astype(int),
        "diseases": raw["disea"].round().astype(int),
        "deductible": raw["idp"].map({0: "no", 1: "yes"}),
        "health": health,
    }
    return pd.DataFrame(table).astype(str)


@dataclass(frozen=True)
class Practice:
    """What is at work.

    Attributes:
        group: the nodes.
    """

    consortium: Consortium
    group: ProcessGroup

    @property
    def operator(self) -> Path:
        """Its operator.toml."""
        return self.consortium.operator / SETTINGS

    def party(self, name: str) -> Path:
        """Its party.toml."""
        return self.consortium.party(name) / "party.toml"


@contextmanager
def practice(folder: Path) -> Iterator[Practice]:
    """Found the consortium below a new folder, start its nodes, and submit a run that waits for an owner.

    The nodes end with the context.

    Raises:
        PrivityError: bad-option: there is something already; as ``practice_table``; run-failed: a node ended.
    """
    refuse_existing(folder, "folder")
    table = practice_table()
    frames, start = {}, 0
    for name, share in SHARES.items():
        frames[name] = table.iloc[start : start + round(share * len(table))]
        start += len(frames[name])
    limits = Limits(TOTAL, 1, SumKind(Method.MASKS, None), None)
    consortium = provision(
        folder.absolute(), frames, SCHEMA, limits, patience=PATIENCE, name="practice", approving=[ASKED]
    )
    with ProcessGroup(folder / "logs") as group:
        start_nodes(consortium, group)
        at_work = Practice(consortium, group)
        asked = {"algorithm": "aim", "epsilon": EPSILON, "secure_sum": Method.MASKS.value, "settings": {}}
        submit_run(at_work.operator, request_document(asked), RUN)
        yield at_work
