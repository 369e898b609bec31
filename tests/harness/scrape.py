"""Metrics as Prometheus reads them."""

from __future__ import annotations

import socket
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families


def free_address() -> str:
    """An address of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def shown(address: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Samples at the address by name: labels and value."""
    with urlopen(f"http://{address}/metrics", timeout=10) as page:
        families = text_string_to_metric_families(page.read().decode())
        samples = [sample for family in families for sample in family.samples]
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for sample in samples:
        found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found
