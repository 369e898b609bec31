"""What this party signed of runs and the curator gives back: what its ledger lacks of them is entered, once.

A statement counts if this party's own key signed it and if it names, blinded, the population of the ledger. It says
that so much was spent at least. So a curator can neither invent a charge nor lower one, and what it keeps back stays
unknown: that is why the population is frozen until its owner says what was spent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.crypto.identity import Identity
from privity.common.formats import check
from privity.common.privacy.ledger import ATTESTED, WHOLE, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import LARGEST_SPEC, Enrolment, RunSpec
from privity.common.release.attestations import FORMAT_VERSION, is_signed_by_party
from privity.common.release.release_contents import ATTESTATIONS
from privity.common.runs.run_limits import cost_of_a_person
from privity.common.storage.canonical_json import parse
from privity.common.storage.journal import Journal
from privity.common.wire.statements import GivenBack
from privity.party.approvals import attested_key, closed_key
from privity.party.keys import Keys
from privity.party.ledger_rollback import was_set_back

_log = logging.getLogger("privity.party")


@dataclass(frozen=True)
class OwnStatement:
    """What this party signed of a run.

    Attributes:
        population: blinded.
        spent: by a person, at least.
        attested: whether it is of a release; otherwise of a run that has not ended.
    """

    run: str
    population: str
    spent: ApproxDP
    attested: bool

    @property
    def step(self) -> str:
        """What the ledger calls the charge."""
        return ATTESTED if self.attested else WHOLE


class OwnStatements:
    """Reads what was handed over, against the keys, the ledger and the journal of this party."""

    def __init__(self, party: str, journal: Journal, ledger: Ledger, keys: Keys) -> None:
        self._party = party
        self._journal = journal
        self._ledger = ledger
        self._keys = keys

    def lacking(self, handed: Iterable[GivenBack]) -> list[OwnStatement]:
        """Those whose charges the ledger lacks, or whose run the journal does not know.

        What is not this party's own, or names another population, is left out, and logged unless the run is known.
        """
        return [own for message in handed if (own := self._lacking(message)) is not None]

    def _lacking(self, message: GivenBack) -> OwnStatement | None:
        try:
            statement, signers = self._read(message)
        except (ValueError, KeyError, TypeError):
            _log.error("the curator gave back what is no statement of this party")
            return None
        if self._is_known(statement):
            return None
        run, name = statement.run, self._ledger.population.name
        if any(signer.blinded(run, name) == statement.population for signer in signers):
            return statement
        if self._journal.content(attested_key(run)) is not None:
            return None
        if signers:
            _log.error("a statement of this party names another population than this node's", extra={"run": run})
        else:
            _log.error("a statement in this party's name is signed by no key that is here", extra={"run": run})
        return None

    def _is_known(self, statement: OwnStatement) -> bool:
        """Whether nothing is to be entered: the ledger has as much, and the journal the run."""
        run, spent = statement.run, statement.spent
        closed = self._journal.content(closed_key(run))
        covered = self._ledger.spent(run) >= spent.epsilon and self._ledger.spent_delta(run) >= spent.delta
        if statement.attested:
            return covered and (closed is not None or self._journal.content(attested_key(run)) is not None)
        if closed is None:
            return self._journal.content(f"{run}/reply/enrol") is not None
        # How much a run costs that ended here in order shows in its charges.
        return covered or not was_set_back(closed)

    def _read(self, message: GivenBack) -> tuple[OwnStatement, list[Identity]]:
        """A statement in this party's name, and whose keys signed it; ValueError, KeyError or TypeError of others."""
        if message.attestation:
            return self._read_attestation(_document(message.attestation))
        spec = RunSpec.from_dict(_document(message.spec))
        enrolment = Enrolment.from_dict(_document(message.enrolment))
        if enrolment.party != self._party or enrolment.spec_digest != spec.digest or enrolment.rows_per_person < 1:
            raise ValueError("not an enrolment of this party in this run")
        # How many rows a person has elsewhere is not in it: it costs that much at least.
        spent = cost_of_a_person(spec, enrolment.rows_per_person)
        signers = [identity for identity in self._keys.all() if _signed(enrolment, identity)]
        return OwnStatement(spec.run, enrolment.population, spent, attested=False), signers

    def _read_attestation(self, signed: dict[str, Any]) -> tuple[OwnStatement, list[Identity]]:
        document = {"format_version": FORMAT_VERSION, "manifests": [{}], "parties": [signed]}
        if check(document, "attestations", ATTESTATIONS) or signed["statement"]["party"] != self._party:
            raise ValueError("not an attestation of this party")
        statement = signed["statement"]
        epsilon, delta = (Fraction(statement["charges"][f"{word}_per_person"]) for word in ("epsilon", "delta"))
        spent = ApproxDP(epsilon, delta, RELATION)
        signers = [identity for identity in self._keys.all() if is_signed_by_party(signed, identity.public())]
        return OwnStatement(statement["run"], statement["population"], spent, attested=True), signers


def _signed(enrolment: Enrolment, identity: Identity) -> bool:
    try:
        enrolment.check_signature(identity.public())
    except ValueError:
        return False
    return True


def _document(data: bytes) -> dict[str, Any]:
    if len(data) > LARGEST_SPEC:
        raise ValueError("larger than any statement")
    document = parse(data)
    if not isinstance(document, dict):
        raise ValueError("not a plain document")
    return document
