"""What privacy.json and report.html of a written release say of the guarantee, by who runs the curator."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity.common.formats import require
from privity.common.protocol.steps import Reply, Step
from privity.curator.traffic_meter import Meter
from tests.harness import consortium as harness
from tests.harness.consortium import make_consortium


@pytest.mark.parametrize("member", [None, "party-2"])
def test_a_release_says_who_runs_the_curator_and_what_that_party_knows(tmp_path: Path, member: str | None) -> None:
    consortium = make_consortium(3, curator_member=member, simulation=False)
    consortium.drive(tmp_path / "release", algorithm="one-way", epsilon=Fraction(1))
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    require(statement, "privacy", "privacy.json")
    page = (tmp_path / "release" / "report.html").read_text()
    assert (statement["curator_member"], statement["split"]) == (member, "none")
    sentence = "Party party-2 runs the curator and knows all that the curator knows."
    for text in (json.dumps(statement), page):
        assert (sentence in text) == (member is not None)
        assert ("colluding with nobody." in text) == (member is None)
    assumptions = {observer["assumption"] for observer in statement["observers"][1:]}
    assert all(("nobody but party party-2" in assumption) == (member is not None) for assumption in assumptions)


def test_a_release_says_by_which_rows_one_may_be_replaced_and_what_a_start_tells(tmp_path: Path) -> None:
    consortium = make_consortium(2)
    consortium.drive(tmp_path / "release", algorithm="one-way", epsilon=Fraction(1))
    words = json.loads((tmp_path / "release" / "privacy.json").read_text())["in_words"]
    assert "The other row may be any row that the rules of the schema accept." in words
    assert any(sentence.startswith("Whether a party's node starts") for sentence in words)


def test_a_simulation_that_does_not_say_how_it_split_rows_is_read_as_given(tmp_path: Path) -> None:
    consortium = make_consortium(2, simulation=True)
    consortium.drive(tmp_path / "release", algorithm="one-way", epsilon=Fraction(1))
    assert json.loads((tmp_path / "release" / "privacy.json").read_text())["split"] == "given"


def test_no_file_of_a_release_tells_in_which_order_parties_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a party takes may depend on its rows."""
    members = ["party-1", "party-2", "party-3"]
    found = {}
    for name, order in (("first", members), ("last", members[::-1])):
        meter = Meter()
        monkeypatch.setattr(harness, "Meter", lambda meter=meter: meter)
        consortium = make_consortium(3, seed=1)
        ask = consortium.ask

        async def slowly(party: str, step: Step, phase: str, meter=meter, order=order, ask=ask) -> Reply:
            for _ in range(10 * order.index(party)):
                await asyncio.sleep(0)
            meter.traffic(party, 1)
            return await ask(party, step, phase)

        monkeypatch.setattr(consortium, "ask", slowly)
        consortium.drive(tmp_path / name, algorithm="one-way", epsilon=Fraction(1))
        assert [list(parties) for parties in meter.bytes.values()] == [order] * len(meter.bytes)
        documents = [json.loads((tmp_path / name / file).read_text()) for file in ("run.json", "privacy.json")]
        found[name] = [list(parties) for parties in _by_party(documents, set(members))]
    assert found["first"] == found["last"]
    assert len(found["first"]) >= 2
    assert all(parties == members for parties in found["first"])


def _by_party(document: Any, members: set[str]) -> Iterator[dict[str, Any]]:
    """Every mapping by party in a document."""
    if isinstance(document, dict):
        if document.keys() & members:
            yield document
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from _by_party(part, members)
