"""What this party attests of a release: only what its own journal and ledger say, once a run, and the same for ever.

docs/signed_releases.md says what is checked, and why. No row is looked at, and nothing is charged.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from privity.common.consortium.manifest import Manifest, Split, manifest_of_run
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import parse_json, require
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Ledger
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.steps import Attest, Attested, step_digest
from privity.common.release.agreement import disagreements
from privity.common.release.attestations import Published, charges_of, signed_by_party
from privity.common.release.release_contents import (
    ANALYSES,
    FORMAT_VERSION,
    PRIVACY,
    RUN,
    SCORES,
    files_wanted,
    is_unfinished,
)
from privity.common.release.statement import FORMAT_VERSION as PRIVACY_VERSION
from privity.common.release.statement import in_words
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc_now
from privity.common.text.visible import cut
from privity.party.approvals import attested_key, unattested_key
from privity.party.begun_run import step_refused
from privity.party.kept_requests import rows_asked
from privity.party.keys import Keys

MOST_REASONS, LONGEST_REASON = 5, 300
"""Of a refusal: more than the owner needs to read."""

_log = logging.getLogger("privity.party")


class Attestations:
    """The statements of one party."""

    def __init__(self, party: str, journal: Journal, ledger: Ledger, keys: Keys) -> None:
        self._party = party
        self._journal = journal
        self._ledger = ledger
        self._keys = keys

    def made(self, run: str) -> bool:
        """Whether this party attested the run's release: nothing else of the run is answered then."""
        return self._journal.content(attested_key(run)) is not None

    def again(self, step: Attest) -> Attested | None:
        """What was attested before to the same question; None if nothing was.

        Raises:
            PrivityError: step-changed: it was another question.
        """
        stored = self._journal.recall(attested_key(step.run), step_digest(step))
        return None if stored is None else Attested(parse(stored))

    def attest(self, step: Attest) -> Attested:
        """Sign, if everything in the documents is as this party knows it.

        Raises:
            PrivityError: not-attested, with what is otherwise; step-refused: the run has not begun here; step-changed:
                another release of the run was attested.
        """
        if (before := self.again(step)) is not None:
            return before
        run = step.run
        stored, under = (self._journal.content(f"{run}/{word}") for word in ("plan", "manifest"))
        if stored is None or under is None:
            raise step_refused(step.key, "the run has not begun")
        kept, asked = parse(stored), self._journal.content(f"#asked/{run}")
        plan, manifest = RunPlan.from_dict(kept["plan"]), manifest_of_run(under)
        try:
            documents = {name: _read(data, name) for name, data in ((RUN, step.run_document), (PRIVACY, step.privacy))}
        except PrivityError:
            faults = [f"{RUN} or {PRIVACY} does not fit its format"]
        else:
            faults = [*self._faults(plan, manifest, kept["schema"], documents[RUN], documents[PRIVACY], step)]
            other = asked is not None and documents[RUN].get("rows") != rows_asked(asked, plan.rows)
            if other and not is_unfinished(documents[RUN]):
                faults.append(f"{RUN} states another number of rows than the operator asked for")
            if not faults and documents[PRIVACY]["in_words"] != in_words(documents[PRIVACY], protected=True):
                faults = [f"the sentences in {PRIVACY} are not those that its figures give"]
        if faults:
            raise self._refused(step, faults)
        charges = charges_of(_entry(documents[PRIVACY], self._party))
        published = Published.of(step.run_document, documents[RUN])
        identity, people = self._keys.of(manifest), self._ledger.population.name
        signed = signed_by_party(published, manifest, self._party, charges, identity, people)
        return Attested(parse(self._journal.record(attested_key(run), step_digest(step), canonical_bytes(signed))))

    def _refused(self, step: Attest, faults: list[str]) -> PrivityError:
        """Note for the owner that nothing was attested, and why."""
        reason = "; ".join(cut(fault, LONGEST_REASON) for fault in faults[:MOST_REASONS])
        error = PrivityError(Catalogue.NOT_ATTESTED, party=self._party, run=step.run, reason=reason)
        _log.error("this party does not attest a release", extra={"run": step.run, "detail": error.message})
        key, content = unattested_key(step.run), canonical_bytes({"at": utc_now(), "reason": reason})
        self._journal.record_together([(key, "", content)], instead_of=[key])
        return error

    def _faults(
        self,
        plan: RunPlan,
        manifest: Manifest,
        schema: dict[str, Any],
        run: dict[str, Any],
        privacy: dict[str, Any],
        step: Attest,
    ) -> Iterator[str]:
        """Everything in the two documents that is not as this party knows it."""
        yield from _other(RUN, run, _known_of_run(plan))
        yield from _faults_of_files(run, step.privacy)
        yield from _other(PRIVACY, privacy, {**_known_of_statement(plan, manifest), "schema": schema})
        named = [(one["name"], one["rows"], one["rows_per_person"]) for one in privacy["parties"]]
        if named != [(each.party, each.rows, each.rows_per_person) for each in plan.enrolments]:
            yield f"{PRIVACY} does not name exactly the parties of the plan with their rows"
            return
        yield from self._faults_of_charges(plan, manifest, privacy)
        found = disagreements({RUN: run, PRIVACY: privacy})
        yield from (f"{each.file}: {each.field}: {each.message}" for each in found)

    def _faults_of_charges(self, plan: RunPlan, manifest: Manifest, privacy: dict[str, Any]) -> Iterator[str]:
        entry = _entry(privacy, self._party)
        rows = next(each.rows_per_person for each in plan.enrolments if each.party == self._party)
        row, person = (self._ledger.charged_to_run(plan.spec.run, many) for many in (1, rows))
        own = {
            "epsilon_per_row": row.spent.epsilon,
            "delta_per_row": row.spent.delta,
            "epsilon_per_person": person.spent.epsilon + _elsewhere(privacy, self._party, manifest.parties_per_person),
            "delta_per_person": person.spent.delta,
            "rho_per_row": sum(row.rho.values(), Fraction(0)),
        }
        for figure, charged in own.items():
            stated = entry.get(figure, "0")
            if stated != str(charged):
                yield f"{PRIVACY} states {figure} {_told(stated, charged)} for {self._party}"


def _known_of_run(plan: RunPlan) -> dict[str, object]:
    """What run.json has to say."""
    spec = plan.spec
    return {
        "format_version": FORMAT_VERSION,
        "run": spec.run,
        "plan_digest": plan.digest,
        **{name: value for name, value in spec.content().items() if name != "attributes"},
        "key_bits": plan.key_bits,
    }


def _known_of_statement(plan: RunPlan, manifest: Manifest) -> dict[str, object]:
    """What privacy.json has to say besides its figures."""
    spec, split = plan.spec, manifest.how_split
    left_out = [name for name in manifest.members if name not in spec.members]
    return {
        "format_version": PRIVACY_VERSION,
        "run": spec.run,
        "K": plan.parties,
        "t": spec.tolerate,
        "rows_per_person": max(each.rows_per_person for each in plan.enrolments),
        "parties_per_person": manifest.parties_per_person,
        "curator_member": manifest.curator_member,
        "split": split.value,
        "simulation": split is not Split.NONE,
        "left_out": left_out or None,
    }


def _other(name: str, document: Mapping[str, object], known: Mapping[str, object]) -> Iterator[str]:
    for key, value in known.items():
        if document.get(key) != value:
            yield f"{name} states another {key} than this party knows"


def _faults_of_files(run: Mapping[str, Any], privacy: bytes) -> Iterator[str]:
    files, wanted = run["files"], {*files_wanted(run)} - {RUN}
    if {*files} - {SCORES, ANALYSES} != wanted:
        yield f"{RUN} does not name exactly the files of a release"
    if files.get(PRIVACY) != hashlib.sha256(privacy).hexdigest():
        yield f"{RUN} names another {PRIVACY}"


def _read(data: bytes, name: str) -> dict[str, Any]:
    document: dict[str, Any] = parse_json(data, name)
    require(document, name.removesuffix(".json"), name)
    return document


def _entry(privacy: Mapping[str, Any], party: str) -> dict[str, Any]:
    return next(one for one in privacy["parties"] if one["name"] == party)


def _elsewhere(privacy: Mapping[str, Any], party: str, parties_per_person: int) -> Fraction:
    """What the run costs a person at the other parties where it costs most, by what they attest themselves."""
    others = [
        Fraction(one["epsilon_per_row"]) * one["rows_per_person"] for one in privacy["parties"] if one["name"] != party
    ]
    return sum(sorted(others, reverse=True)[: parties_per_person - 1], Fraction(0))


def _told(stated: str, charged: Fraction) -> str:
    """Both figures for people; exact where they would read alike."""
    try:
        texts = readable(Fraction(stated)), readable(charged)
    except (ValueError, ArithmeticError):
        texts = stated, readable(charged)
    said, own = texts if texts[0] != texts[1] else (stated, str(charged))
    return f"{said}, and its ledger was charged {own}"
