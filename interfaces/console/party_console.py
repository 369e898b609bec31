"""The data owner's pages: what waits, what it costs, what was ever spent and on what, and the owner's decisions.

They read the node's own files by the functions that the commands read them with, and have no more rights than the node.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import flask
from cryptography.x509 import load_pem_x509_certificate

from privity.common.consortium.key_renewal import Next
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.member_folder import join_file
from privity.common.crypto.certificates import RENEW_DAYS, days_left
from privity.common.data.schema import load_schema
from privity.common.data.table_map_file import load_table_map
from privity.common.errors import Catalogue, PrivityError
from privity.common.node.process import is_at_work
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Ledger
from privity.common.release.release_contents import REPORT
from privity.common.release.release_folder import is_release
from privity.common.text.utc_times import utc_now
from privity.deploy.consortium.check_result import Check, Verdict
from privity.deploy.consortium.doctor_checks import examine_party
from privity.deploy.operator.curator_link import party_client
from privity.interfaces.console.audit_log import AuditLog
from privity.interfaces.console.budget_pages import BudgetPages, budget_of
from privity.interfaces.console.local_site import LocalSite, changed
from privity.interfaces.console.owner_files import OwnerFiles
from privity.interfaces.console.policy_pages import PolicyPages
from privity.interfaces.console.release_files import files_of, release_file
from privity.interfaces.console.run_explanations import Explanations, NotYet
from privity.interfaces.console.run_list import RunLine, run_list
from privity.interfaces.console.run_standing import COMPLETED, has_release, standing, under_way
from privity.party import joining, run_notice
from privity.party.approvals import Filed
from privity.party.other_nodes import OtherNodes
from privity.party.policy import Policy
from privity.party.policy_file import policy_obeyed
from privity.party.sources.pass_progress import pass_in_words

PLACES = [
    ("overview", "Overview"),
    ("runs", "Runs"),
    ("budget", "Budget"),
    ("ledger", "Ledger"),
    ("policy", "Policy"),
    ("releases", "Releases"),
    ("node", "Is all well? Keys"),
    ("log", "Changes"),
]

CAUSES = {
    "private files": "Other people on this computer can open private files of this node.",
    "write access": "Other people on this computer can change files of this node.",
    "owners": "Some files of this node belong to another account of this computer.",
    "rows": "Other people on this computer can open or change the file with your rows.",
}
"""What is wrong, by the doctor's check of which the remedy is a command."""


def party_site(file: Path) -> LocalSite:
    """The console of the node of this party.toml.

    Raises:
        PrivityError, ProblemsFound: as ``load_config``; out-of-order: the node was never started.
    """
    files = OwnerFiles(file)
    again = f"privity party console --config {file} --open"
    site = LocalSite(f"{files.config.name} – Privity", PLACES, AuditLog(files.config.state), again)
    _Decisions(files, site)
    _Node(files, site)
    PolicyPages(files, site)
    BudgetPages(files, site)
    threading.Thread(target=files.read_ahead, daemon=True).start()
    return site


class _Decisions:
    """Runs: the overview, the history, one of them, and the owner's word on it."""

    def __init__(self, files: OwnerFiles, site: LocalSite) -> None:
        self._files, self._site = files, site
        self._explanations = Explanations()
        add = site.app.add_url_rule
        add("/", "overview", self.overview)
        add("/runs", "runs", self.runs)
        add("/runs/<run>", "run", self.run)
        add("/runs/<run>/approve", "approve", self.approve, methods=["POST"])
        add("/runs/<run>/reject", "reject", self.reject, methods=["POST"])

    def overview(self) -> flask.Response:
        files, filed = self._files, self._files.approvals.filed()[::-1]
        waiting = [one for one in filed if one.waits]
        policy, fault = self._policy()
        ledger = None if policy is None else files.ledger(policy)
        obeyed = policy_obeyed(files.journal)
        return self._site.page(
            "overview.html.j2",
            place="overview",
            at_work=is_at_work(files.config.state),
            passing=pass_in_words(files.config.state),
            obeyed=obeyed,
            fault=fault or (obeyed.fault if obeyed else ""),
            waiting=waiting,
            count_waiting=len(waiting),
            under_way=[self._standing(one, ledger) for one in filed if under_way(one)],
            latest=[self._standing(one, ledger) for one in filed if not (one.waits or under_way(one))][:5],
            last_look=files.last_look,
            other=OtherNodes(files.config.name, files.journal).seen(),
            population=None if policy is None else policy.population,
            budget=None if ledger is None else budget_of(ledger),
            readable=readable,
        )

    def runs(self) -> flask.Response:
        lines = [self._standing(one, None) for one in self._files.approvals.filed()[::-1]]
        lead = "Every run that this party was asked for, the newest first, also those that were refused."
        return run_list(self._site, lines, lead)

    def run(self, run: str) -> flask.Response:
        files = self._files
        filed = files.approvals.of(run)
        policy, fault = self._policy()
        budget, means = None, ""
        if policy is not None and filed.waits:
            elsewhere = self._elsewhere()
            budget = budget_of(files.ledger(policy), policy.cost_of_a_person(filed.spec, elsewhere).epsilon)
            means = run_notice.yardstick(filed.spec, policy, elsewhere)
        progress = files.approvals.progress(run)
        charged = Fraction(0) if policy is None else files.ledger(policy).spent(run)
        return self._site.page(
            "run.html.j2",
            place="runs",
            filed=filed,
            stands=standing(filed, progress)[1],
            means=means,
            asked_by=run_notice.asked_by(filed, files.config),
            progress=progress if under_way(filed) else None,
            may_reject=under_way(filed),
            failed=filed.closed and filed.end[0] not in ("", COMPLETED),
            leaves=run_notice.LEAVES,
            sections=[] if fault else self._sections(filed),
            fault=fault,
            budget=budget,
            charged=readable(charged),
            lease_days=round(files.config.lease / 86400),
            is_fetched=is_release(files.releases / run),
            has_release=has_release(filed),
            is_whole=(files.releases / run / REPORT).is_file(),
            readable=readable,
        )

    def _sections(self, filed: Filed) -> list[run_notice.Section] | None:
        """What the run asks for; None while it is being worked out."""
        files = self._files
        try:
            return run_notice.explained(filed, files.config, files.opened, self._explanations.leaving)
        except NotYet:
            return None

    def approve(self, run: str) -> flask.Response:
        read = flask.request.form.get("spec", "")
        if "sure" not in flask.request.form:
            filed = self._files.approvals.as_read(run, read)
            policy, _ = self._policy()
            most = None if policy is None else run_notice.most_of_a_person(filed.spec, policy, self._elsewhere())
            return self._site.page("run_approve.html.j2", place="runs", filed=filed, most=most, readable=readable)
        with self._site.log.change("approved a run", run=run, digest=read):
            self._files.approvals.approve(run, read)
        return changed("run", "approved", run=run)

    def reject(self, run: str) -> flask.Response:
        filed, reason = self._files.approvals.of(run), flask.request.form.get("reason", "")
        if filed.closed:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{run} has ended: there is nothing left to reject",
                hint="What has left before stays charged.",
            )  # fmt: skip
        with self._site.log.change("rejected a run", run=run, reason=reason):
            self._files.approvals.reject(run, reason)
        return changed("run", "rejected", run=run)

    def _elsewhere(self) -> int:
        """Other parties at which one of these people may have rows."""
        config = self._files.config
        return ManifestFile(config.manifest, config.organiser_key).current().parties_per_person - 1

    def _policy(self) -> tuple[Policy | None, str]:
        try:
            return self._files.policy(), ""
        except PrivityError as error:
            return None, error.message

    def _standing(self, filed: Filed, ledger: Ledger | None) -> RunLine:
        spec, done = filed.spec, self._files.approvals.progress(filed.spec.run) if under_way(filed) else None
        state, why = standing(filed, done)
        if filed.denied is not None:
            why += f": {' '.join(map(run_notice.as_sentence, filed.denied.reasons))}"
        elif state == "under way" and done is not None:
            why += f" Last asked for {done.phase}."
        charged = "" if ledger is None else readable(ledger.spent(spec.run))
        return RunLine(spec.run, filed.asked_at, spec.algorithm, readable(spec.epsilon), state, why, charged)


class _Node:
    """Releases, keys, the doctor's findings, and what was changed through consoles."""

    def __init__(self, files: OwnerFiles, site: LocalSite) -> None:
        self._files, self._site = files, site
        add = site.app.add_url_rule
        add("/releases", "releases", self.releases)
        add("/releases/<run>/fetch", "fetch", self.fetch, methods=["POST"])
        add("/releases/<run>/<name>", "release_file", self.release_file)
        add("/node", "node", self.node)
        add("/node/look", "look", self.look, methods=["POST"])
        add("/node/renew", "renew", self.renew, methods=["POST"])
        add("/node/answer", "answer", self.answer)
        add("/log", "log", self.log)

    def releases(self) -> flask.Response:
        files = self._files
        released = [one.spec.run for one in files.approvals.filed()[::-1] if has_release(one)]
        return self._site.page(
            "releases.html.j2", place="releases", report=REPORT, folder=files.releases,
            released=[
                (run, is_release(files.releases / run), (files.releases / run / REPORT).is_file(),
                 files_of(files.releases / run))
                for run in released
            ],
        )  # fmt: skip

    def fetch(self, run: str) -> flask.Response:
        files = self._files
        filed = files.approvals.of(run)  # no run's name is a path
        if not is_release(files.releases / run):
            with self._site.log.change("fetched a release", run=run):
                party_client(files.config).fetch(run, files.releases / run, attested=filed.attested)
        return changed("releases", "fetched")

    def release_file(self, run: str, name: str) -> flask.Response:
        return release_file(self._files.releases / self._files.approvals.of(run).spec.run, name)

    def look(self) -> flask.Response:
        """The page of the node with what the doctor finds: it reads all rows and dials the curator."""
        checks = list(examine_party(self._files.file))
        self._files.last_look = utc_now(), sum(check.verdict is not Verdict.GOOD for check in checks)
        return self.node(checks)

    def node(self, checks: Sequence[Check] = ()) -> flask.Response:
        config = self._files.config
        certificate = load_pem_x509_certificate(config.certificate.read_bytes())
        last = certificate.not_valid_after_utc
        return self._site.page(
            "node.html.j2", place="node", checks=checks,
            days=days_left(certificate), until=f"{last.day} {last:%B %Y}", renew_days=RENEW_DAYS, causes=CAUSES,
            waiting=self._waiting().there(), words=self._words(),
        )  # fmt: skip

    def _words(self) -> list[str]:
        """How the owner's table is read in its own words, or why it cannot be; nothing without a map."""
        config = self._files.config
        if config.rows.map is None:
            return []
        try:
            return load_table_map(config.rows.map, load_schema(config.schema)).in_words()
        except PrivityError as error:
            return [error.message]

    def _waiting(self) -> Next:
        return Next(self._files.config.key, self._files.config.certificate, self._files.config.keys)

    def renew(self) -> flask.Response:
        keys = "keys" in flask.request.form
        with self._site.log.change("made new keys", own_keys=keys):
            joining.renew(self._files.config, keys=keys)
        return changed("node", "renewed")

    def answer(self) -> flask.Response:
        """The answer that has the new keys sealed, for the organiser."""
        file = join_file(self._files.config.key.parent, self._files.config.name)
        if not self._waiting().there():
            flask.abort(404)
        answer: flask.Response = flask.send_file(file.absolute(), as_attachment=True)
        return answer

    def log(self) -> flask.Response:
        return self._site.page("log.html.j2", place="log", lines=self._site.log.lines()[::-1][:500], is_party=True)
