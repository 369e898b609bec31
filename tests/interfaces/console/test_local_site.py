"""Who gets at a console's pages: whoever opened its link, from its own pages, and nobody else."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import flask
import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.interfaces.console import local_server, local_site
from privity.interfaces.console.audit_log import FILE, AuditLog
from privity.interfaces.console.local_site import IDLE_SECONDS, LIFE_SECONDS, LINK_SECONDS, LocalSite, changed
from tests.harness.command import wait_until
from tests.harness.console import Visitor, served

pytestmark = pytest.mark.process

HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Shop:
    """A console of one page and one form, which takes what is bought."""

    def __init__(self, folder: Path) -> None:
        self.bought: list[str] = []
        self.site = LocalSite("<Shop>", [("overview", "Overview")], AuditLog(folder))
        self.site.app.add_url_rule("/", "overview", lambda: self.site.page("log.html.j2", lines=[]))
        self.site.app.add_url_rule("/buy", "buy", self._buy, methods=["POST"])
        self.site.app.add_url_rule("/break", "break", self._break)

    def _buy(self) -> flask.Response:
        wanted = flask.request.form["what"]
        with self.site.log.change("bought", what_for=wanted):
            if wanted == "the moon":
                raise PrivityError(Catalogue.BAD_OPTION, option="what", reason="<b>not</b> for sale", hint="Ask less.")
            self.bought.append(wanted)
        return changed("overview", "submitted")

    def _break(self) -> flask.Response:
        raise RuntimeError("a secret of 42 rows")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "state")


@pytest.fixture
def link(shop: Shop) -> Iterator[str]:
    with served(shop.site) as found:
        yield found


def is_gone(visitor: Visitor) -> None:
    """The console lets this visitor see nothing any more, and then ends."""

    def ended() -> bool:
        try:
            assert visitor.get("/").status == 403
        except OSError:
            return True
        return False

    wait_until(ended, "the console to end")


def test_the_link_opens_one_session_and_no_second_one(shop: Shop, link: str) -> None:
    visitor, late = Visitor(link), Visitor(link)
    assert visitor.get("/").status == 403
    entered = visitor.enter()
    cookie = entered.headers["set-cookie"]
    assert (entered.status, entered.headers["location"]) == (303, f"{visitor.place}/")
    assert {"HttpOnly", "SameSite=Strict", f"Path={visitor.place}/"} <= {part.strip() for part in cookie.split(";")}
    assert visitor.get("/").status == 200
    assert late.enter().status == 403
    assert "set-cookie" not in late.enter().headers
    assert late.get("/").status == 403
    assert [line["what"] for line in shop.site.log.lines()] == ["opened the console"]


def test_whoever_only_looks_at_the_link_opens_nothing(shop: Shop, link: str) -> None:
    visitor = Visitor(link)
    there = link.partition(visitor.address)[2]
    for method in ("GET", "HEAD", "GET", "OPTIONS", "PUT"):
        looked = visitor.ask(method, there, headers={"Sec-Purpose": "prefetch"})
        assert "set-cookie" not in looked.headers
        assert looked.status == (403 if method == "PUT" else 200)
    for elsewhere in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert visitor.ask("POST", there, headers=elsewhere).status == 403
    assert visitor.ask("POST", there, "what=bread").status == 400
    assert shop.site._session is None
    assert shop.site.log.lines() == []
    assert visitor.enter().status == 303


def test_without_the_link_there_is_nothing(shop: Shop, link: str) -> None:
    stranger = Visitor(link)
    for path in ("/", "/enter", "/enter?link=", f"{stranger.place[:-1]}/", f"{stranger.place}x/", "//", "/favicon.ico"):
        found = stranger.ask("GET", path)
        assert found.status == 404
        assert b"<" not in found.body
    for wrong in ("", "?link=", "?link=%00", "?link=" + "x" * 5000, "?link=é"):
        assert stranger.get(f"/enter{wrong}".encode("ascii", "replace").decode()).status == 403
    # Nothing of it is used up by those who try.
    assert stranger.enter().status == 303
    stranger.cookie = "privity-console=guess"
    assert stranger.get("/").status == 403
    stranger.token = "guess"
    assert stranger.post("/buy", {"what": "all"}).status == 400
    assert shop.bought == []


def test_every_answer_is_hardened(link: str) -> None:
    visitor = Visitor(link)
    entered = visitor.enter()
    answers = [
        entered,
        *(visitor.get(path) for path in ("/", "/style.css", "/live.js", "/icon.svg", "/none", "/break")),
    ]
    for answer in (*answers, visitor.post("/buy", {"what": "the moon"})):
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "server" not in answer.headers
    page = visitor.get("/").body.decode()
    assert "&lt;Shop&gt;" in page
    assert "<Shop>" not in page
    assert "<style" not in page
    assert " style=" not in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example:{port}", "127.0.0.2:{port}", "", "localhost"]
)
def test_a_name_that_is_not_of_this_machine_is_refused(link: str, host: str) -> None:
    visitor = Visitor(link)
    visitor.enter()
    port = visitor.address.rpartition(":")[2]
    found = visitor.get("/", Host=host.format(port=port))
    assert found.status in (400, 421)
    assert "Shop" not in found.body.decode()
    for good in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost:9999", f"[::1]:{port}"):
        assert visitor.get("/", Host=good).status == 200


@pytest.mark.parametrize(
    "forged",
    [
        {"token": ""},
        {"token": "x" * 43},
        {"token": "é"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://{address}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda forged: "-".join(f"{key} {value[:20]}" for key, value in forged.items()),
)
def test_a_form_that_another_page_sends_changes_nothing(shop: Shop, link: str, forged: dict[str, str]) -> None:
    visitor = Visitor(link)
    visitor.enter()
    fields: dict[str, str | list[str]] = {"what": "bread"}
    headers = {name: value.format(address=visitor.address) for name, value in forged.items() if name != "token"}
    if "token" in forged:
        fields["token"] = forged["token"]
    assert visitor.post("/buy", fields, **headers).status == 403
    assert shop.bought == []
    answer = visitor.post("/buy", {"what": "bread"}, **{"Sec-Fetch-Site": "same-origin"})
    assert answer.status == 303
    assert shop.bought == ["bread"]
    assert answer.headers["location"].startswith(f"{visitor.place}/?said=")


def test_a_link_changes_nothing_and_puts_no_words_into_a_page(shop: Shop, link: str) -> None:
    visitor = Visitor(link)
    visitor.enter()
    assert visitor.get("/buy?what=bread").status == 405
    assert visitor.ask("PUT", f"{visitor.place}/buy").status == 403
    assert "Submitted." in visitor.get("/?said=submitted").text
    for said in ("<script>", "You%20have%20won"):
        assert "won" not in visitor.get(f"/?said={said}").text
        assert "<script>" not in visitor.get(f"/?said={said}").body.decode()
    assert visitor.get("//evil.example/").status in (404, 308)
    assert "evil" not in visitor.get("//evil.example/").headers.get("location", "")
    assert shop.bought == []


def test_refused_and_unforeseen_errors_are_pages_that_escape_and_hide(shop: Shop, link: str) -> None:
    visitor = Visitor(link)
    visitor.enter()
    refused = visitor.post("/buy", {"what": "the moon"})
    assert refused.status == 400
    assert "what: <b>not</b> for sale" in refused.text.replace("&lt;", "<")
    assert "<b>" not in refused.body.decode()
    assert "Ask less." in refused.text
    broken = visitor.get("/break")
    assert broken.status == 500
    assert "RuntimeError" in broken.text
    assert "42" not in broken.text
    assert visitor.get("/none").status == 404
    assert visitor.post("/buy", {"what": "x" * (local_site.LARGEST_FORM + 1)}).status == 413
    told = [(line["what"], line.get("why", "")) for line in shop.site.log.lines()]
    assert told == [
        ("opened the console", ""), ("bought", ""), ("not done: bought", "what: <b>not</b> for sale"),
    ]  # fmt: skip


@pytest.mark.parametrize("moment", ["idle", "old"])
def test_a_session_ends_and_the_console_with_it(shop: Shop, link: str, moment: str) -> None:
    visitor = Visitor(link)
    visitor.enter()
    session = shop.site._session
    assert session is not None
    session.used -= IDLE_SECONDS / 2
    used = session.used
    assert visitor.get("/", **{"X-Privity-Live": "1"}).status == 200
    assert session.used == used, "a page that looks by itself keeps no session"
    assert visitor.get("/").status == 200
    assert session.used > used
    if moment == "idle":
        session.used -= IDLE_SECONDS + 1
    else:
        session.began -= LIFE_SECONDS + 1
    is_gone(visitor)


def test_a_link_that_is_too_old_opens_nothing(shop: Shop, link: str) -> None:
    shop.site._began -= LINK_SECONDS + 1
    is_gone(Visitor(link))


def test_a_console_that_is_closed_serves_no_more(shop: Shop, link: str) -> None:
    visitor = Visitor(link)
    visitor.enter()
    assert "closed" in visitor.post("/close").text
    is_gone(visitor)
    assert [line["what"] for line in shop.site.log.lines()] == ["opened the console", "closed the console"]


def test_the_log_is_its_owners_alone_and_outlives_a_line_that_was_cut_off(shop: Shop, tmp_path: Path) -> None:
    shop.site.log.add("first", run="<x>\n\x1b[2J")
    file = tmp_path / "state" / FILE
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    with file.open("a") as lines:
        lines.write('{"at": "2026')
    AuditLog(tmp_path / "state").add("second")
    assert [line["what"] for line in shop.site.log.lines()] == ["first", "second"]
    assert shop.site.log.lines()[0]["run"] == "<x>\n\x1b[2J"


def begun(link: str, head: str) -> bytes:
    """What a console answers to the head of a request of which no body follows."""
    host, port = Visitor(link).address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as stranger:
        stranger.sendall(head.encode("latin-1"))
        with stranger.makefile("rb") as answer:
            return answer.read()


@pytest.mark.parametrize("more", ["", "Expect: 100-continue\r\n"])
def test_a_body_is_refused_before_it_is_taken(shop: Shop, link: str, more: str) -> None:
    visitor = Visitor(link)
    visitor.enter()
    own, small = f"Host: {visitor.address}\r\nCookie: {visitor.cookie}\r\n", "Content-Length: 10"
    buy, enter = f"{visitor.place}/buy", link.partition(visitor.address)[2]
    refused = {
        "nothing here": ("/", own, small),
        "none of this machine": (buy, own.replace(visitor.address, "evil.example"), small),
        "exceeds max_body": (buy, own, f"Content-Length: {1 << 30}"),
        "how long the body is": (buy, own, "Transfer-Encoding: chunked"),
    }
    guesses = ("", "Cookie: privity-console=guess\r\n", "Cookie: privity-console=é\r\n", f"Cookie: X{visitor.cookie}")
    refused_cookies = [
        (path, f"Host: {visitor.address}\r\n{guess}", small) for path in (buy, enter) for guess in guesses
    ]
    requests = [*refused.items(), *(("no session", each) for each in refused_cookies)]
    for why, (path, head, body) in requests:
        answer = begun(link, f"POST {path} HTTP/1.1\r\n{head.rstrip()}\r\n{more}{body}\r\n\r\n").decode()
        assert answer.startswith(("HTTP/1.1 400", "HTTP/1.1 413")), answer
        assert why in answer
    shop.site._session = None
    assert b"no session" in begun(link, f"POST {buy} HTTP/1.1\r\n{own}{more}{small}\r\n\r\n")


def test_silent_connections_lock_nobody_out(link: str) -> None:
    visitor = Visitor(link)
    host, port = visitor.address.split(":")
    silent = [socket.create_connection((host, int(port)), timeout=5) for _ in range(local_server.MOST_CONNECTIONS * 3)]
    try:
        assert visitor.enter().status == 303
        assert visitor.get("/").status == 200
    finally:
        for one in silent:
            one.close()


def test_another_account_is_turned_away(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Visitor(link)
    with monkeypatch.context() as patched:
        patched.setattr(local_server, "account_of", lambda *_: os.getuid() + 1)
        with pytest.raises(OSError):
            visitor.enter()
    assert visitor.enter().status == 303


def test_the_account_of_a_connection_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert local_server.account_of(client.getsockname(), server.getsockname()) == os.getuid()
        assert local_server.account_of(("127.0.0.1", 1), server.getsockname()) is None
