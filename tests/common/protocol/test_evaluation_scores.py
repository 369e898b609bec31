"""An evaluation over the parties: they score the synthetic table on their own rows, and noisy sums are opened."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.table_reading import read_table
from privity.common.errors import PrivityError
from privity.common.formats import require
from privity.common.protocol.evaluation_scores import Evaluation, MarginalScore, ShareScore, Split, TreeScore
from privity.common.protocol.steps import Contribute, Done, Refusal
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.release.evaluation.scores_over_parties import PHASE, scores_of, to_score
from privity.common.release.release_folder import read_release
from tests.harness.consortium import TestConsortium, make_schema, open_policy
from tests.harness.ledgers import charged
from tests.harness.steps import score_round

EVALUATION = Evaluation(Fraction(1, 2), ("a0",))


def correlated(rows: int, seed: int) -> CodedTable:
    """Two attributes that nearly agree, and one of its own."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 3, rows)
    second = np.where(generator.random(rows) < 0.9, first, generator.integers(0, 3, rows))
    return CodedTable(make_schema((3, 3, 2)), (first, second, generator.integers(0, 2, rows)))


def consortium(rows: int = 4000, **options) -> TestConsortium:
    return TestConsortium({f"party-{k}": correlated(rows, k) for k in (1, 2, 3)}, **options)


@pytest.mark.process
def test_the_scores_of_a_release_are_those_of_brute_force_but_for_the_noise(tmp_path: Path) -> None:
    joint = consortium()
    names = joint.schema.names
    joint.drive(tmp_path / "release", epsilon=Fraction(2), evaluation=replace(EVALUATION, targets=(names[0],)))
    document = json.loads((tmp_path / "release" / "scores.json").read_text())
    require(document, "scores", "scores.json")
    assert read_release(tmp_path / "release").scores is not None
    synthetic = read_table(tmp_path / "release" / "synthetic.csv", joint.schema)
    one, two, accuracy, *shares = document["scores"]
    assert (one["ways"], one["tables"], two["ways"], two["tables"]) == (1, 3, 2, 3)
    parties = [correlated(4000, k) for k in (1, 2, 3)]
    distances = [marginal_distances(table, synthetic, (1, 2)) for table in parties]
    noise = 8 * float(Fraction(document["scale"])) * 1.5 / document["rows"]
    assert noise <= 0.01
    for found, way in ((one, 1), (two, 2)):
        assert found["value"] == pytest.approx(np.mean([d[f"tvd{way}"] for d in distances]), abs=noise + 1e-3)
        # Convexity: the parties' own tables are as far away as the joint one at least.
        whole = CodedTable(
            joint.schema, tuple(np.concatenate(c) for c in zip(*(t.columns for t in parties), strict=True))
        )
        assert found["value"] + noise >= marginal_distances(whole, synthetic, (way,))[f"tvd{way}"]
    # The nearly equal attribute tells it in about 93 of 100 rows; the most frequent code in a third.
    assert 0.85 < accuracy["value"] < 0.97
    assert accuracy["majority"] < 0.45
    assert [share["attribute"] for share in shares] == list(names[:2])
    for share in shares:
        place = names.index(share["attribute"])
        code = joint.schema.attributes[place].labels.index(share["of"])
        counted = np.mean([np.mean(table.columns[place] == code) for table in parties])
        assert share["value"] == pytest.approx(counted, abs=noise)
        assert share["synthetic"] == pytest.approx(np.mean(synthetic.columns[place] == code))


def test_it_is_part_of_what_the_run_costs_and_of_the_statement(tmp_path: Path) -> None:
    joint = consortium(200)
    joint.drive(tmp_path / "release", evaluation=Evaluation(Fraction(1, 4)))
    release = read_release(tmp_path / "release")
    # Who makes no draws pays less.
    assert max(party.ledger.spent() for party in joint.parties.values()) == 1
    entries = charged(joint.parties["party-1"].ledger)
    assert [e.charge.loss.epsilon for e in entries if "evaluation" in e.charge.step] == [Fraction(1, 4)]
    phases = {phase["phase"]: phase for phase in release.privacy["phases"]}
    assert phases[PHASE]["epsilon_per_row"] == "1/4"
    assert "scores of the synthetic table" in phases[PHASE]["mechanisms"][0]
    assert max(Fraction(p["epsilon_per_row"]) for p in release.privacy["parties"]) == 1
    assert release.run["evaluation"] == {"epsilon": "1/4", "targets": []}


def test_a_run_without_it_opens_no_scores(tmp_path: Path) -> None:
    joint = consortium(100)
    joint.drive(tmp_path / "release")
    assert not (tmp_path / "release" / "scores.json").exists()
    assert read_release(tmp_path / "release").scores is None


def scoring(epsilon: Fraction = Fraction(1, 2), *scores) -> Contribute:
    return Contribute(score_round("run-1", PHASE, "1-evaluation", scores or (TreeScore(0, 0),), epsilon))


def refusal(joint: TestConsortium, step: Contribute) -> str:
    reply = joint.tell("party-1", step)
    assert isinstance(reply, Refusal)
    assert charged(joint.parties["party-1"].ledger) == []
    return reply.message


def test_a_policy_that_does_not_say_so_allows_no_evaluation(tmp_path: Path) -> None:
    joint = consortium(50, policies={"party-2": open_policy(evaluation=False)})
    with pytest.raises(PrivityError, match="an evaluation over the parties is not allowed"):
        joint.drive(tmp_path / "release", evaluation=Evaluation(Fraction(1, 4)))
    assert all(charged(party.ledger) == [] for party in joint.parties.values())


def test_a_party_answers_only_the_scores_that_were_approved() -> None:
    joint = consortium(50)
    name = joint.schema.names[0]
    joint.begin(joint.spec())
    assert "not one that scores" in refusal(joint, scoring())
    joint = consortium(50)
    joint.begin(joint.spec(evaluation=Evaluation(Fraction(1, 2), (name,))))
    assert "more epsilon than the evaluation's" in refusal(joint, scoring(Fraction(3, 4)))
    assert "does not name" in refusal(joint, scoring(Fraction(1, 2), TreeScore(1, 0)))
    assert isinstance(joint.tell("party-1", scoring()), Done)


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (MarginalScore(((0,),), (1, 0), 1), "one count for each cell"),
        (MarginalScore(((0,),), (2, 0, 0), 1), "counts of more rows"),
        (MarginalScore(((0,),), (0, 0, 0), 0), "counts of more rows"),
        (MarginalScore(((99,),), (1,), 1), "attributes that the schema does not have"),
        (TreeScore(0, 3), "what the domain does not have"),
        (TreeScore(0, Split(0, 1, 0, 1)), "or one twice"),
        (TreeScore(0, Split(99, 1, 0, 1)), "attributes that the schema does not have"),
        (ShareScore(0, 0, 4), "codes that the domain does not have"),
        (ShareScore(0, 1, 1), "or of none"),
        (ShareScore(99, 0, 1), "attributes that the schema does not have"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_scores_that_cannot_be_made_are_refused_before_anything_is_charged(score, reason: str) -> None:
    joint = consortium(50)
    joint.begin(joint.spec(evaluation=Evaluation(Fraction(1, 2), (joint.schema.names[0],))))
    assert reason in refusal(joint, scoring(Fraction(1, 2), score))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"evaluation": Evaluation(Fraction(1))}, "leaves nothing to learn from"),
        ({"evaluation": Evaluation(Fraction(1, 2), ("nobody",))}, "the schema has no 'nobody'"),
        ({"evaluation": Evaluation(Fraction(1, 2)), "algorithm": "independent"}, "a second view"),
    ],
)
def test_an_evaluation_that_cannot_be_is_refused_before_any_party_is_asked(tmp_path, change, reason: str) -> None:
    joint = consortium(50)
    with pytest.raises(PrivityError, match=reason):
        joint.drive(tmp_path / "release", **change)
    assert joint.told == []


@pytest.mark.process
def test_a_curator_that_starts_again_asks_for_the_same_scores(tmp_path: Path) -> None:
    joint = consortium(60, folder=tmp_path, seed=5)
    evaluation = Evaluation(Fraction(1, 4), (joint.schema.names[0],))
    joint.drive(tmp_path / "first", close=False, evaluation=evaluation)
    spent = {name: party.ledger.spent() for name, party in joint.parties.items()}
    joint.drive(tmp_path / "second", evaluation=evaluation)
    assert spent == {name: party.ledger.spent() for name, party in joint.parties.items()}
    first, second = ((tmp_path / name / "scores.json").read_bytes() for name in ("first", "second"))
    assert first == second


def test_the_scored_table_is_the_published_one_and_has_its_absent_rows() -> None:
    schema = make_schema((2, 2))
    table = CodedTable(schema, (np.array([0, 1, 1]), np.array([1, 1, 0])))
    assert to_score(table, 3, 3) is table
    with_places = replace(schema, attributes=tuple(replace(a, absent=True) for a in schema.attributes))
    # Of eight places in all parties six are taken to be filled: a third of the filled ones is added.
    scored = to_score(CodedTable(with_places, table.columns), 8, 6)
    assert scored.rows == 4
    assert scored.absent()[:, -1].all()
    (one, two) = scores_of(scored, ())
    assert one.counts == (1, 2, 1, 1, 2, 1)
    assert sum(two.counts) == 4
