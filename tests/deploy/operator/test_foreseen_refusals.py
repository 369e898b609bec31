"""Which parties would refuse a run, by limits that a curator may have forged or kept too long."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.identity import Identity, sign
from privity.common.runs.published_limits import _SIGNED_AS, LARGEST_LIMITS, PublishedLimits
from privity.common.runs.run_limits import RunLimits
from privity.common.storage.canonical_json import canonical_bytes
from privity.deploy.operator.foreseen_refusals import Foreseen, forecast
from tests.curator.test_run_driver import REQUEST

KEYS = {name: Identity.generate() for name in ("north", "south", "east")}
MANIFEST = Manifest("clinics", {name: keys.public() for name, keys in KEYS.items()}, "0" * 64, None, False)
STRICT = RunLimits(epsilon_per_run=Fraction(1, 2), minimum_parties=4, minimum_key_bits=3072)


def published(party: str, limits: RunLimits, at: str = "2026-01-01T00:00:00+00:00", rows: int = 1) -> bytes:
    unsigned = PublishedLimits("clinics", party, at, limits, rows, b"")
    signature = sign(KEYS[party].signing, _SIGNED_AS, canonical_bytes(unsigned._content()))
    return replace(unsigned, signature=signature).document()


def test_all_reasons_of_all_parties_are_told_at_once_and_who_publishes_nothing() -> None:
    documents = [published("south", RunLimits(algorithms=("mst",))), published("north", STRICT)]
    found = forecast(documents, MANIFEST, REQUEST)
    assert list(found.in_words()) == [
        "north would refuse the run, by the limits that it signed 2026-01-01T00:00:00+00:00:",
        "  epsilon 1 is above 0.5 a run",
        "  fewer than 4 parties",
        "  a 2048-bit Paillier modulus is shorter than 3072 bits",
        "south would refuse the run, by the limits that it signed 2026-01-01T00:00:00+00:00:",
        "  algorithm 'one-way' is not among those allowed",
        "They publish no limits: east.",
    ]
    assert [party.party for party in found.refusing] == ["north", "south"]
    assert found.document()["parties"][2] == {"party": "east", "published_at": "", "reasons": ()}


def test_rows_of_a_person_count_as_the_party_counts_them() -> None:
    (north, *_) = forecast(
        [published("north", RunLimits(epsilon_per_run=Fraction(2)), rows=3)], MANIFEST, REQUEST
    ).parties
    assert north.reasons == ("epsilon 1, 3 for a person with several rows, is above 2 a run",)


def test_what_does_not_hold_is_ignored_and_named() -> None:
    forged = json.loads(published("north", STRICT))
    forged["published"]["limits"] = {}
    documents = [
        json.dumps(forged).encode(),
        b"no document",
        b" " * (LARGEST_LIMITS + 1),
        published("south", RunLimits(minimum_parties=2)),
    ]
    found = forecast(documents, MANIFEST, REQUEST)
    assert found.refusing == ()
    assert len(found.ignored) == 3
    assert "published limits: they are not signed by a party north of this consortium" in found.ignored[0]
    assert any(line.startswith("Ignored: ") for line in found.refusals_in_words())
    assert "Nothing that they publish speaks against it: south." in found.in_words()


@pytest.mark.parametrize("turned", [False, True])
def test_of_several_of_one_party_the_newest_counts_and_an_old_one_says_how_old_it_is(turned: bool) -> None:
    old = published("north", RunLimits(minimum_parties=2), at="2025-01-01T00:00:00+00:00")
    documents = [old, published("north", STRICT)]
    (north, *_) = forecast(documents[:: -1 if turned else 1], MANIFEST, REQUEST).parties
    assert north.published_at == "2026-01-01T00:00:00+00:00"
    assert len(north.reasons) == 3
    (north, *_) = forecast([old], MANIFEST, REQUEST).parties
    assert north == Foreseen("north", "2025-01-01T00:00:00+00:00", ())


def test_a_party_that_has_withdrawn_its_limits_publishes_nothing() -> None:
    found = forecast([published("north", RunLimits())], MANIFEST, REQUEST)
    assert "They publish no limits: north, south, east." in found.in_words()
