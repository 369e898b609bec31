"""What a party signed of runs, as far as it is here: it is given back to a node whose ledger lacks their charges.

That is its attestation of a release, or its enrolment in a run that has not ended. Of a run that ended without a
release nothing is kept that is signed.
"""

from __future__ import annotations

import logging
from pathlib import Path

from privity.common.consortium.manifest import manifest_of_run
from privity.common.errors import PrivityError
from privity.common.protocol.steps import Enrolled
from privity.common.release.attestations import read_attestations
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.storage.journal import Journal
from privity.common.wire.codec import decode_reply
from privity.common.wire.statements import GivenBack
from privity.curator.run_state import Run

_log = logging.getLogger("privity.curator")


class SignedByParties:
    """Statements of parties about the runs of one curator.

    Args:
        releases: folder of all releases, below their names.
    """

    def __init__(self, journal: Journal, releases: Path) -> None:
        self._journal = journal
        self._releases = releases

    def of(self, party: str, run: Run) -> GivenBack | None:
        """What the party signed of the run; None if nothing is here. To be called beside the event loop."""
        return self._attestation(party, run.name) or self._enrolment(party, run)

    def _attestation(self, party: str, run: str) -> GivenBack | None:
        folder = self._releases / run
        try:
            document = read_attestations(folder) or {"parties": []}
        except PrivityError as error:
            _log.error("the signatures of a release cannot be read", extra={"run": run, "reason": error.code})
            return None
        found = (signed for signed in document["parties"] if signed["statement"]["party"] == party)
        signed = next(found, None)
        return None if signed is None else GivenBack(attestation=canonical_bytes(signed))

    def _enrolment(self, party: str, run: Run) -> GivenBack | None:
        answer, under = (self._journal.content(f"{run.name}/{key}") for key in (f"answer/enrol/{party}", "manifest"))
        if answer is None or under is None:
            return None
        _, _, reply = decode_reply(answer)
        assert isinstance(reply, Enrolled)
        spec = run.request.spec(run.name, manifest_of_run(under))
        return GivenBack(enrolment=canonical_bytes(reply.enrolment), spec=canonical_bytes(spec.to_dict()))
