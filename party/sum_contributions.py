"""This party's part in secure sums: count and add noise once, then hide, seal and combine block by block.

Counting is charged; everything after it only repeats the stored vector. Memory is that of a few blocks besides the
vector of counts itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privity.common.crypto.residues import Residues, drop_tables
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol import secure_sum
from privity.common.protocol.round import Round, Scores
from privity.common.protocol.round_context import RoundContext, mask_keys
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.steps import CombineBlock, Contribute, Done, Revealed, SealBlock, Sealed, Sum
from privity.common.wire.codec import decode_step, encode_step
from privity.party.begun_run import BegunRun
from privity.party.charged_releases import NO_CONTRIBUTION, vector_label
from privity.party.keys import Keys

AHEAD = 256
"""Residues that idle time makes ahead: one block's, 0.2 MB at 3072 bits."""

AHEAD_AT_ONCE = 16

RUNS_KEPT = 4
"""Runs of which keys, randomness and the round at work are in memory: steps of several come by turns."""

ROUNDS_KEPT = 8
"""Rounds of a run whose vectors are kept at a time: a curator reveals them one after another."""

OF_BLOCKS = {"seal": 2, "combine": 3}
"""Steps about a block of a round: how many numbers stand behind the round's name in their keys."""


@dataclass
class _OfRun:
    """What is kept in memory for a run that has begun: all of it can be made again, but for used randomness.

    Attributes:
        plan: its digest.
        keys: of the masks with every other member.
        ahead: whether idle time makes some of its randomness.
        context: the round that was contributed to last.
    """

    plan: str
    keys: Mapping[str, bytes]
    residues: Residues | None
    ahead: bool
    context: RoundContext | None = None


class Contributions:
    """What one party does in the rounds of its runs."""

    def __init__(self, party: str, keys: Keys) -> None:
        self._party = party
        self._own = keys
        self._runs: dict[str, _OfRun] = {}

    def _check(self, step: Contribute, begun: BegunRun) -> None:
        """Refuse a round that could not be served to its end, before anything is charged."""
        context = self._new_context(step.round, begun)
        try:
            context.sum.cells_of(0)  # its layout is possible
        except ValueError as error:
            raise context.refusal(str(error)) from error
        self._check_kept(step, begun)

    def _check_kept(self, step: Contribute, begun: BegunRun) -> None:
        """Refuse more than a run needs to be kept: a round that covers other parties costs this one nothing."""
        journal, run = begun.releases.journal, step.run
        kept = {
            "vector": ROUNDS_KEPT,
            "share": max(begun.plan.parties, ROUNDS_KEPT),
            "round": ROUNDS_KEPT,
        }
        for name, most in kept.items():
            others = [key for key in journal.keys(f"{run}/{name}/") if key != f"{run}/{name}/{step.round.round}"]
            if len(others) >= most:
                reason = f"{len(others)} rounds of the run are kept already"
                raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=reason)

    def contribute(self, step: Contribute, begun: BegunRun) -> Done:
        """Check the round; charge it, draw the noise, count, and keep the vector."""
        begun.check_kind(step)
        self._check(step, begun)
        begun.check_price(step)
        if isinstance(step.round.query, Scores):
            # Else the evaluation's epsilon would bound each round, and not all of them.
            begun.only_once(step, "scored", step.round.digest)
        plan, releases = begun.plan, begun.releases
        releases.keep_vector(step.round, plan.noise_quota, begun.allowance, self._position(plan))
        releases.journal.record(self._entry(step.run, step.round.round), step.round.digest, encode_step(step))
        # Not before: blocks are sealed of what is charged, kept and settled.
        self._of(begun).context = self._new_context(step.round, begun)
        return Done()

    def seal(self, step: SealBlock, begun: BegunRun) -> Sealed:
        """One block of what was contributed, for the combiner above this party."""
        context = self._recalled(step, begun)
        context.tree(step.attempt)
        plan = begun.plan
        try:
            cells = context.sum.cells_of(step.block)
        except ValueError as error:
            raise context.refusal(str(error)) from error
        part = begun.releases.vector_part(context.round, plan.noise_quota, self._position(plan), cells)
        own, keys = self._own.of(begun.manifest), self._of(begun).keys
        return Sealed(secure_sum.seal_block(part, context, step.attempt, step.block, self._party, own, keys))

    def combine(self, step: CombineBlock, begun: BegunRun) -> Sealed | Sum:
        """The sum of the blobs of a node of the tree, for the combiner above it or, at the root, for the curator."""
        context = self._recalled(step, begun)
        tree = context.tree(step.attempt)
        if not 0 <= step.node <= tree.root or tree.combiners[step.node] != self._party:
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason="another party is this node's combiner")
        own = self._own.of(begun.manifest)
        total = secure_sum.combine_block(step.blobs, context, step.attempt, step.block, step.node, own, step.base)
        if step.node == tree.root:
            return Sum(total)
        child = begun.plan.parties + step.node
        return Sealed(secure_sum.sealed(total, context, step.attempt, step.block, child, own))

    def forget_round(self, step: Revealed, begun: BegunRun) -> Done:
        """Erase the vector of a round that was revealed, and what was answered for its blocks; that it was stays."""
        journal = begun.releases.journal
        places = (self._entry(step.run, step.round), self._gone(step.run, step.round))
        # The second is there already if a crash came in between.
        if all(journal.recall(place, step.digest) is None for place in places):
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=NO_CONTRIBUTION)
        replies = [
            key
            for kind, numbers in OF_BLOCKS.items()
            for key in journal.keys(f"{step.run}/reply/{kind}/{step.round}/")
            # The names of rounds may go on in the same way, too.
            if key.count("/") == f"{step.run}/reply/{kind}/{step.round}".count("/") + numbers
        ]
        journal.record(self._gone(step.run, step.round), step.digest, b"")
        journal.wipe([vector_label(step.run, step.round), self._entry(step.run, step.round), *replies])
        self._of(begun).context = None
        return Done()

    def prepare(self) -> bool:
        """Make some randomness ahead, in idle time; False if there is nothing to prepare.

        In a simulation no time is idle: all parties share one machine.
        """
        kept = [of_run.residues for of_run in list(self._runs.values()) if of_run.ahead and of_run.residues is not None]
        fewest = min(kept, key=lambda residues: residues.ready, default=None)
        if fewest is None or fewest.ready >= AHEAD:
            return False
        fewest.prepare(AHEAD_AT_ONCE)
        return True

    def expect(self, begun: BegunRun) -> None:
        """A run begins: agree on its mask keys, and let its randomness be made ahead.

        Raises:
            PrivityError: there can be no masks with a member.
        """
        self._of(begun)

    def forget(self, run: str) -> None:
        """Drop what is kept in memory for a run, and nothing of others."""
        of_run = self._runs.pop(run, None)
        if of_run is not None and of_run.residues is not None:
            drop_tables(of_run.residues.n)

    def _of(self, begun: BegunRun) -> _OfRun:
        """What is kept for a run; made again for one that others have driven out."""
        plan = begun.plan
        kept = self._runs.pop(plan.spec.run, None)
        if kept is None or kept.plan != plan.digest:
            kind, residues = plan.spec.secure_sum, None
            if plan.modulus is not None and kind.exponents is not None:
                residues = Residues(plan.modulus, kind.exponents)
            keys = mask_keys(self._own.of(begun.manifest), self._party, plan, begun.manifest)
            kept = _OfRun(plan.digest, keys, residues, not begun.manifest.simulation)
        self._runs[plan.spec.run] = kept
        while len(self._runs) > RUNS_KEPT:
            self._runs.pop(next(iter(self._runs)))
        return kept

    def _position(self, plan: RunPlan) -> int:
        return plan.spec.members.index(self._party)

    @staticmethod
    def _entry(run: str, name: str) -> str:
        return f"{run}/round/{name}"

    @staticmethod
    def _gone(run: str, name: str) -> str:
        return f"{run}/gone/{name}"

    def _new_context(self, round_: Round, begun: BegunRun) -> RoundContext:
        return RoundContext(begun.plan, begun.manifest, round_, begun.releases.schema, self._of(begun).residues)

    def _recalled(self, step: SealBlock | CombineBlock, begun: BegunRun) -> RoundContext:
        """The round as this party contributed to it; kept in memory from block to block."""
        attempt, kept = step.attempt, self._of(begun).context
        if kept is not None and kept.round.digest == attempt.digest:
            return kept
        journal = begun.releases.journal
        if journal.content(self._gone(step.run, attempt.round)) is not None:
            reason = "the round was revealed, and what this party kept for it is erased"
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=reason)
        stored = journal.recall(self._entry(step.run, attempt.round), attempt.digest)
        if stored is None:
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=NO_CONTRIBUTION)
        contributed = decode_step(stored)
        assert isinstance(contributed, Contribute)
        context = self._of(begun).context = self._new_context(contributed.round, begun)
        return context
