"""The operator's pages: the consortium at a glance, runs, a plan of a run at several budgets, and its submission.

A client of the curator by the operator's certificate, as the commands are: the curator opens no port for it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import flask

from privity.assessment.planning.expected_error import CAVEAT, MEANING
from privity.common.crypto.certificates import name_in
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import readable
from privity.common.protocol.run_spec import check_run_name
from privity.common.protocol.run_terms import AUTO
from privity.common.release.release_contents import LEARNT, REPORT
from privity.common.release.release_folder import is_release
from privity.common.runs.automatic_choice import LIKELY_ROWS
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text.awaited_words import answer_to
from privity.common.text.short_values import shorten
from privity.deploy.operator.operator_folder import client_of, link_of, newest_manifest
from privity.deploy.operator.run_status import RunStatus, at_a_glance, remedy, standing, two_nodes
from privity.deploy.operator.run_submission import submit_run
from privity.interfaces.console.audit_log import AuditLog
from privity.interfaces.console.local_site import LocalSite, changed
from privity.interfaces.console.release_files import RELEASES, files_of, release_file
from privity.interfaces.console.run_comparison import FORM_OPTIONS, Comparison, Rehearsed, compare, rehearse
from privity.interfaces.console.run_list import RunLine, run_list

PLACES = [("overview", "Overview"), ("runs", "Runs"), ("new", "New run"), ("log", "Changes")]
STATE = "state"
"""Folder of the log, beside operator.toml."""
COMPLETED, FAILED, STOPPED = "COMPLETED", "FAILED", "STOPPED"
UNDER_WAY = ("QUEUED", "RUNNING", "WAITING")
MOST_COMPARED = 20
"""Comparisons that are kept; the oldest goes."""
FORM = {
    "epsilons": "0.1, 0.2, 0.4",
    **{name: "" if option.default is None else str(option.default) for name, option in FORM_OPTIONS.items()},
    "rows": "",
    "name": "",
}
"""Fields of a new run, and what they hold at first."""
LABELS = {
    "epsilons": "Budgets to compare (epsilon)",
    "parties": "Parties",
    **{name: option.label for name, option in FORM_OPTIONS.items()},
    "rows": "Rows that the parties hold, about",
    "name": "Name of the run",
}
"""Of the fields, in their order on the page."""
CHOICES = {"algorithm": (AUTO, *ALGORITHMS)} | {
    name: option.kind.schema["enum"] for name, option in FORM_OPTIONS.items() if "enum" in option.kind.schema
}
"""What fields that are chosen may hold."""
FIELD_OF = {"epsilon": "epsilons", "schema": "attributes", "parties": "parties"}
"""Where a fault of another option is shown."""
NAMES = "Letters, digits, '.', '_' and '-', with a letter or digit first; at most 63."
AGAIN_SECONDS = "3"


def operator_site(file: Path) -> LocalSite:
    """The console of the operator of this operator.toml.

    Raises:
        PrivityError, ProblemsFound: as ``link_of``; file-missing: there is no certificate.
    """
    certificate = link_of(file).certificate
    if not certificate.exists():
        raise PrivityError(Catalogue.FILE_MISSING, file=certificate)
    name = name_in(certificate.read_bytes())
    folder = file.absolute().parent
    again = f"privity operator console --config {file} --open"
    site = LocalSite(f"{name}, operator – Privity", PLACES, AuditLog(folder / STATE), again)
    _Runs(file, folder / RELEASES, site)
    _NewRun(file, site)
    site.app.add_url_rule(
        "/log", "log", lambda: site.page("log.html.j2", place="log", lines=site.log.lines()[::-1][:500])
    )
    return site


class _Runs:
    """The consortium at a glance, the list of runs, and one of them."""

    def __init__(self, file: Path, releases: Path, site: LocalSite) -> None:
        self._file, self._releases, self._site = file, releases, site
        add = site.app.add_url_rule
        add("/", "overview", self.overview)
        add("/runs", "runs", self.runs)
        add("/runs/<run>", "run", self.run)
        for word in ("stop", "discard", "resume", "fetch"):
            add(f"/runs/<run>/{word}", word, getattr(self, word), methods=["POST"])
        add("/runs/<run>/files/<name>", "release_file", self.release_file)

    def overview(self) -> flask.Response:
        client = client_of(self._file)
        try:
            parties, runs = client.parties(), list(client.runs().runs)[::-1]
        except PrivityError as error:
            return self._site.page("operator_overview.html.j2", place="overview", fault=error, parties=[], runs=[])
        waits = {
            one.party: [f"{run.run} {awaited}" for run in runs for awaited in _awaited(run, one.party)]
            for one in parties
        }
        return self._site.page(
            "operator_overview.html.j2", place="overview", fault=None, parties=parties, waits=waits,
            two_nodes=two_nodes(parties),
            runs=[_line(run) for run in runs if run.state in UNDER_WAY],
            latest=[_line(run) for run in runs if run.state not in UNDER_WAY][:5],
        )  # fmt: skip

    def runs(self) -> flask.Response:
        lines = [_line(run) for run in reversed(client_of(self._file).runs().runs)]
        return run_list(self._site, lines, "The newest runs of the curator, the newest first.")

    def run(self, run: str) -> flask.Response:
        return self._run(run, {})

    def _run(self, run: str, wrong: dict[str, list[str]]) -> flask.Response:
        status = client_of(self._file).why(run)
        return self._site.page(
            "operator_run.html.j2", place="runs", status=400 if wrong else 200, run=status, wrong=wrong,
            lines=list(standing(status)), files=files_of(self._releases / run), report=REPORT,
            awaited=[(one, one.note or answer_to(one.step), remedy(run, one)) for one in status.awaited],
            is_fetched=is_release(self._releases / run), under_way=status.state in UNDER_WAY,
            has_release=status.state == COMPLETED or LEARNT in status.remedy,
            is_whole=(self._releases / run / REPORT).is_file(), is_stopped=status.state == STOPPED,
            failed=status.state == FAILED, epsilon=readable(Fraction(status.epsilon)),
        )  # fmt: skip

    def stop(self, run: str) -> flask.Response:
        return self._change("stopped a run", "stopped", run, lambda: client_of(self._file).stop(run))

    def discard(self, run: str) -> flask.Response:
        if "sure" not in flask.request.form:
            why = "A run that is discarded cannot be resumed. If it is meant, tick the box."
            return self._run(run, {"sure": [why]})
        return self._change("discarded a run", "discarded", run, lambda: client_of(self._file).stop(run, discard=True))

    def resume(self, run: str) -> flask.Response:
        return self._change("resumed a run", "resumed", run, lambda: client_of(self._file).resume(run))

    def fetch(self, run: str) -> flask.Response:
        _check_name(run)
        if is_release(self._releases / run):
            return changed("run", "fetched", run=run)
        fetch: Callable[[], object] = lambda: client_of(self._file).fetch(run, self._releases / run)  # noqa: E731
        return self._change("fetched a release", "fetched", run, fetch)

    def release_file(self, run: str, name: str) -> flask.Response:
        _check_name(run)
        return release_file(self._releases / run, name)

    def _change(self, what: str, said: str, run: str, change: Callable[[], object]) -> flask.Response:
        with self._site.log.change(what, run=run):
            change()
        return changed("run", said, run=run)


class _NewRun:
    """The form of a new run, what it would cost at several budgets, and its submission."""

    def __init__(self, file: Path, site: LocalSite) -> None:
        self._file, self._site = file, site
        self._compared: dict[str, tuple[dict[str, str], Comparison, Rehearsed | None]] = {}
        add = site.app.add_url_rule
        add("/new", "new", self.new)
        add("/new/plan", "plan", self.plan, methods=["POST"])
        add("/new/plan/<key>", "planned", self.planned)
        add("/new/plan/<key>/rehearse", "rehearse", self.rehearse, methods=["POST"])
        add("/new/plan/<key>/submit", "submit", self.submit, methods=["POST"])

    def new(self) -> flask.Response:
        return self._form(FORM, [], {})

    def plan(self) -> flask.Response:
        form = {name: flask.request.form.get(name, "") for name in FORM}
        parties = flask.request.form.getlist("parties")
        if any(form[name] not in possible for name, possible in CHOICES.items()):
            flask.abort(400)
        found = compare(self._file, form, parties)
        wrong = dict[str, list[str]]()
        for problem in found.problems:
            option = problem.field.strip("-")
            words = wrong.setdefault(FIELD_OF.get(option, option if option in FORM else ""), [])
            words.append(f"{problem.message} {problem.remedy}")
        if form["name"]:
            try:
                check_run_name(form["name"])
            except ValueError:
                wrong["name"] = [f"{shorten(form['name'])} is no name of a run. {NAMES}"]
        if wrong:
            return self._form(form, parties, {key: wrong[key] for key in (*LABELS, "") if key in wrong})
        key = secrets.token_urlsafe(12)
        self._compared[key] = form, found, None
        for old in list(self._compared)[:-MOST_COMPARED]:
            del self._compared[old]
        return changed("planned", key=key)

    def planned(self, key: str) -> flask.Response:
        form, found, rehearsed = self._of(key)
        answer = self._site.page(
            "operator_plan.html.j2", place="new", key=key, form=form, compared=found, rehearsed=rehearsed,
            readable=readable, meaning=MEANING, caveat=CAVEAT,
        )  # fmt: skip
        if rehearsed is not None and not rehearsed.is_over:
            answer.headers["Refresh"] = AGAIN_SECONDS
        return answer

    def rehearse(self, key: str) -> flask.Response:
        form, found, rehearsed = self._of(key)
        if rehearsed is None and found.grid is not None:
            self._compared[key] = form, found, rehearse(found)
        return changed("planned", key=key)

    def submit(self, key: str) -> flask.Response:
        form, found, _ = self._of(key)
        place = flask.request.form.get("budget", type=int)
        if place is None or not 0 <= place < len(found.budgets):
            flask.abort(400)
        chosen = found.budgets[place]
        # The same plan again names the same run: nobody submits twice by a second click.
        token = f"console-{key}-{place}"
        asked = {"name": form["name"], "epsilon": readable(chosen.epsilon), "algorithm": chosen.request["algorithm"]}
        with self._site.log.change("submitted a run", **asked):
            run = submit_run(self._file, chosen.request, form["name"] or None, token)
        return changed("run", "submitted", run=run)

    def _of(self, key: str) -> tuple[dict[str, str], Comparison, Rehearsed | None]:
        if key not in self._compared:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="plan", reason="this plan is not kept any more", hint="Make it anew."
            )
        return self._compared[key]

    def _form(self, form: dict[str, str], chosen: list[str], wrong: dict[str, list[str]]) -> flask.Response:
        manifest = newest_manifest(self._file)
        return self._site.page(
            "operator_new.html.j2", place="new", status=400 if wrong else 200, form=form, chosen=chosen, wrong=wrong,
            parties=[(name, name in manifest.paused) for name in manifest.members], options=FORM_OPTIONS,
            choices=CHOICES, labels=LABELS, names=NAMES, likely=f"{LIKELY_ROWS:,}",
        )  # fmt: skip


def _check_name(run: str) -> None:
    """No run's name is a path."""
    try:
        check_run_name(run)
    except ValueError:
        flask.abort(404)


def _awaited(run: RunStatus, party: str) -> list[str]:
    return [f"since {one.since}: {one.note or one.step}" for one in run.awaited if one.party == party]


def _line(run: RunStatus) -> RunLine:
    why = at_a_glance(run)
    stands = f"{run.state}{why and ': ' + why}"
    return RunLine(run.run, run.submitted, run.algorithm, readable(Fraction(run.epsilon)), run.state, stands)
