"""What a curator gives back to a party of what the party signed, as it travels."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass

from privity.common.wire.v1 import privity_pb2 as pb

MOST_STATEMENTS = 100_000
"""That are taken from a curator at once."""


@dataclass(frozen=True)
class GivenBack:
    """An attestation of a release with its signature; or an enrolment and its spec. Canonical JSON, nothing checked."""

    attestation: bytes = b""
    enrolment: bytes = b""
    spec: bytes = b""

    def message(self) -> pb.Statement:
        """As it is sent."""
        return pb.Statement(attestation=self.attestation, enrolment=self.enrolment, spec=self.spec)


async def given_back(messages: AsyncIterable[pb.Statement], moved: Callable[[], None]) -> list[GivenBack]:
    """What a curator sends; ``moved`` is called with each."""
    found: list[GivenBack] = []
    async for message in messages:
        moved()
        found.append(GivenBack(message.attestation, message.enrolment, message.spec))
        if len(found) == MOST_STATEMENTS:
            break
    return found
