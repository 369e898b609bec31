"""How often a certificate may call, and work on what it sends that is done beside the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from privity.common.crypto.certificates import identity_from_san
from privity.common.errors import Catalogue, PrivityError
from privity.curator.metrics import CuratorMetrics, Unwelcome

LINE_SECONDS = 60.0
"""A certificate that calls too often has one line in the log within this time."""
MOST_CERTIFICATES = 10_000
"""Certificates that are remembered; no manifest lists as many."""

Given = ParamSpec("Given")
Found = TypeVar("Found")

_log = logging.getLogger("privity.curator")


@dataclass(frozen=True)
class Quota:
    """Calls of one certificate: ``at_once`` after a pause, and ``a_second`` for as long as it likes."""

    at_once: int
    a_second: float


PARTIES, OTHERS = Quota(4_000, 1_000), Quota(400, 40)
"""A party asks for a step and answers it, hundreds of times a second in a run of small tables. People, and what they
look at, call some times a second."""
PARTY_CALLS = "/common.wire.v1.PartyLink/"
PARSED = frozenset(
    {"/common.wire.v1.Operator/Submit", "/common.wire.v1.PartyLink/Publish", "/common.wire.v1.PartyLink/Statements"}
)
"""Calls for which documents are parsed: the smaller quota holds whoever calls."""


@dataclass
class _Account:
    left: float
    at: float
    told: float = field(default=float("-inf"))


class CallQuotas:
    """Counts the calls of each certificate.

    Args:
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        metrics: CuratorMetrics,
        parties: Quota = PARTIES,
        others: Quota = OTHERS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self.parties, self.others = parties, others
        self._clock = clock
        self._accounts: dict[tuple[bytes, Quota], _Account] = {}

    def take(self, method: str, shown: Mapping[str, Iterable[bytes]]) -> None:
        """Count a call.

        Args:
            method: its full name.
            shown: what TLS knows of the caller, as gRPC has it.

        Raises:
            PrivityError: too-many-calls: the certificate has called too often of late.
        """
        quota = self.parties if method.startswith(PARTY_CALLS) and method not in PARSED else self.others
        key = hashlib.sha256(b"".join(shown.get("x509_pem_cert", []))).digest(), quota
        now = self._clock()
        account = self._accounts.get(key)
        if account is None:
            if len(self._accounts) >= MOST_CERTIFICATES:
                self._accounts.clear()
            account = self._accounts[key] = _Account(quota.at_once, now)
        account.left = min(quota.at_once, account.left + (now - account.at) * quota.a_second)
        account.at = now
        if account.left >= 1:
            account.left -= 1
            return
        why = Unwelcome.TOO_MANY
        self._metrics.call_refused(why)
        if now - account.told >= LINE_SECONDS:
            account.told = now
            holder = _holder(shown)
            _log.warning("calls are refused", extra={"holder": holder, "reason": why.value})
        raise PrivityError(Catalogue.TOO_MANY_CALLS, limit=f"{quota.a_second:g}")


def _holder(shown: Mapping[str, Iterable[bytes]]) -> str:
    """Whose certificate it is."""
    try:
        return "/".join(identity_from_san(shown.get("x509_subject_alternative_name", [])))
    except ValueError:
        return "nobody"


class Beside:
    """Work on what members send, in threads: of each caller one piece at a time, so that nobody takes all threads."""

    def __init__(self) -> None:
        self._turns: dict[str, asyncio.Lock] = {}

    async def run(self, caller: str, work: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Found:
        """What the work gives, or raises, while the event loop goes on."""
        async with self._turns.setdefault(caller, asyncio.Lock()):
            return await asyncio.to_thread(work, *given, **named)
