"""A real table of encounters, several of each patient: places, charge and release, from CSV and from Parquet."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privity import OneWay
from privity.common.data.schema import Schema, load_schema, parse_schema
from privity.common.data.table_reading import encode, read_rows
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import complete
from privity.common.release.synthetic_rows import synthesise
from privity.common.storage.journal import MEMORY as IN_MEMORY
from privity.common.storage.journal import Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.ledgers import declare_population
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.rows import InMemory
from privity.party.sources.sql_queries import Slots
from tests.harness.ledgers import declared
from tests.harness.places import SHARED_DATA

pytestmark = pytest.mark.external

MOST = 3
NAMES = ["race", "gender", "age", "admission_type_id", "time_in_hospital", "number_inpatient", "A1Cresult", "insulin",
         "change", "diabetesMed", "readmitted"]  # fmt: skip
SLOTS = Slots("patient_nbr", "encounter_id", MOST)
EPSILON = Fraction(1)


@pytest.fixture(scope="module")
def encounters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema, pd.DataFrame]:
    """A folder with the rows in CSV and in Parquet, each with keys of patients of one to eight encounters."""
    data = SHARED_DATA
    if not data.is_dir():
        pytest.skip("the folder shared/data is not beside the repository")
    declared = load_schema(data / "diabetes130.schema.json").table_schema()
    fields = [field for field in declared["fields"] if field["name"] in NAMES]
    schema = parse_schema({"name": "encounters", "absentRows": True, "fields": fields}, "s")
    frame = read_rows(data / "diabetes130.csv.gz")[list(schema.names)]
    generator = np.random.default_rng(130)
    patients = np.repeat(np.arange(len(frame)), generator.integers(1, 9, len(frame)))[: len(frame)]
    frame = frame.assign(
        patient_nbr=patients * 7 + 100_000, encounter_id=generator.permutation(10 * len(frame))[: len(frame)]
    ).sample(frac=1, random_state=1)
    folder = tmp_path_factory.mktemp("encounters")
    frame.to_csv(folder / "visits.csv.gz", index=False)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "visits.parquet")
    return folder, schema, frame


def look(folder: Path, name: str, schema: Schema, hold: Hold = Hold.MEMORY) -> Opened:
    return open_rows(parse_address(name, folder), schema, Access(hold, 1 << 28, SLOTS))


def by_hand(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values("encounter_id").groupby("patient_nbr").head(MOST)


@pytest.mark.long
def test_the_places_of_patients_are_those_of_pandas_from_csv_and_from_parquet(encounters) -> None:
    folder, schema, frame = encounters
    kept = by_hand(frame)
    persons = frame["patient_nbr"].nunique()
    from_csv, from_parquet = look(folder, "visits.csv.gz", schema), look(folder, "visits.parquet", schema)
    table = encode(kept[list(schema.names)], schema, "by hand").with_absent(MOST * persons - len(kept))
    assert from_csv.rows.digest == from_parquet.rows.digest == InMemory(table).digest
    for found in (from_csv, from_parquet):
        assert found.rows.rows == MOST * persons
        assert (found.survey.persons, found.survey.rows) == (persons, len(kept))
    marginals = [(a, b) for a in range(len(NAMES)) for b in range(a)]
    expected = InMemory(table).count(marginals)
    for hold in (Hold.STORE, Hold.MEMORY):
        assert look(folder, "visits.parquet", schema, hold).rows.count(marginals).tolist() == expected.tolist()


@pytest.mark.long
def test_a_model_of_patients_is_charged_for_their_places_and_has_no_absent_rows(encounters) -> None:
    folder, schema, frame = encounters
    rows = look(folder, "visits.parquet", schema, Hold.STORE).rows
    ledger = declared(name="patients", rows=MOST)
    allowance = Allowance(MOST * EPSILON, budget=PureBudget(EPSILON))
    session = local_session("run", ChargedReleases("owner", rows, Journal(IN_MEMORY), ledger), allowance)
    model = complete(ALGORITHMS["privbayes"].learn(session, session.budget.whole, {}))
    assert session.rows == MOST * frame["patient_nbr"].nunique()
    assert ledger.spent() == MOST * EPSILON
    synthetic = synthesise(model, 20_000, 1)
    assert len(synthetic) == 20_000
    # Every value is one of the domain: an absent row would have none.
    assert not encode(synthetic.map(str), schema, "synthetic").absent().any()
    share = by_hand(frame)["diabetesMed"].eq("Yes").mean()
    assert abs(synthetic["diabetesMed"].eq("Yes").mean() - share) < 0.05


def test_the_python_face_charges_the_same(encounters, tmp_path: Path) -> None:
    folder, schema, frame = encounters
    rows = look(folder, "visits.csv.gz", schema).rows
    assert isinstance(rows, InMemory)
    ledger = tmp_path / "ledger.sqlite"
    declare_population("patients", total_epsilon="3", rows_per_person=MOST, ledger=ledger)
    model = OneWay("1", population="patients", ledger=ledger).fit(rows.table, schema)
    assert model.charged_ == ApproxDP(Fraction(3), Fraction(0), RELATION)
    share = by_hand(frame)["gender"].eq("Female").mean()
    assert abs(model.sample(20_000, seed=1)["gender"].eq("Female").mean() - share) < 0.05
