"""What an owner is told without asking: that a run waits here, is refused or has ended; that little budget is left.

Told in the owner's terms, of this party alone, and in figures of the owner's own: nothing depends on rows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from privity.common.errors import PrivityError
from privity.common.notices.outbox import Outbox
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Ledger
from privity.common.protocol.steps import Attest, Close, Enrol, Pending, Refusal, Step
from privity.common.storage.canonical_json import digest
from privity.common.storage.journal import Journal
from privity.common.text.awaited_words import OWNER
from privity.common.text.visible import cut
from privity.party.approvals import closed_key

COMPLETED = "COMPLETED"


class OwnerNotices:
    """Posts what the answers of one party's engine are news of.

    The budget nears its end when a run that the policy allows could ask for more than is left of its last quarter.

    Args:
        per_run: the most epsilon that a run may cost a person, now.
    """

    def __init__(self, outbox: Outbox, journal: Journal, ledger: Ledger, per_run: Callable[[], Fraction]) -> None:
        self._outbox = outbox
        self._journal = journal
        self._ledger = ledger
        self._per_run = per_run

    def answered(self, step: Step, reply: Refusal | Pending | None) -> None:
        """A step got an answer, None, or was refused, or waits."""
        if not self._outbox.channels:
            return
        run = step.run
        match step, reply:
            case _, Pending(reason=reason):
                text = f"{run} waits here for {reason}."
                if isinstance(step, Enrol) and reason == OWNER:
                    asked = f"{step.spec.algorithm} at epsilon {readable(step.spec.epsilon)}"
                    text += f" It is {asked}. Read what it asks for, and decide: privity party show {run}"
                self._outbox.post(f"{run}/waits/{step.key}/{reason}", f"{run} waits for {reason}", text)
            case Attest(), Refusal() as refusal:
                name = f"{run}/not attested/{digest(refusal.message)[:16]}"
                self._outbox.post(name, f"the release of {run} is not attested here", cut(_in_words(refusal)))
            case _, Refusal() as refusal:
                # One that is refused by the same reason again is no news.
                name = f"{run}/refused/{digest({'code': refusal.code, 'message': refusal.message})[:16]}"
                self._outbox.post(name, f"{run} is refused here", cut(_in_words(refusal)))
            case Close(state=state, why=why), None if self._knows(run):
                text = f"{run} has ended: {cut(state)}{why and ', ' + cut(why)}."
                if state == COMPLETED:
                    text += f" To get what it released: privity party fetch {run}"
                self._outbox.post(f"{run}/ended", f"{run} has ended: {cut(state)}", text)
                self._look_at_budget()

    def _knows(self, run: str) -> bool:
        """Whether this party took part in the run, or its owner was told that it waits."""
        took_part = self._journal.keys(f"{run}/") or self._journal.content(closed_key(run)) is not None
        return bool(took_part) or self._outbox.told(f"{run}/waits/") > 0

    def expired(self, run: str) -> None:
        """Nothing was heard of a run for so long that it is let go."""
        text = f"Nothing was heard of {run} for so long that it is over here. What was charged stays charged."
        if self._knows(run):
            self._outbox.post(f"{run}/ended", f"{run} has expired here", text)

    def _look_at_budget(self) -> None:
        try:
            per_run = self._per_run()
        except PrivityError:
            # The policy cannot be obeyed at the moment: every run is refused.
            return
        population, (left, _) = self._ledger.population, self._ledger.left()
        total = population.total_epsilon
        if left >= min(per_run, total / 4):
            return
        name = f"budget/{population.name}/{readable(total)}/{readable(per_run)}"
        rest = readable(max(left, Fraction(0)))
        text = (
            f"Of the budget of {population.name!r}, epsilon {readable(total)}, {rest} is left. A run that asks for more"
            " is refused. To look at it: privity party ledger --config party.toml"
        )
        self._outbox.post(name, f"the budget of {population.name!r} nears its end", text)


def _in_words(refusal: Refusal) -> str:
    return f"{refusal.message}. {refusal.remedy}"
