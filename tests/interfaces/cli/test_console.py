"""The command of a console: how a browser is opened, and what is said where it cannot be served."""

from __future__ import annotations

import re
import shlex
import socket
import stat
import time
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from tests.harness.command import here, start, wait_until
from tests.harness.console import Visitor
from tests.harness.founding import found

pytestmark = pytest.mark.process

OPERATOR = "operator console --config operator/operator.toml"
LINK = r"http://127\.0\.0\.1:\S+link=[\w-]+"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found(tmp_path, "localhost:9")
    return tmp_path


def test_a_browser_is_given_a_file_of_the_user_alone_and_no_link_that_others_could_see(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = place / "browser"
    browser.write_text('#!/bin/sh\nprintf %s "$*" > asked; cp -p "${1#file://}" opened.html\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    console = start(*shlex.split(OPERATOR), "--open", cwd=place)
    try:
        assert console.stdout is not None
        link = next(found[0] for line in console.stdout if (found := re.search(LINK, line)))
        wait_until((place / "opened.html").exists, "the browser")
        time.sleep(0.1)
        asked = (place / "asked").read_text()
        assert asked.startswith("file://")
        assert "link=" not in asked
        assert link in (place / "opened.html").read_text()
        (page,) = (place / "operator").glob("console-*.html")
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        visitor = Visitor(link)
        assert visitor.enter().status == 303
        assert visitor.post("/close").status == 200
        assert console.wait(20) == Exit.DONE
    finally:
        console.kill()
    assert not list((place / "operator").glob("console-*.html"))


def test_a_port_that_is_taken_and_files_that_are_missing_are_named(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = here(place, f"privity {OPERATOR} --port {taken.getsockname()[1]}")
    assert done.returncode != Exit.DONE
    assert "cannot be used" in done.stderr
    (place / "operator" / "tls.pem").unlink()
    missing = here(place, f"privity {OPERATOR}")
    assert missing.returncode != Exit.DONE
    assert "tls.pem: no such file" in missing.stderr
    never = here(place, "privity party console --config south/party.toml")
    assert "privity party serve" in never.stderr
