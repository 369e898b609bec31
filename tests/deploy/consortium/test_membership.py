"""Pausing, unpausing and removing a party: one command, checked before it is sealed; consortium.toml keeps the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from privity.common.consortium.manifest import Manifest
from privity.common.errors import PrivityError
from privity.deploy.consortium import membership
from privity.deploy.consortium.organiser import Organiser, load_agreement
from tests.deploy.consortium.test_organiser import join_all, organiser
from tests.harness.command import here

__all__ = ["organiser"]
EDITS = {"pause": membership.pause, "unpause": membership.unpause, "remove": membership.remove}


@pytest.fixture
def sealed(organiser: Organiser) -> Organiser:
    """Three parties who agreed on two or more."""
    file = organiser.agreement_file
    file.write_text(file.read_text().replace("minimum_parties = 3", "minimum_parties = 2"))
    join_all(organiser)
    organiser.seal()
    return organiser


def state(organiser: Organiser) -> tuple[str, Manifest | None]:
    return organiser.agreement_file.read_text(), organiser.current()


def test_a_party_is_paused_takes_part_again_and_is_removed(sealed: Organiser) -> None:
    before = sealed.agreement_file.read_text()
    paused = membership.pause(sealed, "south")
    assert (paused.serial, paused.paused, [*paused.members]) == (2, ("south",), ["north", "south", "east"])
    assert paused.members_of_run(None) == ("north", "east")
    assert "party/south" in paused.certificates
    again = membership.unpause(sealed, "south")
    assert (again.serial, again.paused) == (3, ())
    assert sealed.agreement_file.read_text() == before
    gone = membership.remove(sealed, "east")
    assert (gone.serial, [*gone.members]) == (4, ["north", "south"])
    assert "party/east" not in gone.certificates
    assert sealed.current() == gone
    # Everything else is as the organiser wrote it.
    assert [line for line in sealed.agreement_file.read_text().splitlines() if not line.startswith("parties")] == [
        line for line in before.splitlines() if not line.startswith("parties")
    ]


@pytest.mark.parametrize(
    ("done", "edit", "party", "told"),
    [
        ([], "pause", "west", "'west' is no party"),
        ([], "remove", "nroth", "Parties are: north, south, east"),
        ([], "unpause", "north", "north is not paused"),
        ([("pause", "north")], "pause", "north", "north is paused already"),
        ([("pause", "north")], "pause", "south", "runs would be over east alone"),
        ([("pause", "north")], "remove", "east", "runs would be over south alone"),
        ([("remove", "north")], "remove", "east", "runs would be over south alone"),
        ([("remove", "north")], "pause", "north", "'north' is no party"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sealed(
    sealed: Organiser, done: list[tuple[str, str]], edit: str, party: str, told: str
) -> None:
    for command, name in done:
        EDITS[command](sealed, name)
    before = state(sealed)
    with pytest.raises(PrivityError) as caught:
        EDITS[edit](sealed, party)
    assert told in f"{caught.value.message} {caught.value.remedy}"
    assert state(sealed) == before


@pytest.mark.parametrize("edit", ["pause", "remove"])
def test_whose_minimum_is_not_met_is_said_and_can_be_agreed_on_anew(sealed: Organiser, edit: str) -> None:
    file = sealed.agreement_file
    file.write_text(file.read_text().replace("minimum_parties = 2", "minimum_parties = 3"))
    before = state(sealed)
    with pytest.raises(
        PrivityError, match=r"2 parties would be left \(north, east\), and the members agreed on 3"
    ) as caught:
        EDITS[edit](sealed, "south")
    assert "--minimum-parties 2" in caught.value.remedy
    assert state(sealed) == before
    assert EDITS[edit](sealed, "south", 2).minimum_parties == 2
    assert load_agreement(file).minimum_parties == 2


def test_who_runs_the_curator_and_people_at_several_parties(sealed: Organiser) -> None:
    file = sealed.agreement_file
    text = file.read_text()
    file.write_text(text.replace('# curator_member = "north"', 'curator_member = "north"'))
    with pytest.raises(PrivityError, match="north runs the curator"):
        membership.remove(sealed, "north")
    assert membership.pause(sealed, "north").curator_member == "north"
    file.write_text(text.replace("parties_per_person = 1", "parties_per_person = 2"))
    with pytest.raises(PrivityError, match="every run is over all of them"):
        membership.pause(sealed, "north")
    assert [*membership.remove(sealed, "north").members] == ["south", "east"]


@pytest.mark.parametrize(
    ("parties", "edited"),
    [
        ('parties = [\n  "north",  # the first\n  "south",\n  "east",\n]', True),
        ('"parties" = ["north", "south", "east"]', False),
    ],
)
def test_a_file_that_was_written_otherwise_is_edited_or_left_as_it_is(
    sealed: Organiser, parties: str, edited: bool
) -> None:
    file = sealed.agreement_file
    file.write_text(file.read_text().replace('parties = ["north", "south", "east"]', parties))
    before = state(sealed)
    if edited:
        assert membership.pause(sealed, "east").paused == ("east",)
        return
    with pytest.raises(PrivityError) as caught:
        membership.pause(sealed, "east")
    assert 'paused = ["east"]' in caught.value.remedy
    assert state(sealed) == before


@pytest.mark.process
def test_the_commands_say_over_whom_runs_are(sealed: Organiser) -> None:
    place = Path(sealed.folder)
    said = here(place, "privity consortium pause south")
    assert said.returncode == 0, said.stderr
    assert "south is paused: new runs are over north, east." in said.stdout
    assert "serial 2" in said.stdout
    refused = here(place, "privity consortium remove east")
    assert refused.returncode != 0
    assert "runs would be over north alone" in refused.stderr
    assert "new runs are over north, south, east" in here(place, "privity consortium unpause south").stdout
    assert "is no member any more" in here(place, "privity consortium remove south").stdout
