"""Splitting one table among parties, for simulations."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.simulation.simulated_run import Simulation, share_out, share_out_histories
from privity.assessment.simulation.table_splitting import kind_of_split, split_rows
from privity.common.consortium.manifest import Split
from privity.common.data.schema import load_schema, parse_schema
from privity.common.data.table_reading import read_rows
from privity.common.errors import PrivityError
from privity.common.protocol.secure_sum_method import PAILLIER
from privity.common.runs.run_request import request_document
from privity.deploy.consortium.provisioning import Limits, provision
from tests.harness.histories import HOSPITAL, tables

ASKED = request_document({"epsilon": 1, "algorithm": "one-way"})


def frame_of(rows, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame({"row": np.arange(rows), "city": generator.choice(["b", "a", "d", "c"], rows)}).astype(str)


def split(frame, parties, how, seed=1):
    return split_rows(frame, parties, how, np.random.default_rng(seed))


RULES = st.sampled_from(["random", "by:city", "dirichlet:city:.5", "sizes"])


@given(st.integers(1, 60), st.integers(1, 6), RULES, st.data())
def test_the_parts_hold_every_row_exactly_once(rows, parties, how, data):
    frame = frame_of(rows)
    if how == "sizes":
        weights = data.draw(st.lists(st.integers(1, 20), min_size=parties, max_size=parties))
        how = "sizes:" + ",".join(str(Fraction(w, sum(weights))) for w in weights)
    try:
        parts = split(frame, parties, how)
    except PrivityError as error:
        known = "would get no row" in error.message or "cannot share" in error.message
        if not known:
            raise
        return
    assert len(parts) == parties
    assert all(len(part) for part in parts)
    joined = pd.concat(parts)
    assert sorted(joined["row"], key=int) == list(frame["row"])
    pd.testing.assert_frame_equal(joined.sort_index(), frame)


@pytest.mark.parametrize("how", ["random", "by:city"])
@pytest.mark.parametrize(("rows", "parties"), [(10, 3), (100, 7), (5, 5), (12, 4), (9, 1)])
def test_parts_are_equal_to_within_one_row(how, rows, parties):
    sizes = [len(part) for part in split(frame_of(rows), parties, how)]
    assert sum(sizes) == rows
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (".7,.2,.1", [700, 200, 100]),
        ("0.8, 0.1, 0.1", [800, 100, 100]),
        ("1/3,1/3,1/3", [333, 334, 333]),
        ("1", [1000]),
    ],
)
def test_sizes_are_the_shares_asked_for(sizes, expected):
    parts = split(frame_of(1000), len(expected), f"sizes:{sizes}")
    assert [len(part) for part in parts] == expected


def test_by_an_attribute_the_parts_follow_its_order_and_are_unlike_each_other():
    parts = split(frame_of(400), 4, "by:city")
    assert [value for part in parts for value in part["city"]] == sorted(frame_of(400)["city"])
    assert [part["city"].mode()[0] for part in parts] == ["a", "b", "c", "d"]


def test_rows_of_one_value_are_mixed_before_the_cut():
    frame = frame_of(200).assign(city="same")
    assert [int(row) for row in split(frame, 2, "by:city")[0]["row"]] != list(range(100))


def test_random_parts_are_like_each_other():
    shares = [(part["city"] == "a").mean() for part in split(frame_of(20_000), 4, "random")]
    assert max(shares) - min(shares) < 0.04


@pytest.mark.parametrize("how", ["random", "by:city", "dirichlet:city:1"])
def test_the_split_repeats_with_the_seed_and_changes_with_it(how):
    frame = frame_of(50)
    one, same, other = (split(frame, 2, how, seed)[0]["row"].tolist() for seed in (1, 1, 2))
    assert one == same != other


def unlikeness(parts):
    """Mean total variation distance of the parties' cities from those of all."""
    whole = pd.concat(parts)["city"].value_counts(normalize=True)
    shares = [part["city"].value_counts(normalize=True).reindex(whole.index, fill_value=0) for part in parts]
    return float(np.mean([(share - whole).abs().sum() / 2 for share in shares]))


@pytest.mark.statistical
def test_parties_are_the_more_unlike_the_smaller_alpha_is():
    frame = frame_of(4000)

    def mean(alpha):
        return np.mean([unlikeness(split(frame, 3, f"dirichlet:city:{alpha}", seed)) for seed in range(20)])

    assert mean("0.1") > 1.5 * mean("1") > 3 * mean("100")
    assert mean("10000") < 0.03


def test_values_are_shared_out_each_by_itself():
    parts = split(frame_of(4000), 2, "dirichlet:city:.5")
    first = parts[0]["city"].value_counts().reindex(list("abcd"), fill_value=0) / frame_of(4000)["city"].value_counts()
    assert first.max() - first.min() > 0.2


def test_an_attribute_may_have_a_colon_in_its_name():
    frame = frame_of(50).rename(columns={"city": "city: of birth"})
    assert sum(map(len, split(frame, 2, "dirichlet:city: of birth:1"))) == 50


def test_the_frame_itself_stays_as_it_was():
    frame = frame_of(30)
    split(frame, 3, "by:city")
    pd.testing.assert_frame_equal(frame, frame_of(30))


@pytest.mark.parametrize(
    ("parties", "how", "reason"),
    [
        (21, "random", "21 parties cannot share 20 rows"),
        (0, "random", "0 parties cannot share 20 rows"),
        (-1, "random", "cannot share"),
        (2, "by:height", "no attribute 'height'"),
        (2, "by:", "no attribute ''"),
        (2, "halves", "'halves' is unknown"),
        (2, "", "'' is unknown"),
        (2, "sizes:a,b", "are no numbers"),
        (2, "sizes:", "are no numbers"),
        (2, "sizes:1/0,1", "are no numbers"),
        (2, "sizes:.5,.4", "add up to 1"),
        (2, "sizes:.5,.3,.2", "must be 2 positive numbers"),
        (2, "sizes:1,0", "positive"),
        (2, "sizes:1.5,-.5", "positive"),
        (2, "sizes:.99,.01", "would get no row"),
        (2, "dirichlet:height:1", "no attribute 'height'"),
        (2, "dirichlet:city", "no attribute ''"),
        (2, "dirichlet:city:much", "'much' is no number"),
        (2, "dirichlet:city:inf", "'inf' is no number"),
        (2, "dirichlet:city:0", "at least 0.01"),
        (2, "dirichlet:city:-1", "at least 0.01"),
        (20, "dirichlet:city:.01", "would get no row in 100 samples"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(parties, how, reason):
    with pytest.raises(PrivityError, match=reason) as caught:
        split(frame_of(20), parties, how)
    assert caught.value.code == "bad-option"
    assert "sizes:.7,.2,.1" in caught.value.remedy


def replaced(frame):
    """The frame with one row that holds something else."""
    other = frame.copy()
    other.loc[other.index[frame["city"] == "a"][0], "city"] = "d"
    return other


def changes(how, seed=7):
    """How many rows change at each of five parties when one row of the joint table is replaced."""
    frame = frame_of(1000)
    before, after = (split(table, 5, how, seed) for table in (frame, replaced(frame)))
    return [
        None if len(one) != len(other) else int((one.to_numpy() != other.to_numpy()).any(axis=1).sum())
        for one, other in zip(before, after, strict=True)
    ]


@pytest.mark.parametrize("how", ["random", "sizes:.5,.2,.1,.1,.1"])
def test_a_replaced_row_stays_where_it_was_if_rows_are_split_by_position(how):
    assert kind_of_split(how) is Split.POSITION
    assert sorted(changes(how)) == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("how", ["by:city", "dirichlet:city:.3"])
def test_a_replaced_row_moves_others_if_rows_are_split_by_what_they_hold(how):
    assert kind_of_split(how) is Split.GIVEN
    found = changes(how)
    assert None in found or sum(found) > 1


def test_values_drawn_for_codes_do_not_move_the_split(tmp_path):
    """A bin of one number needs no randomness, one of many does: positions must not come from the same stream."""
    schema = tmp_path / "s.json"
    fields = [{"name": "row", "type": "integer", "constraints": {"minimum": 0, "maximum": 199}, "bins": 200},
              {"name": "age", "type": "integer", "edges": [0, 1, 100]}]  # fmt: skip
    schema.write_text(json.dumps({"fields": fields}))
    found = []
    for age in (0, 50):
        ages = [age, *[50, 0] * 99, 50]
        pd.DataFrame({"row": range(200), "age": ages}).to_parquet(tmp_path / f"{age}.parquet")
        task = Simulation(
            request=ASKED, data=str(tmp_path / f"{age}.parquet"), schema=schema, parties=4, out=tmp_path / "out",
            split="random", rows=150, patience=60.0, seed=3,
        )  # fmt: skip
        parts, rest = share_out(task, load_schema(schema))
        found.append([sorted(part["row"]) for part in (*parts, rest)])
    assert found[0] == found[1]


ODD_TEXTS = ["a\rb", "a\r", "\r", "a\nb", "a\r\nb", 'say "1"', '"', "a\0b", "\0", "", " a", "a,b", "a"]


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
def test_the_parties_read_the_very_texts_of_the_joint_table(tmp_path, columns):
    """A text with a line end in it is one value of one row, in the file of its party too."""
    schema_file, data = tmp_path / "s.json", tmp_path / "t.csv"
    field = {"type": "string", "categories": ["a", "b", "o"], "outOfDomain": "other", "other": "o"}
    fields = [{"name": name, **field} for name in columns]
    schema_file.write_text(json.dumps({"fields": fields}))
    with open(data, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *([text] * len(columns) for text in ODD_TEXTS)])
    task = Simulation(
        request=ASKED, data=str(data), schema=schema_file, parties=2, out=tmp_path / "out", split="random", rows=None,
        patience=60.0, seed=3,
    )  # fmt: skip
    schema = load_schema(schema_file)
    parts, _ = share_out(task, schema)
    frames = {"north": parts[0], "south": parts[1]}
    limits = Limits(Fraction(1), 1, PAILLIER, None)
    consortium = provision(tmp_path / "all", frames, schema, limits, patience=60.0)
    found = [read_rows(consortium.party(name) / "data.csv") for name in frames]
    for frame, part in zip(found, parts, strict=True):
        assert frame.to_numpy().tolist() == part.to_numpy().tolist()
    assert sorted(text for frame in found for text in frame["x"]) == sorted(ODD_TEXTS)


def test_events_follow_their_persons_whatever_the_type_of_a_key():
    """One missing key makes a column of doubles of it; dates and decimal marks are as declared."""
    data = tables(200)
    patients = data["patients"].assign(patient=range(200))
    admissions = data["admissions"]
    number = admissions["patient"].str.removeprefix("P").astype(int)
    admissions = admissions.assign(patient=number.astype(float), admitted=pd.to_datetime(admissions["admitted"]))
    admissions.loc[0, "patient"] = None
    task = Simulation(
        request=request_document({"epsilon": "1"}), data=patients, events=admissions, schema=Path("unused"), parties=2,
        out=Path("unused"), split="random", rows=None, patience=1, seed=1,
    )  # fmt: skip
    parts, rest, events = share_out_histories(task, parse_schema(HOSPITAL, "x"))
    assert (sum(map(len, parts)), len(rest), sum(map(len, events))) == (200, 0, len(admissions) - 1)
    assert all(set(e["patient"]) <= set(p["patient"]) for p, e in zip(parts, events, strict=True))
