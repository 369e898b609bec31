"""The policy's page: a form, a preview of what it would change, and the file written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import flask

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.data.schema import load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.interfaces.console import policy_form as forms
from privity.interfaces.console.local_site import LocalSite, changed
from privity.interfaces.console.owner_files import OwnerFiles
from privity.party.policy import Approval, Policy

TITLES = {name: one.title for name, one in ALGORITHMS.items()}


@dataclass(frozen=True)
class _Sent:
    """A form that was sent: what was typed, the text of the file with its digest, and the policies before and after."""

    typed: forms.Typed
    digest: str
    text: str
    was: Policy
    now: Policy


class PolicyPages:
    """The policy of one node.

    Args:
        files: the node's; site: takes the pages.
    """

    def __init__(self, files: OwnerFiles, site: LocalSite) -> None:
        self._files, self._site, self._written_last = files, site, ""
        add = site.app.add_url_rule
        add("/policy", "policy", self.policy)
        add("/policy/preview", "policy_preview", self.preview, methods=["POST"])
        add("/policy/write", "policy_write", self.write, methods=["POST"])

    def policy(self) -> flask.Response:
        file, text = self._files.config.policy, ""
        try:
            text = forms.text_of(file)
            policy = self._read(file)
        except PrivityError as error:
            return self._site.page("policy_broken.html.j2", place="policy", file=file, text=text, error=error)
        return self._form(policy, forms.shown(policy, text), forms.sha256(text))

    def preview(self) -> flask.Response:
        return self._of_form(self._previewed)

    def write(self) -> flask.Response:
        return self._of_form(self._written)

    def _of_form(self, go_on: Callable[[_Sent], flask.Response]) -> flask.Response:
        """Go on with what was sent; or the form once more, with what is wrong beside its fields."""
        typed, file, digest = forms.typed(flask.request.form), self._files.config.policy, flask.request.form["sha256"]
        text = forms.text_of(file)
        was = self._read(file)
        try:
            forms.unchanged(file, digest)
        except PrivityError as error:
            # What was typed is there to be sent again, after a look at all that it would change now.
            return self._form(was, typed, forms.sha256(text), forms.faults(error), status=400)
        try:
            now = self._checked(was, text, typed)
        except PrivityError as error:
            return self._form(was, typed, digest, forms.faults(error), status=400)
        return go_on(_Sent(typed, digest, text, was, now))

    def _previewed(self, sent: _Sent) -> flask.Response:
        files, config = self._files, self._files.config
        of_person = ManifestFile(config.manifest, config.organiser_key).current().parties_per_person
        filed = files.approvals.filed()[::-1]
        after = forms.changed_text(sent.text, forms.shown(sent.was, sent.text), sent.typed)
        unasked = sent.was.approval is not Approval.BY_POLICY and sent.now.approval is Approval.BY_POLICY
        return self._form(
            sent.was, sent.typed, sent.digest, differences=list(forms.differences(sent.was, sent.now)),
            hindsight=forms.hindsight(filed, sent.now, config.name, of_person), count=len(filed),
            never=sent.now.manifest_refusals(of_person), unasked=unasked,
            lost=forms.lost_comments(sent.text, after),
        )  # fmt: skip

    def _written(self, sent: _Sent) -> flask.Response:
        changes = forms.differences(sent.was, sent.now)
        words = "; ".join(f"{label}: {after} instead of {before}" for label, before, after in changes)
        with self._site.log.change("changed the policy", changes=words):
            text = forms.changed_text(sent.text, forms.shown(sent.was, sent.text), sent.typed)
            forms.write(self._files.config.policy, text, sent.digest)
        self._written_last = f"{words}."
        return changed("policy", "policy")

    def _checked(self, was: Policy, text: str, typed: forms.Typed) -> Policy:
        now = forms.checked(forms.changed_text(text, forms.shown(was, text), typed), self._read)
        if not forms.is_same(now, typed):
            raise PrivityError(
                Catalogue.BAD_OPTION, option="policy", reason="this form cannot write that into the file as it stands",
                hint=f"Change {self._files.config.policy} in an editor.",
            )  # fmt: skip
        return now

    def _read(self, file: Path) -> Policy:
        return self._files.policy(file, load_schema(self._files.config.schema).names)

    def _form(
        self, policy: Policy, typed: forms.Typed, digest: str, faults: dict[str, list[str]] | None = None,
        status: int = 200, **preview: object,
    ) -> flask.Response:  # fmt: skip
        return self._site.page(
            "policy.html.j2", status=status, place="policy", fields=forms.FIELDS, typed=typed, sha256=digest,
            faults=faults or {}, labels=forms.LABELS, titles=TITLES, written_last=self._written_last,
            population=policy.population, file=self._files.config.policy,
            **preview,
        )  # fmt: skip
