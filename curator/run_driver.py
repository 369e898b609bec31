"""One run from request to release: enrol, begin, learn, write what was learnt, synthesise.

Everything that decides the run's course is in the journal first: the Paillier key, the enrolments,
every revealed sum, the seed of the sampling. Driving a run again after a crash gives the same release.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import Manifest, manifest_of_run
from privity.common.crypto import paillier
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.evaluation_scores import Evaluation, scores_from
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.session import Session
from privity.common.protocol.steps import Begin, Done, Enrol, Enrolled
from privity.common.release.evaluation.scores_over_parties import most_shares, score_over_parties, scores_of, to_score
from privity.common.release.marginals_file import marginals_document
from privity.common.release.release_contents import RUN, Release, is_unfinished
from privity.common.release.release_folder import (
    remove_scratch,
    remove_unfinished,
    verify_release,
    write_learnt,
    write_unfit,
)
from privity.common.release.report.report_page import write_with_report
from privity.common.release.session_release import Synthesised, finished, learnt_release, synthesised
from privity.common.release.synthetic_rows import check_release_size
from privity.common.runs.carried_runs import check_run
from privity.common.runs.rehearsed_release import rehearse_release
from privity.common.runs.run_request import RunRequest
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.common.synthesis.algorithms import learn
from privity.curator.answer_store import Answers, Ask, Place, no_wait
from privity.curator.network_backend import NetworkBackend
from privity.curator.pending_steps import LastReply
from privity.curator.refusals import all_heard
from privity.curator.sum_rounds import together
from privity.curator.traffic_meter import Meter

SYNTHESIS = "synthesis"


def unpacked_bytes(plan: RunPlan, cells: int) -> int:
    """What one party would move for these cells without packing: a ciphertext a cell, there and back.

    The count of Su et al. (ICDE 2016, section VI-F) for each party, at this run's key length. Masks alone have nothing
    to pack: 8 bytes a cell.
    """
    if plan.modulus is None:
        return 2 * cells * 8
    return 2 * cells * paillier.PublicKey(plan.modulus, allow_small=True).ciphertext_bytes


def _in_order(members: Sequence[str], by_party: Mapping[str, int]) -> dict[str, int]:
    """The figures in the order of the members: the order in which parties answered tells how long each of them took."""
    return {member: by_party[member] for member in members if member in by_party}


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work in a thread that nothing ends half-way: who cancels it is answered when it is done."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        # Looked at, so that nobody is told of a failure that nobody waits for.
        task.exception()
        raise


class RunDriver:
    """Drives one run; ``release`` is the folder that it writes at the end.

    Args:
        signed: the request as its operator signed it.
        sealed: the manifest as the organiser signed it.
        sign: signs the release of a run that is written: (run, the signed manifest under which it began).
        waiting: names of the parties at which a run waits for a person now.
        place: awaited after every answer of a party: the run goes on when it has a place at work.
        last: what was taken from a party last.

    Attributes:
        remind: whether the parties are to be told that a run goes on of which they have not heard for a while.
    """

    def __init__(
        self,
        run: str,
        request: RunRequest,
        manifest: Manifest,
        schema: Schema,
        journal: Journal,
        ask: Ask,
        meter: Meter,
        *,
        signed: bytes = b"",
        small_keys: bool = False,
        sealed: bytes = b"",
        sign: Callable[[str, bytes | None], None] = lambda _run, _sealed: None,
        waiting: Callable[[str], Collection[str]] = lambda _run: (),
        place: Place = no_wait,
        last: Callable[[str], LastReply] = lambda _party: LastReply(),
    ) -> None:
        self.run = run
        self.meter = meter
        self.remind = False
        self._request = request
        self._manifest = manifest
        self._joint = schema
        self._journal = journal
        self._ask = ask
        self._place = place
        self._answers = Answers(journal, ask, meter, place, last)
        self._signed_request = signed
        self._small_keys = small_keys
        self._sealed = sealed
        self._sign = sign
        self._waiting = waiting

    async def drive(self, release: Path) -> None:
        """Write the release, or raise what ended the run; after it had learnt, an unfinished one is there."""
        if self._finished(release):
            # An earlier process wrote it and died before it could say so.
            await asyncio.to_thread(remove_scratch, release)
            await self._signed()
            return
        # The run goes on under the manifest under which it began.
        newest = canonical_bytes(self._manifest.to_dict())
        kept = self._remember("manifest", newest)
        if kept == newest and self._sealed:
            self._remember("sealed", self._sealed)
        self._manifest = manifest_of_run(kept)
        self._request.check(self._manifest, self._joint)
        spec = self._request.spec(self.run, self._manifest)
        if not self._journal.keys(f"{self.run}/answer/"):
            # Before any party is asked, and none is charged.
            await asyncio.to_thread(self._rehearse, spec)
        secret = await self._paillier_key()
        self.meter.enter("enrolment")
        plan = await self._plan(spec, secret)
        check_run(spec, self._schema, [enrolment.rows for enrolment in plan.enrolments])
        session = NetworkBackend(plan, self._manifest, self._schema, secret, self._answers, self.meter).session()
        try:
            await self._release(release, session, plan)
        except PrivityError as error:
            if error.kind is Catalogue.IMPLAUSIBLE_SUM:
                revealed = marginals_document(session.record, session.schema, session.noise_variables)
                await _to_its_end(asyncio.to_thread(remove_unfinished, release))
                await _to_its_end(asyncio.to_thread(write_unfit, release, revealed))
            raise
        await self._signed()

    def _finished(self, release: Path) -> bool:
        """Whether this run wrote its release before; what it had only learnt by then, it goes on from.

        Raises:
            PrivityError: tampered: the release is not as it was written; bad-option: it is of another run.
        """
        begun = self._journal.recall(f"{self.run}/manifest", "manifest") is not None
        try:
            there = read_json(release / RUN) if release.exists() else None
            if there is None or (begun and is_unfinished(there) and there["run"] == self.run):
                return False
            verify_release(release)
        except PrivityError:
            reason = "files of it at the curator are missing or altered, as privity verify says there"
            raise PrivityError(Catalogue.TAMPERED, what=f"the release of {self.run}", reason=reason) from None
        if not begun or there["run"] != self.run:
            reason = f"{self.run}: a release is there already that this run did not write"
            raise PrivityError(Catalogue.BAD_OPTION, option="name", reason=reason, hint="Use another name.")
        return True

    async def _release(self, release: Path, session: Session, plan: RunPlan) -> None:
        """Learn, and write what was learnt; then draw rows, have them scored, and write them."""
        spec = plan.spec
        model = await learn(session, spec.algorithm, spec.settings)

        def learnt() -> Release:
            return learnt_release(
                session,
                model,
                tolerate=spec.tolerate,
                protection=plan.protection,
                of_run=self._run_document(spec, plan),
                of_statement=self._of_statement(spec),
            )

        async def keep() -> None:
            """With all that is charged by now: nothing that fails afterwards loses it."""
            await _to_its_end(asyncio.to_thread(write_learnt, release, learnt()))

        # Else what is there may say what the scores cost, as it does again before any party is asked for them.
        if self._journal.recall(f"{self.run}/scores", "scores") is None:
            await keep()
        self.meter.enter(SYNTHESIS)
        drawn = partial(synthesised, model, session.rows, self._request.rows, self._seed())
        found = await session.compute(drawn)
        scores = await self._scores(session, spec.evaluation, found, keep)
        self.meter.finish()
        whole = finished(learnt(), found.synthetic, scores)
        await _to_its_end(asyncio.to_thread(write_with_report, release, whole, found.synthetic))

    def _rehearse(self, spec: RunSpec) -> None:
        key_bits = self._request.key_bits
        asked = {name: spec.content()[name] for name in ("tolerate", "secure_sum")}
        rehearse_release(
            self._schema, spec.members, spec.secure_sum.in_words(key_bits),
            of_run={**asked, "key_bits": key_bits}, of_statement=self._of_statement(spec),
        )  # fmt: skip

    def _of_statement(self, spec: RunSpec) -> dict[str, Any]:
        return {
            "split": self._manifest.how_split,
            "curator_member": self._manifest.curator_member,
            "left_out": [name for name in self._manifest.members if name not in spec.members],
        }

    async def _signed(self) -> None:
        sealed = self._journal.recall(f"{self.run}/sealed", "sealed")
        await _to_its_end(asyncio.to_thread(self._sign, self.run, sealed))

    def _seed(self) -> int:
        return int(self._remember("seed", str(secrets.randbits(64)).encode()))

    async def _scores(
        self,
        session: Session,
        evaluation: Evaluation | None,
        found: Synthesised,
        charged: Callable[[], Awaitable[None]],
    ) -> dict[str, Any] | None:
        """What the parties say of the synthetic table; None if they are not asked.

        Args:
            charged: awaited when it is on the record that they are, before they are.
        """
        if evaluation is None:
            return None
        table = await asyncio.to_thread(to_score, found.synthetic.table, session.rows, found.present)
        asked = await asyncio.to_thread(scores_of, table, evaluation.targets, most_shares(session, evaluation))
        # A tree may come out otherwise under another version of its library: what was asked once is repeated.
        kept = self._remember("scores", canonical_bytes([score.content() for score in asked]))
        share = PureBudget(evaluation.epsilon).whole
        return await score_over_parties(session, table, scores_from(parse(kept)), share, charged)

    @property
    def _schema(self) -> Schema:
        """Of the attributes that the run is about."""
        return self._joint.over(self._request.attributes)

    def _remember(self, name: str, fresh: bytes) -> bytes:
        """What the journal holds under this name for the run; ``fresh`` if nothing was there yet."""
        return self._journal.record(f"{self.run}/{name}", name, fresh)

    async def _paillier_key(self) -> paillier.SecretKey | None:
        """The run's key; None if its sums need none."""
        if self._request.key_bits is None:
            return None
        stored = self._journal.recall(f"{self.run}/secret", "secret")
        if stored is None:
            self.meter.enter("key generation")
            bits = self._request.key_bits
            _, secret = await asyncio.to_thread(paillier.generate_keypair, bits, allow_small=self._small_keys)
            stored = self._remember("secret", json.dumps(paillier.secret_to_dict(secret)).encode())
        return paillier.secret_from_dict(json.loads(stored), allow_small=self._small_keys)

    async def _plan(self, spec: RunSpec, secret: paillier.SecretKey | None) -> RunPlan:
        """Ask every party in, then give every party the same plan."""
        self.meter.expect(2 * len(spec.members))

        async def enrol(member: str) -> Enrolment:
            reply = await self._answers.ask(member, Enrol(spec, self._signed_request), "enrolment", Enrolled)
            enrolment = Enrolment.from_dict(reply.enrolment)
            enrolment.check(spec, self._manifest)
            return enrolment

        async def remind(member: str, plan: RunPlan) -> None:
            # Asked before, and answered as then: the party has heard of the run again.
            await self._ask(member, Begin(plan), "enrolment")
            await self._place()

        asked = {member: enrol(member) for member in spec.members}
        enrolments = await all_heard(asked, lambda: self._waiting(self.run))
        plan = RunPlan(spec, tuple(enrolments), None if secret is None else secret.public.n)
        plan.check(self._manifest)
        if self._request.rows is None:
            largest = max(plan.enrolments, key=lambda enrolment: enrolment.rows)
            stated = f"the parties state {plan.rows} rows ({largest.party} {largest.rows})"
            check_release_size(plan.rows, self._schema, stated)
        await together(self._answers.ask(m, Begin(plan), "enrolment", Done) for m in spec.members)
        if self.remind:
            await together(remind(m, plan) for m in spec.members)
        return plan

    def _run_document(self, spec: RunSpec, plan: RunPlan) -> dict[str, Any]:
        return {
            **spec.content(),
            "attributes": list(self._schema.names),
            **({} if self._request.automatic is None else {"automatic": self._request.automatic}),
            "key_bits": plan.key_bits,
            "plan_digest": plan.digest,
            "bytes": {phase: _in_order(spec.members, moved) for phase, moved in self.meter.bytes.items()},
            "rounds": self.meter.rounds,
            "cells": self.meter.cells,
            "unpacked_bytes": {phase: unpacked_bytes(plan, cells) for phase, cells in self.meter.cells.items()},
            "ciphertexts": self.meter.ciphertexts,
        }
