"""What is said of a run as objects: its progress, how it stands, and what it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privity.common.privacy.budget import parse_delta, parse_epsilon, readable
from privity.common.privacy.exact_numbers import ExactNumber
from privity.common.runs.modelled_together import in_words
from privity.summaries import Shown, Summary

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("phase", "epsilon", "selections", "tables", "cells", "bytes", "seconds", "error")
"""Of the phases of a plan: what its summary shows."""


@dataclass(frozen=True, repr=False)
class Progress(Shown):
    """Where a run stood at one moment, in public quantities.

    Attributes:
        run, state, phase: its name; its state, such as ``RUNNING`` or ``COMPLETED``; what it does.
        answers, expected: of the parties, in this phase.
        cells, ciphertexts, bytes: revealed and moved so far.
        epsilon: spent so far.
        note: what is waited for.
        reason, remedy: of a run that has ended, or was stopped.
    """

    run: str
    state: str
    phase: str
    answers: int
    expected: int
    cells: int
    ciphertexts: int
    bytes: int
    epsilon: ExactNumber
    note: str
    reason: str
    remedy: str

    def _summary(self) -> Summary:
        facts = (
            ("phase", self.phase),
            ("answers", f"{self.answers:,} of {self.expected:,}"),
            ("revealed", f"{self.cells:,} cells"),
            ("sent", f"{self.bytes:,} bytes"),
            ("epsilon", f"{readable(self.epsilon)} spent"),
        )
        return Summary(f"{self.run}: {self.state}", facts, tuple(filter(None, (self.note, self.reason, self.remedy))))


@dataclass(frozen=True, repr=False)
class Status(Shown):
    """A run as it stands; its ``repr`` says it in words.

    Attributes:
        run, state, phase, reason, remedy: as of ``Progress``.
        algorithm, epsilon, submitted, submitter: as it was asked for, when (UTC) and by whom.
        last_error: what went wrong last, and was tried again.
        since: when it came into its state, in UTC.
        answers, expected: how many answers of the phase are in, and how many it needs.
        awaited: each step that is waited for: ``party``, ``step``, ``phase``, ``seconds``, ``silent_seconds``,
            ``note``, ``since``, ``silent_since``, ``words`` and ``remedy``.
        refusals: what each party said that refused the run: ``party``, ``code``, ``message`` and ``remedy``.
        sentences: all of it in words, with what to do.
    """

    run: str
    state: str
    since: str
    phase: str
    answers: int
    expected: int
    reason: str
    remedy: str
    algorithm: str
    epsilon: ExactNumber
    submitted: str
    submitter: str
    last_error: str
    awaited: tuple[dict[str, Any], ...]
    refusals: tuple[dict[str, Any], ...]
    sentences: tuple[str, ...]

    def _summary(self) -> Summary:
        return Summary(self.sentences[0], notes=self.sentences[1:])


class Plan(Shown):
    """What a run would cost, move and take; nothing was spent.

    Attributes:
        document: all of it, for programs.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def epsilon(self) -> ExactNumber:
        """What all phases together would cost a row."""
        return ExactNumber(self.document["total"]["epsilon"])

    @property
    def phases(self) -> pd.DataFrame:
        """A line a phase."""
        import pandas as pd

        found = pd.DataFrame(self.document["phases"])
        return found.assign(epsilon=[float(Fraction(text)) for text in found["epsilon"]])

    @property
    def refusals(self) -> dict[str, tuple[str, ...]]:
        """Parties that would refuse the run, by the limits that they publish, with all reasons of each."""
        parties = self.document.get("foreseen", {}).get("parties", ())
        return {party["party"]: tuple(party["reasons"]) for party in parties if party["reasons"]}

    @property
    def _public(self) -> tuple[int, Fraction, Fraction]:
        """The rows of all parties, epsilon and delta."""
        request = self.document["request"]
        return (
            sum(self.document["party_rows"].values()),
            parse_epsilon(request["epsilon"]),
            parse_delta(request["delta"]),
        )

    def _summary(self) -> Summary:
        request, total = self.document["request"], self.document["total"]
        held = ", ".join(f"{name} {rows:,}" for name, rows in self.document["party_rows"].items())
        why = request.get("automatic")
        facts = (
            *((("chosen because", why["reason"]),) if why else ()),
            ("epsilon", f"{readable(self.epsilon)} of {request['epsilon']}, delta {request['delta']}, for each row"),
            ("rows taken to be held", held),
            *((f"{party} would refuse", "; ".join(reasons)) for party, reasons in self.refusals.items()),
            ("revealed", f"{total['cells']:,} cells"),
            *((("pairs of attributes", _pairs(pairs)),) if (pairs := self.document["pairs"]) else ()),
            ("sent by a party", f"{total['bytes'] / 1000:,.0f} kB"),
            ("sums", f"{total['seconds']:,.1f} s on machines like this one"),
            *(("modelled together", told) for told in in_words(self.document.get("together"), *self._public)),
            *((("masks or paillier", sums["why"]),) if (sums := self.document.get("secure_sums")) else ()),
        )
        shown = self.phases[[*SHOWN]].assign(epsilon=[f"{epsilon:.6g}" for epsilon in self.phases["epsilon"]])
        error = [f"{error:.3f}" if error == error else "" for error in self.phases["error"].astype(float)]
        return Summary(f"Plan of {request['algorithm']}", facts, table=shown.assign(error=error))


def _pairs(pairs: dict[str, Any]) -> str:
    return f"{pairs['measured']:,} of {pairs['pairs']:,} measured together; the report can tell of {pairs['told']:,}"
