"""MST and AIM over three parties with the production protocol: what is charged and said, and runs taken up again."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from privity.common.protocol.steps import Contribute, SelectTable
from privity.common.synthesis.algorithms import aim, mst
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.long import long_but, thinned

DOMAIN = (2, 3, 4, 2)
DELTA = Fraction(1, 2**20)
SMALL = {"aim": {"tables": 3, "selection": "parties"}, "mst": {"edges": 3, "selection": "parties"}}
FILES = ("model.json", "marginals.json", "privacy.json")


class Crashed(BaseException):
    """The curator is gone."""


def consortium_of(folder: Path) -> TestConsortium:
    folder.mkdir()
    policies = {f"party-{k}": open_policy(total_delta=Fraction(1, 1000)) for k in (1, 2, 3)}
    return make_consortium(3, domain=DOMAIN, rows=400, seed=5, folder=folder, policies=policies)


def drive(consortium: TestConsortium, algorithm: str, delta: Fraction = Fraction(0), **settings: object) -> Path:
    assert consortium.folder is not None
    release = consortium.folder / "release"
    chosen = {**SMALL[algorithm], **settings}
    consortium.drive(release, algorithm=algorithm, settings=chosen, epsilon=Fraction(2), delta=delta)
    return release


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("delta", "selection", "algorithm"), thinned(product([Fraction(0), DELTA], ["parties", "joint"], sorted(SMALL)), 3)
)
def test_a_run_selects_one_table_at_each_party_in_turn_and_charges_what_it_says(
    tmp_path: Path, algorithm: str, selection: str, delta: Fraction
) -> None:
    consortium = consortium_of(tmp_path / "c")
    release = drive(consortium, algorithm, delta, selection=selection)
    statement = json.loads((release / "privacy.json").read_text())
    for party in statement["parties"]:
        ledger = consortium.parties[party["name"]].ledger
        assert ledger.spent() == Fraction(party["epsilon_per_row"]) <= 2
        assert ledger.spent_delta() == Fraction(party["delta_per_row"]) == delta
        assert delta or ledger.spent() == 2
    draws = [(party, step) for party, step in consortium.told if isinstance(step, SelectTable)]
    assert [party for party, _ in draws] == (["party-1", "party-2", "party-3"] if selection == "parties" else [])
    assert all(len(step.expected) > 0 for _, step in draws)
    marginals = json.loads((release / "marginals.json").read_text())
    assert marginals["inference"]["method"] == {"aim": "pgm", "mst": "tables"}[algorithm]
    phase = {"aim": aim.ROUNDS, "mst": mst.EDGES}[algorithm]
    assert len([table for table in marginals["tables"] if table["phase"] == phase]) == 3


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", long_but(["mst"], sorted(SMALL)))
@pytest.mark.parametrize("selection", ["parties", pytest.param("joint", marks=pytest.mark.long)])
def test_a_run_taken_up_after_a_crash_of_the_curator_gives_the_same_release(
    tmp_path: Path, algorithm: str, selection: str
) -> None:
    """Wherever it stops: what is asked next follows from fits, which must come out the same."""
    whole = consortium_of(tmp_path / "whole")
    release = drive(whole, algorithm, selection=selection)
    expected = [(release / name).read_bytes() for name in FILES]
    # After the release parties are only told of its end.
    steps = max(place for place, (_, step) in enumerate(whole.told) if isinstance(step, SelectTable | Contribute))
    for crash in (steps // 3, 2 * steps // 3, steps):
        consortium = consortium_of(tmp_path / f"crash-{crash}")
        told, tell = 0, consortium.tell

        def dying(party, step, tell=tell, crash=crash):  # type: ignore[no-untyped-def]
            nonlocal told
            told += 1
            reply = tell(party, step)
            if told == crash:
                raise Crashed
            return reply

        consortium.tell = dying  # type: ignore[method-assign]
        with pytest.raises(Crashed):
            drive(consortium, algorithm, selection=selection)
        again = drive(consortium, algorithm, selection=selection)
        assert [(again / name).read_bytes() for name in FILES] == expected, crash
        assert {party.ledger.spent() for party in consortium.parties.values()} == {Fraction(2)}
        asked = Counter((party, step.key) for party, step in consortium.told)
        assert sum(asked.values()) - len(asked) == 1, "no step is asked twice but the one whose answer was lost"
