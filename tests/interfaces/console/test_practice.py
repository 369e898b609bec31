"""One command, and a newcomer approves a run in a browser; it is marked as practice, and is charged to nobody."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from privity.assessment.simulation import practice_consortium
from privity.common.errors import PrivityError
from privity.common.release.statement import SIMULATION
from privity.party.sources.frame_rows import open_frame
from tests.harness import browser
from tests.harness.command import here, program, wait_until

LINK = re.compile(r"http://\S+link=\S+")


@pytest.mark.process
def test_its_table_is_known_by_its_digest_and_fits_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    table = practice_consortium.practice_table()
    assert open_frame(table, practice_consortium.SCHEMA, None).rows == len(table) == 20_190
    monkeypatch.setattr(practice_consortium, "DIGEST", "0" * 64)
    with pytest.raises(PrivityError, match="not the table that is practised on"):
        practice_consortium.practice_table()


@pytest.mark.long
@pytest.mark.process
@pytest.mark.external
@pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}")
def test_a_newcomer_approves_a_run_and_sees_it_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = here(tmp_path, "privity population list").stdout
    with subprocess.Popen(program("privity practice try"), stdout=subprocess.PIPE, text=True) as practice:
        assert practice.stdout is not None
        links = []
        for line in practice.stdout:
            links += LINK.findall(line)
            if "Ctrl-C" in line:
                break
        try:
            with browser.chromium(tmp_path / "profile") as driver:
                owner, operator = links

                def text() -> str:
                    return str(driver.execute_script("return document.body ? document.body.innerText : ''"))

                def press(words: str) -> None:
                    driver.find_element(By.XPATH, f"//button[contains(., {words!r})]").click()

                driver.get(owner)
                driver.find_element(By.ID, "open").click()
                wait_until(lambda: "Overview" in text(), "the owner's console")
                run = f"{driver.current_url.rstrip('/')}/runs/first-run"

                def asked() -> bool:
                    driver.get(run)
                    return "Approve first-run" in text()

                wait_until(asked, "what it asks for")
                press("Approve first-run")
                wait_until(lambda: "Nothing has left yet" in text(), "the question")
                press("Yes, approve")
                wait_until(lambda: "You need do nothing more" in text(), "the approval")
                driver.get(operator)
                driver.find_element(By.ID, "open").click()
                wait_until(lambda: "Overview" in text(), "the operator's console")
                home = driver.current_url.rstrip("/")

                def completed() -> bool:
                    driver.get(f"{home}/runs/first-run")
                    return "COMPLETED" in text()

                wait_until(completed, "the end of the run")
        finally:
            practice.send_signal(signal.SIGINT)
            assert "Everything has ended" in practice.stdout.read()
    (run,) = Path("try/curator").glob("**/run.json")
    privacy = json.loads(run.with_name("privacy.json").read_text())
    assert SIMULATION in json.dumps(privacy)
    assert here(tmp_path, "privity population list").stdout == before
    assert "try exists already" in here(tmp_path, "privity practice try").stderr
