"""What must hold of every run that was killed, whoever was killed and when."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.privacy.ledger import Ledger
from privity.common.privacy.ledger_lines import Entry, Kind
from privity.common.release.release_contents import ATTESTATIONS, REPORT
from privity.common.release.verification.signature_verification import check_signatures
from privity.common.storage.journal import Journal
from privity.party.approvals import Approvals
from tests.crash.node import CURATOR
from tests.crash.world import Course, Outcome

TRAFFIC = ("bytes", "ciphertexts")
"""Entries of run.json that say what travelled, so also what was repeated."""

NEWS = ("close", "stopped/", "attest")
"""How keys begin of steps that announce something."""

TRAFFIC_SECTION = re.compile(rb'<section aria-labelledby="cost">.*?</section>', re.DOTALL)
"""The same on the page."""


@dataclass(frozen=True)
class Problem:
    """Something that must not be."""

    kind: str
    what: str


def problems(outcome: Outcome, reference: Outcome, *, same_noise: bool = True) -> list[Problem]:
    """Everything that is wrong with a run; every difference from the reference, too, if its noise was the same."""
    found = [*_ended(outcome), *_two_answers(outcome), *_left_over(outcome), *_repeated(outcome)]
    found += [*_forgotten(outcome), *_errors(outcome), *_reserved(outcome), *_signed(outcome)]
    found += _other_charges(outcome, reference)
    if same_noise:
        found += [*_other_values(outcome, reference), *_other_release(outcome, reference)]
    return found


def _ended(outcome: Outcome) -> Iterator[Problem]:
    for run, (state, reason) in outcome.states.items():
        if state != outcome.run.ends(run):
            yield Problem("not completed", f"{run} is {state}: {reason}")
    for record in outcome.records.of("refused"):
        yield Problem("refused", f"{record.who}: {record.content}")


def _two_answers(outcome: Outcome) -> Iterator[Problem]:
    """A step that left a party with two contents, or for which rows were looked at under two noises."""
    for kind, word in (("replied", "two replies"), ("answered", "two noises")):
        seen: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        for record in outcome.records.of(kind):
            *what, digest = record.content
            seen[record.who, *what].add(digest)
        for what, digests in seen.items():
            if len(digests) > 1:
                yield Problem(word, str(what))


def _left_over(outcome: Outcome) -> Iterator[Problem]:
    """Entries of the run that nobody needs any more, and half-written files."""
    places = {CURATOR: outcome.consortium.curator, **{n: outcome.consortium.party(n) for n in outcome.run.names}}
    for who, folder in places.items():
        journal = Journal(folder / "state" / "journal.sqlite")
        for run in outcome.run.called:
            if keys := journal.keys(f"{run}/"):
                yield Problem("left in the journal", f"{who}: {keys}")
        journal.close()
    for path in (outcome.consortium.curator / "state" / "releases").glob(".*"):
        yield Problem("left of a release", path.name)


def _forgotten(outcome: Outcome) -> Iterator[Problem]:
    """A party knows for ever which runs it took part in, and how they ended."""
    for party in outcome.run.names:
        journal = Journal(outcome.consortium.party(party) / "state" / "journal.sqlite")
        approvals = Approvals(journal)
        known = {filed.spec.run: filed for filed in approvals.filed()}
        for run, (state, _) in outcome.states.items():
            if run not in known or not known[run].closed or known[run].end[0] != state:
                yield Problem("forgotten", f"{party}: {run}")
        journal.close()


def _reserved(outcome: Outcome) -> Iterator[Problem]:
    """What a run reserved is returned, once, and it was charged once for a step, and no more than it reserved."""
    for party in outcome.run.names:
        lines = entries(outcome, party)
        for run in outcome.run.called:
            of_run = [entry for entry in lines if entry.charge.run == run]
            kinds = Counter(entry.kind for entry in of_run)
            if kinds[Kind.RESERVATION] > 1 or kinds[Kind.RESERVATION] != kinds[Kind.RETURN]:
                yield Problem("reservation", f"{party}: {run} {kinds}")
            if sum(entry.added[0] for entry in of_run) > Fraction(outcome.run.epsilon) * bool(kinds[Kind.RESERVATION]):
                yield Problem("charged more than reserved", f"{party}: {run}")


def _errors(outcome: Outcome) -> Iterator[Problem]:
    """To be killed is no reason for an error at anybody who lives."""
    for log in sorted(outcome.consortium.folder.parent.glob("*.log")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if " ERROR " in line or "Traceback" in line:
                yield Problem("error in a log", f"{log.name}: {line}")


def _repeated(outcome: Outcome) -> Iterator[Problem]:
    """Steps that parties were given again although the curator had their answers.

    An answer is journaled before anything is made of it, so once the same party was given another step, or the
    journal has the answer, the step is never given again. Announcements are not answers, and parties of a run that goes
    on are reminded of it.
    """
    courses = dict(outcome.run.courses)
    done: set[tuple[str, ...]] = set()
    open_: dict[tuple[str, str], set[str]] = defaultdict(set)
    sent: Counter[tuple[str, ...]] = Counter()
    for record in outcome.records.of("sent", "delivered", "journaled", "wrote", who=CURATOR):
        if record.kind in ("journaled", "wrote"):
            run, is_answer, whose = record.key.partition("/answer/")
            key, _, party = whose.rpartition("/")
            if is_answer and "DELETE" not in str(record.content):
                done.add((party, run, key))
            continue
        party, run, key = record.content
        if key.startswith(NEWS):
            continue
        if record.kind == "delivered":
            open_[party, run].add(key)
            continue
        if key == "begin" and courses[run] is Course.RESUMED and sent[party, run, key]:
            continue
        sent[party, run, key] += 1
        done |= {(party, run, other) for other in open_[party, run] - {key}}
        if (party, run, key) in done:
            yield Problem("repeated", f"{party}: {run} {key}")
    lives = sum(outcome.lives.values()) - len(outcome.lives)
    for (party, run, key), times in sent.items():
        if times > 1 + lives and not outcome.run.manual:
            yield Problem("repeated", f"{party}: {run} {key}, {times} times")


def charges(outcome: Outcome, party: str) -> list[tuple[str, ...]]:
    """Every line of a party's ledger, run by run, but for the clock's word."""
    lines = [
        (
            e.charge.run,
            e.charge.step,
            str(e.charge.loss),
            str(e.added),
            str(e.terms),
            str(e.answered),
        )
        for e in entries(outcome, party)
    ]
    return sorted(lines, key=lambda line: line[0])


def entries(outcome: Outcome, party: str) -> list[Entry]:
    """Every line of a party's ledger."""
    ledger = Ledger(outcome.consortium.party(party) / "state" / "ledger.sqlite", "simulation")
    try:
        return ledger.entries()
    finally:
        ledger.close()


def _other_charges(outcome: Outcome, reference: Outcome) -> Iterator[Problem]:
    for party in outcome.run.names:
        # How far a run had come when it was discarded differs.
        mine, theirs = (
            [line for line in charges(one, party) if one.states.get(line[0], ("",))[0] != "DISCARDED"]
            for one in (outcome, reference)
        )
        if mine != theirs:
            yield Problem("other charges", f"{party}: {sorted(set(mine) ^ set(theirs))}")


def _signed(outcome: Outcome) -> Iterator[Problem]:
    """Curator and parties have signed every release, for what it is."""
    for run, (state, _) in outcome.states.items():
        if state == "COMPLETED":
            found = check_signatures(release(outcome, run), outcome.consortium.curator / "organiser.pub")
            if found.problems or f"All {outcome.run.parties} parties and the curator agree." not in found.lines:
                yield Problem("signatures", f"{run}: {found}")


def _opened(outcome: Outcome) -> dict[str, set[str]]:
    seen: dict[str, set[str]] = defaultdict(set)
    for record in outcome.records.of("opened"):
        seen[record.content[0]].add(record.content[1])
    return dict(seen)


def _other_values(outcome: Outcome, reference: Outcome) -> Iterator[Problem]:
    mine, theirs = _opened(outcome), _opened(reference)
    for key in sorted(mine.keys() | theirs.keys()):
        how_far = outcome.states[key.split("/")[0]][0] == "DISCARDED" and not (key in mine and key in theirs)
        if mine.get(key) != theirs.get(key) and not how_far:
            yield Problem("another opened value", key)


def release(outcome: Outcome, run: str) -> Path:
    return outcome.consortium.curator / "state" / "releases" / run


def _other_release(outcome: Outcome, reference: Outcome) -> Iterator[Problem]:
    for run in outcome.run.called:
        mine, theirs = _files(release(outcome, run)), _files(release(reference, run))
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                yield Problem("another release", f"{run}: {name}")


def _files(folder: Path) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}
    # What it signs tells of the traffic, and the curator's signatures are random: ``_signed`` looks at them.
    files.pop(ATTESTATIONS, None)
    if "run.json" in files:
        document = {key: value for key, value in json.loads(files["run.json"]).items() if key not in TRAFFIC}
        # The page tells of them too, in one section.
        if document["files"].get(REPORT) == hashlib.sha256(files.get(REPORT, b"")).hexdigest():
            del document["files"][REPORT]
            files[REPORT] = TRAFFIC_SECTION.sub(b"", files[REPORT])
        files["run.json"] = json.dumps(document, sort_keys=True).encode()
    return files
