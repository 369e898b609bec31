"""Webhooks and mail servers that take notices, refuse them, hang or lead elsewhere; settings that cannot be."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from aiosmtpd.smtp import AuthResult

from privity.common.notices import channels
from privity.common.notices.channels import Mail, Notice, NotTakenError, Webhook, channel_problems, channels_of
from tests.harness.receivers import HOST, mail_server, webhook

pytestmark = pytest.mark.process

NOTICES = [
    Notice("a/waits", "a waits", "a waits for your approval: privity party show a", "2026-01-02T03:04:05+00:00"),
    Notice("b/ended", "b has ended", "b has ended: COMPLETED", "2026-01-02T03:05:05+00:00"),
]


def mail(port: int, to: str = "steward@example.org", **more: object) -> Mail:
    return Mail(HOST, port, "node@example.org", to, **more)  # type: ignore[arg-type]


def test_a_webhook_is_posted_a_text_and_each_notice() -> None:
    with webhook() as hook:
        Webhook(hook.url).send("north", NOTICES)
    (document,) = hook.posted
    assert document["text"] == f"{NOTICES[0].text}\n\n{NOTICES[1].text}"
    assert document["node"] == "north"
    assert [notice["name"] for notice in document["notices"]] == ["a/waits", "b/ended"]


def test_a_webhook_that_refuses_redirects_or_is_not_there_is_named_without_its_secret() -> None:
    def elsewhere(handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "http://other.example.org/x")

    with webhook() as hook:
        hook.answer = lambda handler: handler.send_response(500)
        with pytest.raises(NotTakenError, match=f"^{HOST} answers 500$"):
            Webhook(hook.url).send("north", NOTICES)
        hook.answer = elsewhere
        with pytest.raises(NotTakenError, match=r"redirects to other\.example\.org: give that address itself"):
            Webhook(hook.url).send("north", NOTICES)
    with pytest.raises(NotTakenError) as gone:
        Webhook(hook.url).send("north", NOTICES)
    assert "refused" in str(gone.value)
    assert "secret-key" not in str(gone.value)


def test_what_stays_on_this_machine_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with webhook() as proxy, webhook() as hook:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        Webhook(hook.url).send("north", NOTICES)
    assert (len(hook.posted), proxy.posted) == (1, [])


def test_what_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "CALL_SECONDS", 0.3)
    with socket.create_server((HOST, 0)) as silent:
        port = silent.getsockname()[1]
        for channel in (Webhook(f"http://{HOST}:{port}/"), mail(port)):
            with pytest.raises(NotTakenError, match=r"no answer within 0\.3 s|timed out"):
                channel.send("north", NOTICES)


def test_mail_is_plain_text_with_one_subject() -> None:
    with mail_server() as box:
        mail(box.port).send("north", NOTICES)
    (message,) = box.messages
    assert message["Subject"] == "north: a waits (and 1 more)"
    assert message["To"] == "steward@example.org"
    content = message.get_content()
    assert all(notice.text in content and notice.at in content for notice in NOTICES)


def test_a_header_that_cannot_be_is_no_fault_of_the_program() -> None:
    forged = Notice("a", "a is\r\nBcc: x@example.org", "a", "2026-01-02T03:04:05+00:00")
    with pytest.raises(NotTakenError, match="linefeed"):
        mail(1).send("north", [forged])


def test_an_address_that_is_refused_is_named() -> None:
    said = r"takes no mail for nobody@example\.org: 550 no such mailbox here"
    with mail_server() as box, pytest.raises(NotTakenError, match=said):
        mail(box.port, "nobody@example.org").send("north", NOTICES)
    assert not box.messages


def test_a_password_comes_from_its_file_and_is_never_told(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("open sesame\n")

    def check(_server, _session, _envelope, _mechanism, login) -> AuthResult:
        return AuthResult(handled=False, success=(login.login, login.password) == (b"node", b"open sesame"))

    with mail_server(authenticator=check, auth_require_tls=False, auth_required=True) as box:
        mail(box.port, user="node", password=password).send("north", NOTICES)
        password.write_text("wrong")
        with pytest.raises(NotTakenError, match="535") as refused:
            mail(box.port, user="node", password=password).send("north", NOTICES)
        password.unlink()
        with pytest.raises(NotTakenError, match="No such file"):
            mail(box.port, user="node", password=password).send("north", NOTICES)
    assert "wrong" not in str(refused.value)
    assert len(box.messages) == 1


def test_elsewhere_mail_goes_over_tls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "is_here", lambda host: False)
    with mail_server() as box, pytest.raises(NotTakenError, match="STARTTLS"):
        mail(box.port).send("north", NOTICES)
    assert not box.messages


GOOD = {
    "webhook": "https://hooks.example.org/T0/secret",
    "mail_to": ["steward@example.org", "dpo@example.org"],
    "mail_from": "node@example.org",
    "mail_server": "[::1]:587",
    "mail_user": "node",
    "mail_password": "keys/mail",
}


def test_channels_are_those_of_the_settings(tmp_path: Path) -> None:
    assert channel_problems({"notices": GOOD}, "party.toml") == channel_problems({}, "party.toml") == []
    hook, post, other = channels_of(GOOD, tmp_path)
    assert (hook.name, hook.to) == ("webhook", "hooks.example.org")
    assert (post.name, post.to, other.to) == ("mail/steward@example.org", "steward@example.org", "dpo@example.org")
    assert isinstance(post, Mail)
    assert (post.host, post.port, post.password) == ("::1", 587, tmp_path / "keys/mail")
    assert channels_of({}, tmp_path) == ()


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, ["notices"]),
        ({"telegram": "x"}, ["notices.telegram"]),
        ({"webhook": "http://hooks.example.org/secret"}, ["notices.webhook"]),
        ({"webhook": "https://me:secret@hooks.example.org/"}, ["notices.webhook"]),
        ({"webhook": "https://[secret"}, ["notices.webhook"]),
        ({"webhook": "ftp://hooks.example.org/secret"}, ["notices.webhook"]),
        ({"mail_to": ["steward"], "mail_from": "a@b"}, ["notices", "notices.mail_to[0]"]),
        ({**GOOD, "mail_to": ["a@b\nBcc: c@d"]}, ["notices.mail_to[0]"]),
        ({**GOOD, "mail_server": "mail.example.org"}, ["notices.mail_server"]),
        ({"webhook": GOOD["webhook"], "mail_password": "x"}, ["notices"]),
    ],
)
def test_settings_that_cannot_be_are_named_all_at_once(settings: dict, fields: list[str]) -> None:
    problems = channel_problems({"notices": settings}, "party.toml")
    assert sorted({problem.field for problem in problems}) == fields
    assert all(problem.remedy and "secret" not in problem.message for problem in problems)
