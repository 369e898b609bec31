"""A request that an operator signed, for tests of what happens after it was checked."""

from __future__ import annotations

from privity.assessment.audit.audited_consortium import sign_spec
from privity.common.consortium.manifest import Manifest
from privity.common.crypto.certificates import self_signed
from privity.common.crypto.identity import Identity
from privity.common.protocol.run_spec import RunSpec
from privity.common.runs.signed_request import SignedRequest
from tests.harness.tls import OPERATOR


def signed_for(spec: RunSpec, operator: str = OPERATOR) -> SignedRequest:
    """For this run, by an operator of this name whom no manifest lists."""
    members = {name: Identity.generate().public() for name in spec.members}
    manifest = Manifest("clinics", members, "0" * 64, None, simulation=True)
    return sign_spec(spec, manifest, self_signed(operator, "operator"))
