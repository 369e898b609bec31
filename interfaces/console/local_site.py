"""Pages for one person at this machine: on the loopback address alone, behind a link that opens them once.

What another user of the machine, a page of somebody else or a name server could try, and what stands against it:

- Pages live below a path that nobody can guess, and the cookie is of that path: browsers do not send it to what another
  user serves on another port of this address.
- The link shows a button that opens one session and no second one: what only looks at it (a preview, a prefetch) uses
  nothing up. It ends with the process, after ``IDLE_SECONDS`` without a click.
- A host name that is not of this machine is refused (DNS rebinding); a form is taken only with the session's token, and
  only from these pages (forged requests); no page may be shown within another (clickjacking).
- Nothing is loaded from elsewhere, and no script stands in a page: the browser is told to run the one file of ours.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flask
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.sansio.http import parse_cookie

from privity.common import pages
from privity.common.errors import PrivityError
from privity.common.text.utc_times import utc_now, with_plain_times
from privity.interfaces.console.audit_log import AuditLog
from privity.interfaces.console.local_server import LocalServer

HOST = "127.0.0.1"
HOSTS = (HOST, "localhost", "[::1]")
"""Names of this machine under which a browser may ask; the last ones through a tunnel from another one."""
LINK_SECONDS = 600
"""How long the link opens anything."""
IDLE_SECONDS, LIFE_SECONDS = 1800, 12 * 3600
"""After so long without a click, and after so long in any case, a session is over."""
LARGEST_FORM = 1 << 18
"""Bytes of a form, and of one with a file."""
THREADS = 4
COOKIE = "privity-console"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
NO_SESSION = "There is no session, or it is over. Start the console again, and open the link that it prints."
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#0b5394"/>'
    '<circle cx="8" cy="8" r="3" fill="#fff"/></svg>'
)

_HERE = Path(__file__).parent
_log = logging.getLogger("privity.console")


@dataclass
class Session:
    """Of the one browser that opened the link.

    Attributes:
        token: what every form has to carry; began, used: seconds of the monotonic clock.
    """

    cookie: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    began: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)

    def is_over(self) -> bool:
        now = time.monotonic()
        return now - self.used > IDLE_SECONDS or now - self.began > LIFE_SECONDS


class LocalSite:
    """A console's pages, and who may see them.

    Args:
        title: of every page.
        places: what the menu names: (endpoint, words).
        log: takes a line for every change that is made.
        again: the command that starts this console.

    Attributes:
        app: where pages are registered, as in any program of flask.
    """

    def __init__(self, title: str, places: list[tuple[str, str]], log: AuditLog, again: str = "") -> None:
        self.app = flask.Flask("privity-console", static_folder=None)
        self.app.config["MAX_CONTENT_LENGTH"] = LARGEST_FORM
        self.app.url_map.merge_slashes = False  # an address that is none leads nowhere else
        self._title, self._places, self.log, self._again = title, places, log, again
        self._path = f"/{secrets.token_urlsafe(16)}"
        self._link: str | None = secrets.token_urlsafe(32)
        self._began = time.monotonic()
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        pages.read_all(__package__)
        self.app.before_request(self._guard)
        self.app.after_request(self._harden)
        self.app.register_error_handler(PrivityError, self._refused)
        self.app.register_error_handler(HTTPException, self._http_error)
        self.app.register_error_handler(Exception, self._unforeseen)
        self.app.add_url_rule("/enter", "enter", self._enter, methods=["GET", "POST"])
        self.app.add_url_rule("/close", "close", self._close, methods=["POST"])
        style = pages.style() + (_HERE / "console.css").read_text(encoding="utf-8")
        script = (_HERE / "live.js").read_text(encoding="utf-8")
        self.app.add_url_rule("/style.css", "style", lambda: flask.Response(style, content_type="text/css"))
        self.app.add_url_rule("/icon.svg", "icon", lambda: flask.Response(ICON, content_type="image/svg+xml"))
        self.app.add_url_rule("/live.js", "script", lambda: flask.Response(script, content_type="text/javascript"))

    def page(self, template: str, *, status: int = 200, place: str = "", **context: Any) -> flask.Response:
        """A page of this console.

        Args:
            place: the endpoint of the menu's entry to which it belongs.
        """
        said = SAID.get(flask.request.args.get("said", ""), "")
        text = pages.render(
            __package__, template, title=self._title, places=self._places, place=place, said=said,
            token=self._session.token if self._session else "", url_for=flask.url_for, times=with_plain_times,
            now=with_plain_times(utc_now()), **context,
        )  # fmt: skip
        return flask.Response(text, status, content_type="text/html; charset=utf-8")

    def serve(self, port: int, ready: Callable[[str], None]) -> None:
        """Serve until the session is over, it is closed, or the process is interrupted.

        Args:
            port: 0 takes any that is free.
            ready: is told the link.

        Raises:
            OSError: the port is taken.
        """
        listening = socket.create_server((HOST, port))
        server = LocalServer(self._below, listening, THREADS, LARGEST_FORM, self._misdirected)
        logging.getLogger("waitress").setLevel(logging.ERROR)
        threading.Thread(target=self._end_in_time, args=(server,), daemon=True).start()
        ready(f"http://{HOST}:{listening.getsockname()[1]}{self._path}/enter?link={self._link}")
        server.run()

    def end(self) -> None:
        """Serve no more, within a second or two."""
        self._over.set()

    def _misdirected(self, host: str, path: str, cookies: str) -> str:
        """Why the body of a request is not taken, by its headers; the link's own button sends none."""
        if host.rpartition(":")[0] not in HOSTS:
            return "This name is none of this machine."
        if not self._is_below(path):
            return "There is nothing here."
        return "" if self._session_of(parse_cookie(cookies).get(COOKIE, "")) else NO_SESSION

    def _session_of(self, cookie: str) -> Session | None:
        """The session, if it is not over and this is its cookie."""
        session = self._session
        if session is None or session.is_over() or not hmac.compare_digest(session.cookie.encode(), cookie.encode()):
            return None
        return session

    def _is_below(self, path: str) -> bool:
        return hmac.compare_digest(path[: len(self._path) + 1].encode(), f"{self._path}/".encode())

    def _below(self, environ: dict[str, Any], start: Any) -> Any:
        """The pages, below their path; elsewhere there is nothing."""
        path = environ.get("PATH_INFO", "")
        if not self._is_below(path):
            start("404 Not Found", [("Content-Type", "text/plain"), ("Cache-Control", "no-store")])
            return [b"There is nothing here. Open the console by the link that it prints when it is started.\n"]
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = self._path, path[len(self._path) :]
        return self.app.wsgi_app(environ, start)

    def _end_in_time(self, server: Any) -> None:
        while not self._over.wait(1):
            session = self._session
            unused = session is None and time.monotonic() - self._began > LINK_SECONDS
            if unused or (session is not None and session.is_over()):
                break
        time.sleep(0.2)  # for the last page to leave
        server.trigger.pull_trigger(server.close)  # by the thread that waits for requests, which so notices at once

    def _guard(self) -> flask.Response | None:
        request = flask.request
        if request.headers.get("Host", "").rpartition(":")[0] not in HOSTS:
            return self._nothing(421, "This name is none of this machine: open the console at 127.0.0.1 or localhost.")
        changes = request.method not in ("GET", "HEAD")
        forged = changes and not self._is_from_here()
        if request.endpoint in ("enter", "style", "icon") and not forged:
            return None
        session = self._session_of(request.cookies.get(COOKIE, ""))
        if session is None:
            return self._nothing(403, NO_SESSION)
        signed = hmac.compare_digest(session.token.encode(), request.form.get("token", "").encode())
        if forged or (changes and not signed):
            return self._nothing(403, "This form was not sent from a page of this session: nothing was changed.")
        if request.headers.get("X-Privity-Live") is None:
            session.used = time.monotonic()
        return None

    def _is_from_here(self) -> bool:
        """Whether a page of this console sent the form, as far as a browser tells."""
        origin, site = flask.request.headers.get("Origin"), flask.request.headers.get("Sec-Fetch-Site", "same-origin")
        return origin in (None, f"http://{flask.request.headers['Host']}") and site == "same-origin"

    def _enter(self) -> flask.Response:
        """The page of the link, or, as its button asks, the one session."""
        given = flask.request.args.get("link", "")
        with self._lock:
            link, late = self._link, time.monotonic() - self._began > LINK_SECONDS
            if link is None or late or not hmac.compare_digest(link.encode(), given.encode()):
                return self._nothing(403, "This link has been used, or is too old. Start the console again.")
            if flask.request.method != "POST":
                words = "The console opens once: in this browser, and then in no other."
                return self._nothing(200, words, heading=self._title, template="enter.html.j2", link=given)
            self._link, self._session = None, Session(secrets.token_urlsafe(32))
        answer = changed("overview")
        answer.set_cookie(COOKIE, self._session.cookie, path=f"{self._path}/", httponly=True, samesite="Strict")
        self.log.add("opened the console")
        return answer

    def _close(self) -> flask.Response:
        self._session = None
        self.log.add("closed the console")
        self._over.set()
        words = "The console is closed. You may close this window, too. A node at work goes on working without it."
        back = f" To come back, start the console again: {self._again}" if self._again else ""
        return self._nothing(200, words + back, heading="Good-bye")

    def _nothing(
        self, status: int, words: str, heading: str = "No entry", template: str = "outside.html.j2", **context: Any
    ) -> flask.Response:
        """A page without anything of the node."""
        text = pages.render(__package__, template, heading=heading, words=words, url_for=flask.url_for, **context)
        return flask.Response(text, status, content_type="text/html; charset=utf-8")

    def _harden(self, answer: flask.Response) -> flask.Response:
        headers = answer.headers
        headers.setdefault("Content-Security-Policy", POLICY)
        headers["X-Frame-Options"] = "DENY"
        headers["X-Content-Type-Options"] = "nosniff"
        # Not "no-referrer": forms would be sent without the origin by which they are told from forged ones.
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = headers["Cross-Origin-Resource-Policy"] = "same-origin"
        headers["Cache-Control"] = "no-store"
        return answer

    def _refused(self, error: PrivityError) -> flask.Response:
        return self.page("error.html.j2", status=400, message=error.message, remedy=error.remedy)

    def _http_error(self, error: HTTPException) -> flask.Response:
        words = {404: "There is no such page.", 405: "This page takes no such request."}
        if isinstance(error, RequestEntityTooLarge):
            words[413] = "The form, or the file in it, is too large: nothing was changed."
        message = words.get(error.code or 500, f"{error.name}.")
        return self.page("error.html.j2", status=error.code or 500, message=message, remedy="Go back to the start.")

    def _unforeseen(self, error: Exception) -> flask.Response:
        """Nobody foresaw it: what it quotes may be anybody's, so that its text stays here."""
        _log.error("an internal error", extra={"error": type(error).__name__}, exc_info=error)
        message = f"An internal error ({type(error).__name__}); nothing more was changed."
        return self.page("error.html.j2", status=500, message=message, remedy="See where the console was started.")


def changed(endpoint: str, said: str = "", **values: Any) -> flask.Response:
    """After a form: the page to look at next, with a sentence of ``SAID``. A reload changes nothing again."""
    if said:
        values["said"] = said
    answer: Any = flask.redirect(flask.url_for(endpoint, **values), 303)
    assert isinstance(answer, flask.Response)
    return answer


SAID = {
    "approved": "Approved. You need do nothing more.",
    "rejected": "Rejected. Nothing more of this run leaves this party.",
    "policy": "The policy is written, and the node obeys it from now on.",
    "total": "The total is changed, by a line of the ledger.",
    "returned": "What the run had reserved is returned, by a line of the ledger.",
    "renewed": "New keys are made. Send the answer to the organiser.",
    "fetched": "The release is here. Its files are intact.",
    "submitted": "Submitted.",
    "stopped": "Stopped. What was charged stays charged.",
    "discarded": "Discarded for good. What was charged stays charged.",
    "resumed": "It goes on.",
}
"""What a page says after a change, by the word in its address: nobody's link puts other words there."""
