"""Whether a run is exactly what an operator of the consortium asked for; the curator's word does not count."""

from __future__ import annotations

from privity.common.consortium.manifest import Manifest
from privity.common.errors import PrivityError
from privity.common.protocol.steps import Enrol
from privity.common.runs.signed_request import SignedRequest, open_request
from privity.party.begun_run import step_refused


def signed_request_of(step: Enrol, manifest: Manifest, now: Manifest) -> SignedRequest:
    """The request that came with an enrolment, signed by an operator, if the run is what it asks for.

    Args:
        manifest: of the run; now: the newest one that this party holds, which must still list the operator.

    Raises:
        PrivityError: step-refused.
    """
    if not step.request:
        raise step_refused(step.key, "no request that an operator signed came with it")
    try:
        signed = open_request(step.request)
        fault = signed.fault(manifest)
        if not fault and now.certificate_of("operator", signed.operator) is None:
            fault = f"the manifest lists no operator {signed.operator} any more"
        if not fault and not signed.asks_for(step.spec, manifest):
            fault = f"it is not the run that the operator {signed.operator} asked for"
    except PrivityError as error:
        raise step_refused(step.key, "the operator's request does not fit its format") from error
    if fault:
        raise step_refused(step.key, fault)
    return signed
