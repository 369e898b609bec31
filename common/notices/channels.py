"""The ways on which notices reach people: a webhook, and e-mail."""

from __future__ import annotations

import http.client
import json
import smtplib
import ssl
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from privity.common import formats
from privity.common.errors import Problem
from privity.common.formats.declared_keys import table
from privity.common.text.hosts import is_here
from privity.common.text.visible import cut

CALL_SECONDS = 10.0
"""After which whoever takes a notice and does not answer is given up."""

LONGEST_REASON = 300
TLS_AT_ONCE = 465
"""Port at which a mail server expects TLS from the first byte; at others it is asked for it (STARTTLS)."""


@dataclass(frozen=True)
class Notice:
    """One thing to tell, in words for people; nothing in it depends on rows.

    Attributes:
        name: what tells it from all others: said once, however often it is posted.
        subject: in a line.
        text: in full, with what to do.
        at: when, in UTC.
    """

    name: str
    subject: str
    text: str
    at: str


class NotTakenError(Exception):
    """A notice was not taken; the text says why, without any secret."""


class Channel(ABC):
    """One way.

    Attributes:
        name: of it among those of a node.
        to: where it leads, without any secret in it.
    """

    name: str
    to: str

    @abstractmethod
    def send(self, node: str, notices: Sequence[Notice]) -> None:
        """Send notices as one message.

        Args:
            node: who sends them, as people call it.

        Raises:
            NotTakenError: they were not taken, or nobody knows.
        """


@dataclass(frozen=True)
class Webhook(Channel):
    """A POST of JSON: ``text`` for chats that show it, and each notice by itself."""

    url: str
    name = "webhook"

    @property
    def to(self) -> str:  # type: ignore[override]
        """The host alone: what follows is often a key."""
        return urlsplit(self.url).hostname or ""

    def send(self, node: str, notices: Sequence[Notice]) -> None:
        document = {
            "text": "\n\n".join(notice.text for notice in notices),
            "node": node,
            "notices": [vars(notice) for notice in notices],
        }
        request = urllib.request.Request(  # noqa: S310 - https, or this machine
            self.url, json.dumps(document).encode(), {"Content-Type": "application/json", "User-Agent": "privity"}
        )
        # What is not under TLS is for this machine: no proxy sees it.
        direct = [urllib.request.ProxyHandler({})] if request.type == "http" else []
        try:
            with urllib.request.build_opener(_NoRedirects, *direct).open(request, timeout=CALL_SECONDS):
                pass
        except urllib.error.HTTPError as error:
            error.close()
            raise NotTakenError(f"{self.to} answers {error.code}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NotTakenError(f"{self.to}: {_reason(getattr(error, 'reason', error))}") from None


@dataclass(frozen=True)
class Mail(Channel):
    """E-mail to one address through a mail server, over TLS unless that is on this machine.

    Attributes:
        password: file that holds it; read when it is needed.
    """

    host: str
    port: int
    sender: str
    to: str
    user: str | None = None
    password: Path | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"mail/{self.to}"

    def send(self, node: str, notices: Sequence[Notice]) -> None:
        try:
            message = self._message(node, notices)
            with self._connected() as server:
                if self.user is not None and self.password is not None:
                    server.login(self.user, self.password.read_text(encoding="utf-8").strip())
                server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            ((code, said),) = error.recipients.values()
            reason = f"{code} {_reason(said.decode(errors='replace'))}"
            raise NotTakenError(f"{self.host} takes no mail for {self.to}: {reason}") from None
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise NotTakenError(f"{self.host}: {_reason(error)}") from None

    def _message(self, node: str, notices: Sequence[Notice]) -> EmailMessage:
        """ValueError for headers that cannot be."""
        message = EmailMessage()
        first, more = notices[0].subject, len(notices) - 1
        message["Subject"] = f"{node}: {first}" + (f" (and {more} more)" if more else "")
        message["From"], message["To"] = self.sender, self.to
        message["Auto-Submitted"] = "auto-generated"
        message.set_content("\n\n".join(f"{notice.at}\n{notice.text}" for notice in notices) + "\n")
        return message

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.port == TLS_AT_ONCE:
            return smtplib.SMTP_SSL(self.host, self.port, timeout=CALL_SECONDS, context=context)
        server = smtplib.SMTP(self.host, self.port, timeout=CALL_SECONDS)
        if not is_here(self.host):
            server.starttls(context=context)
        return server


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        where = urlsplit(newurl).hostname
        raise NotTakenError(
            f"{urlsplit(req.full_url).hostname} redirects to {cut(str(where))}: give that address itself"
        )


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CALL_SECONDS:g} s"
    if isinstance(error, smtplib.SMTPResponseException):
        error = f"{error.smtp_code} {error.smtp_error!r}"
    return cut(" ".join((str(error) or type(error).__name__).split())[:LONGEST_REASON])


def channel_problems(document: dict[str, Any], file: str) -> list[Problem]:
    """Everything that is wrong with the table ``notices`` of a settings file; secrets in it are not repeated."""
    settings = document.get("notices")
    if settings is None:
        return []
    found = formats.check(settings, "notices", file)
    problems = [replace(each, field=f"notices.{each.field}".removesuffix(".")) for each in found]
    if problems or not isinstance(settings, dict):
        return problems
    if "webhook" in settings and not _may_be_called(settings["webhook"]):
        remedy = "Write an address that begins with https://; http:// is for this machine alone."
        problems.append(Problem(file, "notices.webhook", "address", "nothing is posted to such an address.", remedy))
    return problems


def _may_be_called(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_here(host))


def notices_key() -> Any:
    """The table ``notices`` of a settings file."""
    meaning = 'where notices are sent (docs/formats.md, "Notices"), a table at the end of the file'
    return table(meaning, channels_of, channel_problems, by_default="nowhere")


def channels_of(settings: dict[str, Any], base: Path) -> tuple[Channel, ...]:
    """The channels that a checked table names; paths are relative to ``base``."""
    found: list[Channel] = []
    if "webhook" in settings:
        found.append(Webhook(settings["webhook"]))
    if "mail_to" in settings:
        host, _, port = settings["mail_server"].rpartition(":")
        password = settings.get("mail_password")
        secret = None if password is None else base / password
        for address in settings["mail_to"]:
            found.append(
                Mail(host.strip("[]"), int(port), settings["mail_from"], address, settings.get("mail_user"), secret)
            )
    return tuple(found)
