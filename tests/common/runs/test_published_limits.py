"""Limits that a party publishes: signed by the party, and by nobody else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER
from privity.common.runs.published_limits import PublishedLimits
from privity.common.runs.run_limits import RunLimits
from privity.common.storage.canonical_json import b64

NORTH, SOUTH = Identity.generate(), Identity.generate()
MANIFEST = Manifest("clinics", {"north": NORTH.public(), "south": SOUTH.public()}, "0" * 64, None, False)
LIMITS = RunLimits(epsilon_per_run=Fraction(1, 3), algorithms=("mst",), minimum_parties=3, evaluation=False)


def signed(**changes: Any) -> bytes:
    given: dict[str, Any] = {"consortium": "clinics", "party": "north", "limits": LIMITS, "rows_per_person": 2}
    return PublishedLimits.signed(**{**given, "identity": NORTH, **changes}).document()


def test_what_a_party_signed_is_what_is_read() -> None:
    found = PublishedLimits.opened(signed(), MANIFEST)
    assert (found.party, found.limits, found.rows_per_person) == ("north", LIMITS, 2)
    assert PublishedLimits.opened(found.document(), MANIFEST) == found


def altered(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(signed())
    change(document)
    return json.dumps(document).encode()


FORGED = {
    "a looser limit": altered(lambda d: d["published"]["limits"].update(epsilon_per_run="3")),
    "a limit less": altered(lambda d: d["published"]["limits"].pop("algorithms")),
    "another date": altered(lambda d: d["published"].update(at="2099-01-01T00:00:00+00:00")),
    "fewer rows": altered(lambda d: d["published"].update(rows_per_person=1)),
    "in another's name": altered(lambda d: d["published"].update(party="south")),
    "by another": signed(identity=SOUTH),
    "by nobody": altered(lambda d: d.update(signature=b64(b"\0" * 64))),
    "of another consortium": signed(consortium="banks"),
    "of no party": signed(party="west"),
}


@pytest.mark.parametrize("document", FORGED.values(), ids=FORGED)
def test_what_is_forged_is_refused(document: bytes) -> None:
    with pytest.raises(PrivityError, match="not signed by a party") as caught:
        PublishedLimits.opened(document, MANIFEST)
    assert caught.value.code == "tampered"


MALFORMED = {
    "no JSON": b"{",
    "no document": b"[]",
    "no epsilon": altered(lambda d: d["published"]["limits"].update(epsilon_per_run="1/0")),
    "a float": altered(lambda d: d["published"]["limits"].update(minimum_parties=2.5)),
    "a key that there is not": altered(lambda d: d["published"]["limits"].update(population="people")),
    "no signature": altered(lambda d: d.pop("signature")),
    "another version": altered(lambda d: d.update(format_version=2)),
}


@pytest.mark.parametrize("document", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_such_document_is_refused(document: bytes) -> None:
    with pytest.raises(PrivityError, match="published limits"):
        PublishedLimits.opened(document, MANIFEST)


SPECS = st.builds(
    RunSpec,
    run=st.just("planned"),
    algorithm=st.sampled_from(["mst", "dp-subn"]),
    settings=st.just({}),
    epsilon=st.fractions(Fraction(1, 10), Fraction(2), max_denominator=10),
    tolerate=st.integers(0, 3),
    members=st.sampled_from([("north", "south"), ("north", "south", "east"), ("south", "east")]),
    manifest_digest=st.just("0" * 64),
    secure_sum=st.sampled_from([PAILLIER, MASKS]),
    attributes=st.sampled_from([None, ("age",), ("age", "ward")]),
)
WHOLE = RunLimits(
    epsilon_per_run=Fraction(1),
    delta_per_run=Fraction(0),
    algorithms=("mst",),
    minimum_parties=3,
    minimum_tolerate=1,
    minimum_key_bits=3072,
    secure_sums=("paillier",),
    exponents=("half", "full"),
    parties_per_person=2,
    attributes=("age",),
    evaluation=False,
)


@given(spec=SPECS, names=st.sets(st.sampled_from(sorted(WHOLE.limits()))), key_bits=st.sampled_from([2048, 3072, None]))
def test_what_is_published_refuses_what_the_party_would_and_nothing_that_it_would_not(spec, names, key_bits) -> None:
    """Of a whole policy the same reasons in the same order; of a part some of them."""
    manifest = replace(MANIFEST, parties_per_person=1)
    part = RunLimits.of_limits({name: value for name, value in WHOLE.limits().items() if name in names})
    whole = WHOLE.refusals(spec, "north", here=2, key_bits=key_bits, parties_per_person=1)
    for limits in (part, WHOLE):
        found = PublishedLimits.opened(signed(limits=limits), manifest).refusals(spec, key_bits, manifest)
        assert found == [reason for reason in whole if reason in found]
    assert found == whole
