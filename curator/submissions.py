"""What an operator submitted, as the journal keeps it: a request under a token, and whose run it is."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from privity.common.consortium.manifest import Manifest
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_spec import check_run_name
from privity.common.runs.signed_request import SignedRequest, open_request
from privity.curator.run_state import Run

MOST_OPEN = 100
"""Runs of one operator that may be there at a time and have not ended for good: queued, at work or stopped."""
MOST_A_DAY = 20_000
"""Runs that one operator may submit within a day: what is known of each stays for ever, some kB."""


@dataclass(frozen=True)
class Submission:
    """One run as it was asked for.

    Attributes:
        signed: JSON of the request as the operator signed it.
        at: when, in UTC; for people to read.
    """

    signed: str
    at: str

    @cached_property
    def request(self) -> SignedRequest:
        return open_request(self.signed.encode())

    @classmethod
    def read(cls, stored: bytes) -> Submission:
        return cls(**json.loads(stored))

    def bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def open_signed(signed: bytes, manifest: Manifest, operator: str) -> SignedRequest:
    """A request that this operator signed.

    Raises:
        PrivityError: bad-option: it is not one of this operator of the consortium.
        ProblemsFound: it does not fit its format.
    """
    opened = open_request(signed)
    fault = opened.fault(manifest)
    if not fault and opened.operator != operator:
        fault = f"the operator {opened.operator} signed it, and {operator} submits it"
    if fault:
        hint = "Submit the run again: privity run submit signs it by the manifest of now."
        raise PrivityError(Catalogue.BAD_OPTION, option="request", reason=fault, hint=hint)
    return opened


def check_word(option: str, word: str) -> None:
    """Refuse a name or a token that is not as short and plain as the name of a run.

    Raises:
        PrivityError: bad-option.
    """
    try:
        check_run_name(word)
    except ValueError:
        shown = word if len(word) < 100 else f"{word[:100]}..."
        raise PrivityError(
            Catalogue.BAD_OPTION, option=option,
            reason=f"{shown!a} is not of 1 to 63 letters, digits, '.', '_' or '-', with a letter or digit first",
            hint=f"Use another {option}.",
        ) from None  # fmt: skip


def check_free(name: str, runs: Collection[str], releases: Path) -> None:
    """Refuse the name of a run, or of a release that is there already.

    Names that differ only in case are one: on some file systems so are their folders.

    Raises:
        PrivityError: bad-option.
    """
    check_word("name", name)
    released = [folder.name for folder in releases.iterdir()] if releases.is_dir() else []
    for taken, what in ((runs, "another run is called so"), (released, "a release of that name is there already")):
        same = next((other for other in taken if other.lower() == name.lower()), None)
        if same is not None:
            case = "" if same == name else f", {same}, in other letters"
            raise PrivityError(
                Catalogue.BAD_OPTION, option="name", reason=f"{name}: {what}{case}", hint="Use another name."
            )


def check_many(operator: str, runs: Iterable[Run]) -> None:
    """Refuse an operator who has as many runs as one may have, or submitted as many within a day as one may.

    Raises:
        PrivityError: queue-full, too-many-runs.
    """
    own = [run for run in runs if run.submitter == operator]
    if sum(run.open for run in own) >= MOST_OPEN:
        raise PrivityError(Catalogue.QUEUE_FULL, limit=MOST_OPEN, submitter=operator)
    day = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    if sum(run.submitted > day for run in own) >= MOST_A_DAY:
        raise PrivityError(Catalogue.TOO_MANY_RUNS, limit=MOST_A_DAY, submitter=operator)
