"""Which parties would refuse a run, by the limits that they publish: before it is submitted, all reasons at once.

The parties judge by the same rules (``RunLimits``), and by more: what they do not publish, what their ledgers have
left, their owners. So nothing is refused here. Limits that the curator hands on may be old: they say of when they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.errors import PrivityError
from privity.common.runs.published_limits import LARGEST_LIMITS, PublishedLimits
from privity.common.runs.run_limits import RunLimits
from privity.common.runs.run_request import parse_request
from privity.deploy.operator.operator_folder import client_of, newest_manifest

PLANNED = "planned"


@dataclass(frozen=True)
class Foreseen:
    """What one party publishes, against one run.

    Attributes:
        published_at: when it was signed, in UTC; empty of a party that publishes nothing.
        reasons: why the party would refuse the run; none if nothing that it publishes speaks against it.
    """

    party: str
    published_at: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Forecast:
    """What all parties of a consortium publish, against one run.

    Attributes:
        ignored: documents from the curator that do not hold, and why.
    """

    parties: tuple[Foreseen, ...]
    ignored: tuple[str, ...]

    @property
    def refusing(self) -> tuple[Foreseen, ...]:
        """Those that would refuse the run."""
        return tuple(party for party in self.parties if party.reasons)

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"parties": [asdict(party) for party in self.parties], "ignored": list(self.ignored)}

    def refusals_in_words(self) -> Iterator[str]:
        """A line for each party that would refuse, and for each document that was ignored."""
        for party in self.refusing:
            yield f"{party.party} would refuse the run, by the limits that it signed {party.published_at}:"
            yield from (f"  {reason}" for reason in party.reasons)
        yield from (f"Ignored: {reason}." for reason in self.ignored)

    def in_words(self) -> Iterator[str]:
        """That, and what is known of the others."""
        yield from self.refusals_in_words()
        silent = [party.party for party in self.parties if not party.published_at]
        content = [party.party for party in self.parties if party.published_at and not party.reasons]
        if content:
            yield f"Nothing that they publish speaks against it: {', '.join(content)}."
        if silent:
            yield f"They publish no limits: {', '.join(silent)}."


def forecast_of(config: Path, request: dict[str, Any]) -> Forecast:
    """What the parties of an operator's consortium would say to a run, as far as they publish it.

    Raises:
        PrivityError: no connection, or a manifest that the organiser did not sign.
    """
    return forecast(client_of(config).limits(), newest_manifest(config), request)


def forecast(documents: Iterable[bytes], manifest: Manifest, request: dict[str, Any]) -> Forecast:
    """The same of these documents, whoever handed them on."""
    asked = parse_request(json.dumps(request).encode())
    spec = asked.spec(PLANNED, manifest)
    newest, ignored = dict[str, PublishedLimits](), list[str]()
    for document in documents:
        try:
            if len(document) > LARGEST_LIMITS:
                raise ValueError
            found = PublishedLimits.opened(document, manifest)
        except PrivityError as error:
            ignored.append(error.message)
        except ValueError:
            ignored.append(f"published limits of more than {LARGEST_LIMITS} bytes")
        else:
            known = newest.get(found.party)
            if known is None or known.at < found.at:
                newest[found.party] = found
    parties = []
    for party in spec.members:
        limits = newest.get(party)
        if limits is None or limits.limits == RunLimits():
            parties.append(Foreseen(party, "", ()))
        else:
            parties.append(Foreseen(party, limits.at, tuple(limits.refusals(spec, asked.key_bits, manifest))))
    return Forecast(tuple(parties), tuple(ignored))
