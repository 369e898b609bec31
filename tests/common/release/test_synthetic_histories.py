"""Synthetic histories: keys by construction, dates in order and inside the window, rules held, the model's own laws."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

from privity.common.data.history_reading import frame_source, read_histories
from privity.common.data.schema import parse_schema
from privity.common.data.sdv_metadata import sdv_metadata
from privity.common.data.written_values import as_texts
from privity.common.errors import ProblemsFound
from privity.common.release.rows_file import read_decoded
from privity.common.release.synthetic_histories import draw_histories, release_rows
from privity.common.release.verification.rows_verification import broken_rows
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel
from tests.harness.histories import HOSPITAL, hospital, tables

SCHEMA = parse_schema(HOSPITAL, "hospital.json")
PERSONS = 3000


def steps_of(data, schema=SCHEMA):
    sources = (frame_source(data["patients"]), frame_source(data["admissions"]))
    return read_histories(schema, *sources, ("patients", "admissions")).steps()[0]


def model_of(table):
    """A tree that is learnt without noise: each attribute given the position, and the ward before."""
    schema = table.schema
    position, before = schema.index("position"), schema.index("previous.ward")
    clique, cliques = (position, before), []
    for new in range(len(schema.attributes)):
        if new not in clique:
            cliques.append(Clique((new, *clique), clique, counts(table, (new, *clique))))
    return JunctionTreeModel(schema, [Clique(clique, (), counts(table, clique)), *cliques])


def counts(table, attributes):
    sizes = [table.schema.domain[a] for a in attributes]
    cells = np.ravel_multi_index([table.columns[a].astype(int) for a in attributes], sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes).astype(float)


@pytest.fixture(scope="module")
def model():
    return model_of(steps_of(tables(PERSONS)))


@pytest.fixture(scope="module")
def drawn(model):
    return release_rows(model, PERSONS, 7)


def written(drawn, folder, schema=SCHEMA):
    history = schema.history
    persons, events = as_texts(drawn.frame, history.persons), as_texts(drawn.events, history.events)
    persons.to_csv(folder / "synthetic.csv", index=False)
    events.to_csv(folder / "synthetic_events.csv", index=False)
    return persons, events


def test_rows_are_what_the_schema_says(drawn, tmp_path):
    assert (len(drawn.frame), drawn.table.rows) == (PERSONS, PERSONS)
    written(drawn, tmp_path)
    assert not list(broken_rows(tmp_path, SCHEMA, [rule.rule for rule in SCHEMA.history.rules]))
    assert list(drawn.frame) == ["patient", "sex", "born"]
    assert list(drawn.events) == ["admission", "patient", "admitted", "ward", "urgent", "stay", "discharged"]
    assert drawn.events.groupby("patient").size().max() <= 6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda events: events.assign(patient="0"), "no person has"),
        (lambda events: events.assign(admission="1"), "that another one has"),
        (lambda events: events[::-1], "not after the event before"),
        (lambda events: pd.concat([events.iloc[:1].assign(admission=str(n)) for n in range(7)]), "beyond the 6"),
        (lambda events: events.assign(admitted="2025-01-01"), "after the end"),
        (
            lambda events: events.assign(ward="rehabilitation", discharged=events["admitted"], stay="0"),
            "break the rule",
        ),
        (lambda events: events.assign(discharged="2019-01-01"), "another discharged"),
    ],
)
def test_rows_that_are_not_are_found(drawn, change, said, tmp_path):
    _, events = written(drawn, tmp_path)
    change(events.astype(str)).to_csv(tmp_path / "synthetic_events.csv", index=False)
    found = list(broken_rows(tmp_path, SCHEMA, [rule.rule for rule in SCHEMA.history.rules]))
    assert any(said in message for _, message in found), found


def test_read_back_the_steps_are_the_same(drawn, tmp_path):
    persons, events = written(drawn, tmp_path)
    again = steps_of({"patients": persons.astype(str), "admissions": events.astype(str)}, SCHEMA.released)
    assert [column.tolist() for column in again.columns] == [column.tolist() for column in drawn.table.columns]


def test_steps_have_the_laws_of_the_model(model, drawn):
    """What a tree without noise knows exactly comes out of whole chains, within sampling."""
    sample = model.sample(200_000, np.random.default_rng(3))
    for name in ("number", "position", "first.admitted", "admissions.ward", "previous.ward", "gap", "admissions.stay"):
        place = SCHEMA.index(name)
        size = SCHEMA.domain[place]
        wanted, found = (np.bincount(t.columns[place], minlength=size) / t.rows for t in (sample, drawn.table))
        # Rules are of the chains alone: what they take away moves a little.
        assert np.abs(wanted - found).sum() / 2 < 0.05, name


def test_a_chain_follows_what_was_before(drawn):
    """Wards stay the same more often than by chance, as in the real tables."""
    ward = drawn.events["ward"]
    same = drawn.events["patient"].eq(drawn.events["patient"].shift())
    stays = (ward == ward.shift())[same].mean()
    real = tables(PERSONS)["admissions"]
    after = real["patient"].eq(real["patient"].shift())
    assert abs(stays - (real["ward"] == real["ward"].shift())[after].mean()) < 0.06


def test_the_seed_decides_them(model):
    one, same, other = (draw_histories(model, 200, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.events, same.events)
    assert not one.events.equals(other.events)


def test_no_time_is_left(model, tmp_path):
    """A window of three days holds no more than three events of a person, whatever the model says."""
    document = hospital(until="2015-01-03")
    schema = parse_schema(document, "x")
    small = JunctionTreeModel(schema, model.cliques)
    drawn = release_rows(small, 400, 1)
    written(drawn, tmp_path, schema)
    assert not list(broken_rows(tmp_path, schema, [rule.rule for rule in schema.history.rules]))
    assert drawn.events.groupby("patient").size().max() <= 3


def test_nobody_has_an_event(tmp_path):
    data = tables(50)
    model = model_of(steps_of({**data, "admissions": data["admissions"].iloc[:0]}))
    drawn = release_rows(model, 50, 1)
    written(drawn, tmp_path)
    assert (len(drawn.frame), len(drawn.events)) == (50, 0)
    assert not list(broken_rows(tmp_path, SCHEMA, []))


def test_positions_number_the_events(tmp_path):
    document = hospital(order="visit", gap=None, until=None)
    schema = document["resources"][1]["schema"]
    schema["fields"].append({"name": "visit", "type": "integer", "generate": "number"})
    schema["rowConstraints"] = schema["rowConstraints"][:1]
    found = parse_schema(document, "x")
    data = tables(500)
    visits = data["admissions"].assign(visit=data["admissions"].groupby("patient").cumcount() + 1)
    drawn = release_rows(model_of(steps_of({**data, "admissions": visits}, found)), 500, 1)
    written(drawn, tmp_path, found)
    assert not list(broken_rows(tmp_path, found, [rule.rule for rule in found.history.rules]))
    assert (drawn.events["visit"] == drawn.events.groupby("patient").cumcount() + 1).all()


@pytest.mark.parametrize("name", ["number", "first.admitted", "position"])
def test_columns_of_persons_may_have_any_name(name, tmp_path):
    """A key, too, may be called as what a step has."""
    document = json.loads(json.dumps(HOSPITAL).replace('"patient"', json.dumps(name)))
    found = parse_schema(document, "x")
    data = {kind: frame.rename(columns={"patient": name}) for kind, frame in tables(300).items()}
    drawn = release_rows(model_of(steps_of(data, found)), 300, 1)
    written(drawn, tmp_path, found)
    assert (len(drawn.frame), list(drawn.frame)) == (300, [name, "sex", "born"])
    assert not list(broken_rows(tmp_path, found, [rule.rule for rule in found.history.rules]))


def test_keys_by_a_pattern_link_both_tables(tmp_path):
    document = copy.deepcopy(HOSPITAL)
    key = {"name": "patient", "type": "string", "generate": "number", "pattern": "P-####", "start": 5}
    document["resources"][0]["schema"]["fields"][0] = key
    with pytest.raises(ProblemsFound, match="Give both the same type"):
        parse_schema(document, "x")
    document["resources"][1]["schema"]["fields"][1]["type"] = "string"
    found = parse_schema(document, "x")
    assert parse_schema(found.table_schema(), "x") == found
    drawn = release_rows(model_of(steps_of(tables(300), found)), 300, 1)
    written(drawn, tmp_path, found)
    assert not list(broken_rows(tmp_path, found, []))
    read = read_decoded(tmp_path / "synthetic_events.csv", found.history.events)
    assert set(read["patient"]) <= {f"P-{number:04}" for number in range(5, 305)}


def test_tables_of_several_samples_share_no_key(model):
    one, two = draw_histories(model, 200, 1), draw_histories(model, 200, 2, skipped=200)
    for name, key in (("frame", "patient"), ("events", "admission")):
        assert not {*getattr(one, name)[key]} & {*getattr(two, name)[key]}


def test_metadata_of_both_tables_for_sdv():
    found = sdv_metadata(SCHEMA)
    assert found["METADATA_SPEC_VERSION"] == "MULTI_TABLE_V1"
    assert found["tables"]["patients"]["primary_key"] == "patient"
    assert found["tables"]["admissions"]["primary_key"] == "admission"
    assert found["relationships"] == [
        {
            "parent_table_name": "patients",
            "parent_primary_key": "patient",
            "child_table_name": "admissions",
            "child_foreign_key": "patient",
        }
    ]
