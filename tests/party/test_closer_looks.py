"""Numbers whose domain is open, looked at closer over several parties: coded anew, counted, charged like any round."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privity.common.data.schema import Schema, load_schema, parse_schema
from privity.common.data.table_reading import encode
from privity.common.protocol.steps import Contribute, Done, Recode, Refusal
from privity.common.synthesis.learning.domain_discovery import LOOKS, undiscovered, with_edges
from privity.party.sources.rows import InMemory, Rows
from tests.harness.consortium import TestConsortium
from tests.harness.ledgers import charges
from tests.harness.steps import laplace_round

OPEN = parse_schema(
    {
        "fields": [
            {"name": "ward", "type": "string", "categories": ["north", "south"]},
            {"name": "pay", "type": "integer", "domain": "discover", "constraints": {"minimum": 0, "maximum": 10**6}},
        ]
    },
    "open",
)
PAY = 1
POINT = 45_678
ENOUGH = Fraction(1000)
"""An epsilon at which there is no noise."""

EDGES = tuple(Fraction(edge) for edge in (0, 45_600, POINT, POINT + 1, 45_700, 10**6))


def frame(party: str) -> pd.DataFrame:
    generator = np.random.default_rng(int(party[-1]))
    pay = generator.integers(0, 100_000, 500)
    pay[generator.random(500) < 0.3] = POINT
    return pd.DataFrame({"ward": generator.choice(["north", "south"], 500), "pay": pay})


def rows_by(schema: Schema, party: str) -> InMemory:
    return InMemory(encode(frame(party), schema, party))


def consortium(folder: Path | None = None, **options: Any) -> TestConsortium:
    def recode(party: str, schema: Schema) -> Rows:
        return rows_by(schema, party)

    tables = {name: rows_by(OPEN, name).table for name in ("party-1", "party-2", "party-3")}
    return TestConsortium(tables, folder=folder, recode=recode, seed=7, **options)


def begun(algorithm: str = "discover", epsilon: Fraction = ENOUGH, **changes: Any) -> TestConsortium:
    found = consortium(**changes)
    found.begin(found.spec(algorithm=algorithm, epsilon=epsilon))
    return found


def look(name: str = "look", edges: tuple[Fraction, ...] = EDGES, place: int = PAY) -> Recode:
    return Recode("run-1", name, ((place, edges),))


def contribution(name: str) -> Contribute:
    return Contribute(laplace_round("run-1", "domains", name, ((PAY,),), ENOUGH / 2))


def kept(world: TestConsortium, step: Contribute) -> list[int]:
    stored = world.parties["party-1"].journal.content(f"run-1/vector/{step.round.round}")
    assert stored is not None
    return [int(count) for count in np.frombuffer(stored, dtype="<i8")]


def test_a_run_over_parties_finds_what_only_a_closer_look_tells(tmp_path: Path) -> None:
    world = consortium()
    world.drive(tmp_path / "release", algorithm="discover", epsilon=Fraction(40))
    found = load_schema(tmp_path / "release" / "schema.json")
    assert undiscovered(found) == []
    cuts = set(found.attributes[PAY].edges)
    assert {Fraction(POINT), Fraction(POINT + 1)} <= cuts, "the point has a bin of its own"
    steps = {charge.step for charge in charges(world.parties["party-1"].ledger)}
    assert "round/domains/look 1/1-domains" in steps
    assert {member.ledger.spent() <= 40 for member in world.parties.values()} == {True}
    made = pd.read_csv(tmp_path / "release" / "synthetic.csv")
    real = pd.concat(frame(party) for party in world.parties)
    assert abs((made["pay"] == POINT).mean() - (real["pay"] == POINT).mean()) < 0.05
    marginals = json.loads((tmp_path / "release" / "marginals.json").read_text())
    assert [table["attributes"] for table in marginals["tables"]] == [["ward"]]


@pytest.mark.parametrize("restarts", [False, True])
def test_rows_are_counted_by_the_edges_of_the_step_above(restarts: bool, tmp_path: Path) -> None:
    world = begun(folder=tmp_path)
    member = world.parties["party-1"]
    assert world.tell("party-1", look()) == Done()
    assert member.ledger.spent() == 0, "to code is not to count"
    if restarts:
        world.restart("party-1")
    above, below = contribution("1-domains"), contribution("look/1-domains")
    for step in (below, above):
        assert world.tell("party-1", step) == Done()
    pay = frame("party-1")["pay"].to_numpy()
    assert kept(world, below) == np.histogram(pay, [float(edge) for edge in EDGES])[0].tolist()
    whole = rows_by(OPEN, "party-1")
    assert kept(world, above) == whole.count([(PAY,)]).tolist()
    finer = rows_by(with_edges(OPEN, {PAY: EDGES}), "party-1")
    assert kept(world, below) == finer.count([(PAY,)]).tolist()
    assert world.parties["party-1"].ledger.spent() == ENOUGH, "each of the two rounds is charged"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (look(place=0, edges=EDGES), "it names an attribute whose domain is not open"),
        (look(place=9), "it names an attribute whose domain is not open"),
        (look(edges=EDGES[::-1]), "the edges of pay do not rise within its grid"),
        (look(edges=(*EDGES[:-1], Fraction(10**9))), "the edges of pay do not rise within its grid"),
        (look(edges=(Fraction(-1), *EDGES[1:])), "the edges of pay do not rise within its grid"),
        (look(edges=EDGES[:1]), "the edges of pay do not rise within its grid"),
    ],
)
def test_what_is_no_closer_look_is_refused(step: Recode, said: str) -> None:
    world = begun()
    refused = world.tell("party-1", step)
    assert isinstance(refused, Refusal)
    assert said in refused.message
    assert world.parties["party-1"].ledger.spent() == 0


def test_there_are_only_so_many_and_each_stays_as_it_is() -> None:
    world = begun()
    for number in range(LOOKS):
        assert world.tell("party-1", look(f"look {number}")) == Done()
    refused = world.tell("party-1", look("one more"))
    assert isinstance(refused, Refusal)
    assert f"the rows were coded anew {LOOKS} times" in refused.message
    changed = world.tell("party-1", look("look 0", EDGES[1:]))
    assert isinstance(changed, Refusal)
    assert changed.code == "step-changed"


def test_no_other_run_codes_rows_anew_and_rows_that_cannot_be_are_refused_before_anything_is_spent() -> None:
    closed = {"fields": [OPEN.table_schema()["fields"][0]]}
    known = parse_schema(closed, "closed")
    tables = {f"party-{k}": InMemory(encode(frame(f"party-{k}")[["ward"]], known, "table")).table for k in (1, 2, 3)}
    other = TestConsortium(tables, recode=lambda party, schema: rows_by(schema, party))
    other.begin(other.spec(algorithm="one-way"))
    refused = other.tell("party-1", look())
    assert isinstance(refused, Refusal)
    assert "one-way codes no rows anew" in refused.message
    coded = TestConsortium({name: rows_by(OPEN, name).table for name in ("party-1", "party-2", "party-3")})
    with pytest.raises(AssertionError, match="coded once and for all"):
        coded.begin(coded.spec(algorithm="discover"))
