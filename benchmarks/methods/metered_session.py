"""What the rounds of a session in one process would take over the wire."""

from __future__ import annotations

from typing import Any

import numpy as np

from privity.common.protocol.round import Round
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, USUAL_KEY_BITS
from privity.common.protocol.selection_series import SelectionSeries
from privity.deploy.planning.cost_forecast import Arithmetic, Planner
from privity.deploy.planning.in_process_session import InProcessSession

NO_ARITHMETIC = Arithmetic(0.0, 0.0)


class MeteredSession(InProcessSession):
    """Notes the rounds and the draws that were asked for, as a rehearsal does: the planner reads them."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.rounds: list[tuple[Round, int]] = []
        self.selections: dict[str, int] = {}

    async def _reveal(self, round_: Round) -> np.ndarray:
        vector = await super()._reveal(round_)
        self.rounds.append((round_, len(vector)))
        return vector

    def selection(self, phase: str, selections: int, *args: Any, **named: Any) -> SelectionSeries:
        self.selections[phase] = self.selections.get(phase, 0) + selections
        return super().selection(phase, selections, *args, **named)


def wire_bytes(session: MeteredSession) -> dict[str, int]:
    """Payload of the secure sums: bytes that one party sends, and that pass the curator both ways, by kind of sum.

    One party alone sends nothing. Envelopes, enrolment and the requests for draws are left out.
    """
    parties = len(session.party_rows)
    tolerate = parties - int(parties / session.noise_variables)
    found = {"rounds": len(session.rounds), "cells": sum(cells for _, cells in session.rounds)}
    for name, kind, bits in (("paillier", PAILLIER, USUAL_KEY_BITS), ("masks", MASKS, None)):
        phases = Planner(session, tolerate, kind, bits, NO_ARITHMETIC).phases()
        found[f"sent_{name}"] = sum(phase.bytes for phase in phases)
        found[f"relayed_{name}"] = sum(phase.relayed for phase in phases)
    return found
