"""A run that was asked for, as the party's journal keeps it: with the request that its operator signed."""

from __future__ import annotations

from functools import lru_cache

from privity.common.protocol.run_spec import RunSpec
from privity.common.runs.signed_request import SignedRequest, open_request
from privity.common.storage.canonical_json import canonical_bytes, parse


def kept_request(spec: RunSpec, at: str, request: SignedRequest | None) -> bytes:
    """What is kept of a run that was asked for at this moment; None for the request if no operator signed one."""
    by, signed = ("", "") if request is None else (request.operator, request.bytes().decode())
    return canonical_bytes({"spec": spec.to_dict(), "at": at, "by": by, "request": signed})


@lru_cache(maxsize=4096)
def read_kept_request(stored: bytes) -> tuple[RunSpec, str, dict[str, str] | None, str, str]:
    """The spec of a run, when it was asked for, how it ended if it was withdrawn, the operator, and what that signed.

    A list of all runs is asked for again and again, and none of them changes.
    """
    document = parse(stored)
    spec = RunSpec.from_dict(document["spec"])
    return spec, document["at"], document.get("end"), document["by"], document["request"]


def rows_asked(stored: bytes, joint: int) -> int:
    """Rows of the synthetic table that the operator signed for: those of all parties, ``joint``, if it named none."""
    *_, signed = read_kept_request(stored)
    rows = open_request(signed.encode()).request().rows
    return joint if rows is None else rows
