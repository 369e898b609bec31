"""What an evaluation asks for fits its round whatever the schema is, and a party answers it once."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.protocol.evaluation_scores import Evaluation, MarginalScore, TreeScore, check_scores
from privity.common.protocol.steps import Contribute, Done, Refusal
from privity.common.release.evaluation import scores_over_parties
from privity.common.release.evaluation.scores_over_parties import PHASE, check_evaluation, scores_of, to_score
from privity.common.release.release_contents import RUN, SCORES
from privity.common.release.verification.release_verification import check_release
from privity.common.wire import codec
from privity.common.wire.codec import MalformedMessageError, decode_step, encode_step
from tests.harness.consortium import TestConsortium, make_consortium, make_schema
from tests.harness.steps import score_round


def leaning(domain: tuple[int, ...], rows: int) -> CodedTable:
    """Attributes of which each says something about every other one."""
    generator = np.random.default_rng(1)
    first = generator.integers(0, min(domain), rows)
    columns = (
        (first * (place + 1) + generator.integers(0, size, rows) * (generator.random(rows) < 0.6)) % size
        for place, size in enumerate(domain)
    )
    return CodedTable(make_schema(domain), tuple(columns))


def test_trees_for_many_targets_over_wide_domains_fit_one_round() -> None:
    table = leaning((16,) * 12, 3000)
    scores = scores_of(table, table.schema.names[:6])
    check_scores(scores, table.schema.derived, table.rows)
    # Shallower ones, not none.
    assert all(not isinstance(score.tree, int) for score in scores if isinstance(score, TreeScore))


def test_targets_whose_domains_leave_no_room_are_refused_before_any_party_is_asked(monkeypatch) -> None:
    schema = make_schema((3, 3, 2))
    asked = Evaluation(Fraction(1, 2), schema.names[:2])
    check_evaluation(asked, "dp-subn", Fraction(1), schema)
    monkeypatch.setattr(scores_over_parties, "TREES_CELLS", 5)
    with pytest.raises(PrivityError, match="too large for what may be asked at once"):
        check_evaluation(asked, "dp-subn", Fraction(1), schema)


def test_an_evaluation_without_any_table_is_refused_before_any_party_is_asked(monkeypatch) -> None:
    schema = make_schema((3, 3))
    monkeypatch.setattr(scores_over_parties, "SCORED_CELLS", 2)
    with pytest.raises(PrivityError, match="every table has more than"):
        check_evaluation(Evaluation(Fraction(1, 2)), "dp-subn", Fraction(1), schema)
    check_evaluation(Evaluation(Fraction(1, 2), schema.names[:1]), "dp-subn", Fraction(1), schema)


def test_an_evaluation_of_a_run_that_discovers_is_refused_before_any_party_is_asked() -> None:
    """Its synthetic rows are of a schema that parties do not have when they are asked to score."""
    with pytest.raises(PrivityError, match="discover makes the schema") as refused:
        check_evaluation(Evaluation(Fraction(1, 2)), "discover", Fraction(1), make_schema((3, 3)))
    assert refused.value.kind is Catalogue.BAD_OPTION


@pytest.mark.parametrize(
    ("epsilon", "part"),
    [(Fraction(2, 1_000_003), Fraction(1, 1_000_003)), (Fraction(1, 999_983), Fraction(1, 999_979_000_000))],
)
def test_what_is_left_to_learn_from_is_an_epsilon_as_a_run_may_have(epsilon: Fraction, part: Fraction) -> None:
    with pytest.raises(PrivityError, match="too small or has too many digits"):
        check_evaluation(Evaluation(part), "dp-subn", epsilon, make_schema((2, 2)))


def test_absent_rows_are_scored_within_the_memory_that_there_is(monkeypatch) -> None:
    schema = make_schema((2, 2))
    schema = replace(schema, attributes=tuple(replace(a, absent=True) for a in schema.attributes))
    table = CodedTable(schema, tuple(np.tile([0, 1], 500) for _ in schema.names))
    monkeypatch.setattr(scores_over_parties, "MOST_SCORED_ROWS", 100)
    # Of a thousand places one is taken to be filled: 999,000 absent rows would stand beside 1,000.
    scored = to_score(table, 1000, 1)
    assert scored.rows <= 1 + 100
    # Nine of ten are filled, and stay so.
    scored = to_score(table, 1000, 900)
    assert scored.rows == 100
    assert scored.absent().all(axis=0).sum() == 10


def test_a_tree_is_trained_on_rows_from_all_over_a_long_table(monkeypatch) -> None:
    first = np.repeat([0, 1], 500)
    table = CodedTable(make_schema((2, 2)), (first, first))
    monkeypatch.setattr(scores_over_parties, "TRAINED_ROWS", 100)
    tree = scores_of(table, table.schema.names[:1])[-1]
    assert tree.of({(0, 1): np.array([[500, 0], [0, 500]])}, 1000) == 1000


def scoring(run: TestConsortium, name: str, score: MarginalScore | TreeScore) -> Done | Refusal:
    reply = run.tell("party-1", Contribute(score_round("run-1", PHASE, name, (score,), Fraction(1, 4))))
    assert isinstance(reply, Done | Refusal)
    return reply


def test_a_party_scores_a_run_once(tmp_path: Path) -> None:
    joint = make_consortium(folder=tmp_path)
    joint.begin(joint.spec(epsilon=Fraction(1), evaluation=Evaluation(Fraction(1, 4), joint.schema.names)))
    assert scoring(joint, "1-evaluation", TreeScore(0, 0)) == Done()
    # The very same question has the same answer, after a restart as well.
    joint.restart("party-1")
    assert scoring(joint, "1-evaluation", TreeScore(0, 0)) == Done()
    for name, score in (("2-evaluation", TreeScore(0, 0)), ("2-evaluation", TreeScore(1, 0))):
        refused = scoring(joint, name, score)
        assert isinstance(refused, Refusal)
        assert "scored once" in refused.message
    assert joint.parties["party-1"].ledger.spent() == Fraction(1, 4)


def test_scores_ask_for_no_more_tables_than_a_round_of_tables(monkeypatch) -> None:
    score = MarginalScore(((0,), (0, 1)), (1, 0, 1, 0, 0, 0), 1)
    step = Contribute(score_round("run-1", PHASE, "1-evaluation", (score, score), Fraction(1)))
    assert decode_step(encode_step(step)) == step
    for limit, least in (("MOST_TABLES", 4), ("MOST_INDICES", 6)):
        with monkeypatch.context() as narrow:
            narrow.setattr(codec, limit, least)
            assert decode_step(encode_step(step)) == step
            narrow.setattr(codec, limit, least - 1)
            with pytest.raises(MalformedMessageError):
                decode_step(encode_step(step))


def test_scores_are_checked_with_the_release(tmp_path: Path) -> None:
    joint, folder = make_consortium(rows=200), tmp_path / "release"
    joint.drive(folder, evaluation=Evaluation(Fraction(1, 4)))
    assert any(SCORES in line for line in check_release(folder))
    run, scores = (json.loads((folder / name).read_text()) for name in (RUN, SCORES))

    def rules(changed: dict, named: bool = True) -> set[str]:
        (folder / SCORES).write_text(json.dumps(changed))
        run["files"] = {name: digest for name, digest in run["files"].items() if name != SCORES}
        if named:
            run["files"][SCORES] = hashlib.sha256((folder / SCORES).read_bytes()).hexdigest()
        (folder / RUN).write_text(json.dumps(run))
        with pytest.raises(ProblemsFound) as found:
            check_release(folder)
        return {problem.rule for problem in found.value.problems}

    assert rules({**scores, "schema_digest": "0" * 64}) == {"other-schema"}
    assert rules({**scores, "scores": []}) == {"minItems"}
    assert rules(scores, named=False) == {"other-files", "not-named"}
