"""A console that is served to a test, and a visitor that speaks HTTP to it as a browser would, without a browser."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode, urlsplit

from privity.interfaces.console.local_site import LocalSite


@dataclass(frozen=True)
class Page:
    """An answer: its status, its headers by their names in small letters, its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """What stands in it, without the marks of HTML."""
        plain = re.sub(r"<(style|script).*?</\1>", " ", self.body.decode(), flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", plain)).split())


class Visitor:
    """One browser as far as a server sees it: it keeps the cookie, and takes the token of forms from the pages.

    Args:
        link: that the console printed.
    """

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.address, self.place = parts.netloc, parts.path.rpartition("/")[0]
        self.cookie, self.token = "", ""
        self._link = link.partition(self.place)[2]

    def enter(self) -> Page:
        """Open the link, and press the button there; the page that is there instead, if there is none."""
        page = self.get(self._link)
        button = re.search(r'<form method="post" action="([^"]+)"', page.body.decode())
        if button is None:
            return page
        entered = self.ask("POST", unescape(button[1]), headers={"Origin": f"http://{self.address}"})
        self.cookie = entered.headers.get("set-cookie", "").partition(";")[0]
        return entered

    def get(self, path: str, **headers: str) -> Page:
        """A page below the console's own path."""
        return self.ask("GET", self.place + path, headers=headers)

    def post(self, path: str, fields: dict[str, str | list[str]] | None = None, **headers: str) -> Page:
        """A form, as a page of the console sends it."""
        if not self.token:
            found = re.search(r'name="token" value="([^"]+)"', self.get("/").body.decode())
            assert found is not None
            self.token = found[1]
        body = urlencode({"token": self.token, **(fields or {})}, doseq=True)
        sent = {"Origin": f"http://{self.address}", "Content-Type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", self.place + path, body, sent)

    def ask(self, method: str, path: str, body: str | bytes = "", headers: dict[str, str] | None = None) -> Page:
        """Any request to the console's port."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        sent = {"Host": self.address, **({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        found = Page(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        connection.close()
        return found


@contextmanager
def served(site: LocalSite) -> Iterator[str]:
    """The console at work in a thread of its own; its link."""
    ready, links = threading.Event(), list[str]()

    def tell(link: str) -> None:
        links.append(link)
        ready.set()

    thread = threading.Thread(target=site.serve, args=(0, tell), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield links[0]
    finally:
        site.end()
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def visited(site: LocalSite) -> Iterator[Visitor]:
    """Somebody who has opened the link."""
    with served(site) as link:
        visitor = Visitor(link)
        assert visitor.enter().status == 303
        yield visitor
