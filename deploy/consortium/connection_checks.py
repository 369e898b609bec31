"""How far a member comes at its curator, and by which manifest it is judged there, as ``privity doctor`` says it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from privity.common.consortium.key_renewal import Next
from privity.common.consortium.manifest import Manifest
from privity.common.errors import PrivityError
from privity.common.node.proxy import ENVIRONMENT, Proxy
from privity.common.node.tls_check import Finding, Stage, check_proxy
from privity.deploy.consortium.check_result import Check, Verdict, bad, good, tried
from privity.deploy.operator.curator_link import CuratorLink


@dataclass(frozen=True)
class Dialled:
    """What a member finds at its curator.

    Attributes:
        newest: the manifest by which it is judged; listed: whether the curator knows the certificate kept ready.
    """

    newest: Manifest | None
    listed: bool
    connection: Check


def dialled(made: Callable[[], CuratorLink]) -> Dialled:
    """Dial by the newest manifest, with the certificate that the curator knows."""
    newest: Manifest | None = None
    listed = False

    def look() -> Check:
        nonlocal newest, listed
        link = made()
        waiting, shown = Next(link.key, link.certificate), link
        ready = replace(link, certificate=waiting.next_certificate, key=waiting.next_key)
        is_there = waiting.next_certificate.exists() and waiting.next_key.exists()
        newest = _newest([link, ready] if is_there else [link])
        if is_there and ready.check(newest).stage is Stage.THROUGH:
            listed, shown = True, ready
        return _connection(shown.check(newest), link.address)

    connection = tried("connection", look)
    return Dialled(newest, listed, connection)


def _newest(links: Sequence[CuratorLink]) -> Manifest | None:
    """The newest manifest here or at the curator, which one of a member's certificates is for; None without any."""
    for link in links:
        with contextlib.suppress(PrivityError):
            return link.newest_manifest()
    manifests = links[0].manifests
    return manifests.current() if manifests.exists() else None


def proxies(address: str, proxy: Proxy | None) -> Check:
    """Whether the proxy of the settings lets this member through, or which ones the environment names."""
    if proxy:
        through = check_proxy(address, proxy)
        if through.stage is Stage.THROUGH:
            return good("proxy", through.reason)
        return bad("proxy", f"{through.stage.value}: {through.reason}", through.remedy)
    found = [name for known in ENVIRONMENT for name in (known, known.upper()) if os.environ.get(name)]
    if found:
        return Check("proxy", Verdict.WARNING, f"{', '.join(found)}: connections go through it", "")
    return good("proxy", "none is set")


def _connection(found: Finding, address: str) -> Check:
    if found.stage is Stage.THROUGH:
        return good("connection", f"{address} answers and accepts this certificate")
    return bad("connection", f"{found.stage.value}: {found.reason}", found.remedy)
