"""What the rounds of a session in one process would take over the wire."""

from __future__ import annotations

from privity.assessment.planning.cost_forecast import Arithmetic, Planner
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, USUAL_KEY_BITS
from privity.common.protocol.session import Session

NO_ARITHMETIC = Arithmetic(0.0, 0.0)


def wire_bytes(session: Session) -> dict[str, int]:
    """Payload of the secure sums: bytes that one party sends, and that pass the curator both ways, by kind of sum.

    One party alone sends nothing. Envelopes, enrolment and the requests for draws are left out.
    """
    parties, domain = len(session.party_rows), session.schema.derived.domain
    tolerate = parties - int(parties / session.noise_variables)
    found = {"rounds": len(session.rounds), "cells": sum(round_.cells(domain) for round_ in session.rounds)}
    for name, kind, bits in (("paillier", PAILLIER, USUAL_KEY_BITS), ("masks", MASKS, None)):
        phases = Planner(session, tolerate, kind, bits, NO_ARITHMETIC).phases()
        found[f"sent_{name}"] = sum(phase.bytes for phase in phases)
        found[f"relayed_{name}"] = sum(phase.relayed for phase in phases)
    return found
