"""Whether what a step costs is in the terms of its run: in epsilon, or in the run's account in rho."""

from __future__ import annotations

from common.algorithms import account_of
from common.protocol.plan import RunSpec
from common.protocol.round import Round
from common.protocol.steps import Draw


def price_fault(asked: Round | Draw, spec: RunSpec) -> str | None:
    """Why the price cannot be; None if it can. What all steps cost together is the ledger's to bound."""
    account = account_of(spec)
    if account is None:
        if asked.rho is not None:
            return "it asks for rho, and the run has no account in it"
        if asked.cost > spec.epsilon or asked.delta > spec.delta:
            return "it asks for more epsilon or delta than the run's"
        return None
    if asked.rho is None:
        return "it asks for an epsilon of its own, and the run has an account in rho"
    if asked.delta != account.delta:
        return "it names another delta than the run's"
    return "it asks for more rho than the run's" if asked.rho > account.rho else None
