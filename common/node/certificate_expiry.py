"""Warnings before a certificate expires: at each threshold once, and again when a node starts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509

from privity.common.crypto.certificates import RENEW_DAYS, days_left
from privity.common.errors import PrivityError
from privity.common.notices.outbox import Outbox

THRESHOLDS = (RENEW_DAYS, 7, 1)
"""Days that a certificate has left when it is warned of; once more when it has none."""

LOOK_SECONDS = 3600.0
EXPIRED = -1

Certificates = Callable[[], Mapping[str, str]]
"""Gives the certificates (PEM) that a node looks after, by ``ROLE/NAME``, as they are now."""

_log = logging.getLogger("privity.certificates")


@dataclass(frozen=True)
class Expiring:
    """A certificate that has come below a threshold; ``days`` is below 0 once it has expired."""

    holder: str
    days: int
    threshold: int
    until: datetime

    @property
    def has_expired(self) -> bool:
        return self.days <= EXPIRED

    def tell(self, outbox: Outbox) -> None:
        """As a notice: once a threshold, also after a restart."""
        day = f"{self.until:%Y-%m-%d}"
        said = f"has expired, on {day}" if self.has_expired else f"expires on {day}"
        text = (
            f"The certificate of {self.holder} {said}. Without a new one it cannot connect: make one (privity party"
            " renew, privity curator renew), and have the organiser seal it."
        )
        name = f"certificate/{self.holder}/{self.until:%Y%m%dT%H%M%S}/{self.threshold}"
        outbox.post(name, f"the certificate of {self.holder} {said}", text)


class ExpiryWatch:
    """Remembers what it has warned of; a certificate that takes another's place begins anew."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[datetime, int]] = {}

    def look(self, certificates: Mapping[str, str], now: datetime) -> list[Expiring]:
        """Certificates that came below a threshold since the last look."""
        crossed, news = {}, []
        for holder, pem in certificates.items():
            certificate = x509.load_pem_x509_certificate(pem.encode())
            days = days_left(certificate, now)
            below = [threshold for threshold in (*THRESHOLDS, EXPIRED) if days <= threshold]
            if below:
                crossed[holder] = (certificate.not_valid_after_utc, min(below))
                if self._told.get(holder) != crossed[holder]:
                    news.append(Expiring(holder, days, min(below), certificate.not_valid_after_utc))
        self._told = crossed
        return news


async def warn_of_expiry(certificates: Certificates, outbox: Outbox) -> None:
    """Look now and every hour, for ever; what is found is logged, and told to people."""
    watch = ExpiryWatch()
    while True:
        try:
            found = watch.look(certificates(), datetime.now(UTC))
        except (PrivityError, OSError, ValueError) as error:
            _log.error("the certificates cannot be looked at", extra={"error": type(error).__name__})
            found = []
        for expiring in found:
            expiring.tell(outbox)
            if expiring.has_expired:
                _log.error(
                    "a certificate has expired: make a new one, and have the organiser seal it",
                    extra={"holder": expiring.holder},
                )
            else:
                _log.warning(
                    "a certificate will expire: make a new one, and have the organiser seal it",
                    extra={"holder": expiring.holder, "days": expiring.days},
                )
        await asyncio.sleep(LOOK_SECONDS)
