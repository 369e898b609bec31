"""An operator and three owners at their consoles in Debian's chromium, by keyboard alone, over real nodes.

Every page is looked at with axe, on a phone and on a desk, in light and in dark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from privity.common.exit_codes import Exit
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from tests.harness import browser
from tests.harness.command import here, wait_until
from tests.harness.founding import found
from tests.harness.walkthrough import PARTIES, Background, free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.process,
    pytest.mark.external,
    pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}"),
]

RUN = "--config operator/operator.toml --algorithm one-way --secure-sum masks --tolerate 1 --epsilon 0.1"
PAGES = ("", "runs", "runs/winter", "ledger", "releases", "node", "log", "nothing-here")
PEOPLE = "patients of the north"
TABS = 80


class Owners:
    """Three owners' consoles in one browser, and what their consortium does meanwhile."""

    def __init__(self, place: Path, nodes: Background, driver: webdriver.Chrome) -> None:
        self.place, self.driver, self._nodes = place, driver, nodes
        self.consoles: dict[str, str] = {}

    def opens(self, who: str, role: str = "party") -> None:
        """An owner, or the operator, starts a console, and opens its link."""
        known = self._nodes.logs().count("link=")
        self._nodes.start(f"privity {role} console --config {who}/{role}.toml")
        wait_until(lambda: self._nodes.logs().count("link=") > known, f"the console of {who}")
        link = re.findall(r"http://\S+link=\S+", self._nodes.logs())[-1]
        self.driver.get(link)
        # As a page of elsewhere leads there, and a second time: nobody but the button uses it up.
        self.driver.get(f'data:text/html,<meta http-equiv="refresh" content="0; url={link}">')
        self.sees("in this browser, and then in no other")
        self.is_at("open")
        self.looks_at_this()
        self.presses(Keys.ENTER)
        self.sees("Overview", "As of")
        self.consoles[who] = self.driver.current_url

    def looks_at(self, who: str, *pages: str) -> None:
        """Pages of a console by axe, in light and in dark, and on a phone; they ask for nothing from elsewhere."""
        for page in pages:
            self.driver.get(self.consoles[who] + page)
            self.looks_at_this()
        asked = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
        assert not [url for url in urls if not url.startswith(("http://127.0.0.1:", "chrome://", "data:"))]

    def looks_at_this(self) -> None:
        """The page that is shown by axe, in light and in dark, and on a phone."""
        page = self.driver.title
        for dark in (False, True):
            browser.dark(self.driver, dark)
            assert not browser.axe_faults(self.driver), page
        browser.dark(self.driver, False)
        browser.width(self.driver, 400)
        assert not browser.is_too_wide(self.driver), page
        browser.width(self.driver, browser.WIDE)

    def sees(self, *words: str) -> None:
        for text in words:
            wait_until(lambda text=text: text in self.text(), f"{text!r} in: {self.text()}")

    def text(self) -> str:
        return str(self.driver.execute_script("return document.body ? document.body.innerText : ''"))

    def presses(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def tabs_to(self, name: str) -> None:
        """Press Tab until what has this name for a screen reader has the focus."""
        for _ in range(TABS):
            self.presses(Keys.TAB)
            at = self.driver.switch_to.active_element
            if name in (at.accessible_name, at.text):
                outline = self.driver.execute_script("return getComputedStyle(arguments[0]).outlineStyle", at)
                assert outline != "none", "the focus shows"
                return
        raise AssertionError(f"no way to {name!r} by keyboard in: {self.text()}")

    def goes(self, name: str) -> None:
        self.tabs_to(name)
        self.presses(Keys.ENTER)

    def fills(self, name: str, text: str) -> None:
        """Write into a field, in the place of what stands there."""
        self.tabs_to(name)
        self.types(text)

    def types(self, text: str) -> None:
        """Write into the field that has the focus, in the place of what stands there."""
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(text).perform()

    def is_at(self, name: str) -> None:
        """The field of this name has the focus, without a key."""
        wait_until(lambda: self.driver.switch_to.active_element.get_attribute("id") == name, f"the focus on {name}")

    def operator(self, command: str) -> str:
        done = here(self.place, command)
        assert done.returncode == Exit.DONE, done.stderr
        return done.stdout


@pytest.fixture
def owners(tmp_path: Path) -> Iterator[Owners]:
    port = free_port()
    found(tmp_path, f"localhost:{port}")
    for party in PARTIES:
        policy = tmp_path / party / "policy.toml"
        text = policy.read_text().replace('approval = "by-policy"', 'approval = "manual"')
        sums = 'minimum_parties = 3\nsecure_sums = ["paillier", "masks"]'
        policy.write_text(text.replace("minimum_parties = 3", sums))
    with Background(tmp_path) as nodes, browser.chromium(tmp_path / "profile") as driver:
        nodes.start("privity curator serve --config curator/curator.toml")
        wait_until(lambda: "the curator serves" in nodes.logs(), "the curator")
        for party in PARTIES:
            nodes.start(f"privity party serve --config {party}/party.toml")
        wait_until(lambda: nodes.logs().count("connected to the curator") == len(PARTIES), "the parties")
        yield Owners(tmp_path, nodes, driver)


def test_owners_read_reject_approve_and_fetch_without_a_shell(owners: Owners) -> None:
    driver = owners.driver
    owners.opens("operator", "operator")
    owners.sees("north", "south", "east", "Version")
    assert "never heard of" not in owners.text()
    owners.goes("Plan a new run")
    owners.fills("Budgets to compare (epsilon)", "0.1, 2")
    owners.tabs_to("Algorithm")
    owners.presses("one-way")
    owners.tabs_to("How sums are taken")
    owners.presses("masks")
    owners.fills("Name of the run", "winter run")
    owners.goes("Compare")
    owners.sees("Some of it cannot be")
    owners.is_at("name")
    owners.types("winter")
    owners.presses(Keys.ENTER)
    owners.sees("north: epsilon 2 is above 1 a run", "Parties that would refuse")
    plan = driver.current_url
    owners.goes("Submit at epsilon 0.1")
    owners.sees("Submitted.", "the approval of its owner")
    owners.looks_at("operator", "", "runs", "runs/winter", "new", "log", plan.partition(owners.consoles["operator"])[2])

    owners.opens("north")
    # What waits comes to the page by itself.
    owners.sees("winter", "It would cost epsilon 0.1 of the 1 that are left")
    owners.goes("Read what winter asks for, and decide")
    owners.sees("This run would take 0.1 of the 1 that are left of 1.", "factor of at most 1.11;")
    owners.sees("Exactly: what leaves this party", "If you say nothing")
    owners.tabs_to("Reason, if you like")
    owners.presses(*"not before the board has met")
    owners.goes("Reject winter")
    owners.sees("Rejected.", "Rejected by you", "not before the board has met")
    driver.get(f"{owners.consoles['operator']}runs/winter")
    owners.sees("winter is FAILED", "not before the board has met")

    owners.operator(f"privity run submit {RUN} --name spring")
    for party in PARTIES:
        if party not in owners.consoles:
            owners.opens(party)
        driver.get(owners.consoles[party])
        owners.sees("spring")
        owners.goes("Read what spring asks for, and decide")
        owners.goes("Approve spring")
        owners.sees("Approve spring?", "Up to 0.1")
        owners.looks_at_this()
        owners.goes("Yes, approve spring")
        owners.sees("Approved.")
    # The page of a run follows it to its end.
    owners.sees("Finished on")
    driver.get(owners.consoles["north"])
    owners.goes("Releases")
    owners.goes("Fetch spring")
    owners.sees("Read the report of spring")
    owners.goes("Read the report of spring")
    console, report = driver.current_window_handle, wait_for_second(driver)
    driver.switch_to.window(report)
    owners.sees("Synthetic")
    driver.close()
    driver.switch_to.window(console)
    assert (owners.place / "north" / "releases" / "spring" / "synthetic.csv").exists()

    stops_resumes_and_discards(owners)
    changes_the_budget(owners)
    tightens_the_policy(owners)
    renews_the_certificate(owners)
    owners.looks_at("north", *PAGES)
    complaints = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    # Of pages that say what is wrong.
    wrong = ("nothing-here", "/new/plan", "/discard", "/budget/change")
    assert not [line for line in complaints if not any(place in line for place in wrong)]

    driver.get(owners.consoles["north"])
    driver.execute_script("document.querySelector('main').focus()")
    owners.goes("Close the console")
    owners.sees("The console is closed.")
    assert not driver.find_elements(By.TAG_NAME, "form")


def wait_for_second(driver: webdriver.Chrome) -> str:
    """The window that was opened beside the first."""
    wait_until(lambda: len(driver.window_handles) == 2, "a second window")
    return str(driver.window_handles[1])


def stops_resumes_and_discards(owners: Owners) -> None:
    """The operator, a run that waits for its owners."""
    owners.operator(f"privity run submit {RUN} --name summer")
    owners.driver.get(f"{owners.consoles['operator']}runs/summer")
    owners.sees("Who is awaited", "the approval of its owner", "Submitted")
    owners.goes("Stop summer")
    owners.sees("Stopped.", "STOPPED")
    owners.goes("Resume summer")
    owners.sees("It goes on.", "Stop summer")
    owners.goes("Discard summer")
    owners.sees("Not discarded yet.", "If it is meant, tick the box.")
    owners.is_at("sure")
    owners.looks_at_this()
    owners.presses(Keys.SPACE)
    owners.goes("Discard summer")
    owners.sees("Discarded for good.", "DISCARDED")


def changes_the_budget(owners: Owners) -> None:
    """An owner returns what a run that is gone reserved, and raises the total."""
    with closing(open_ledger(PEOPLE)) as book:
        book.reserve("lost", ApproxDP(Fraction(1, 2), Fraction(0), RELATION), "north")
    owners.driver.get(owners.consoles["north"])
    owners.goes("Budget")
    owners.sees("reserved by runs under way: 0.5", "left: 0.4 of 1", "epsilon 0.5 reserved by lost")
    owners.looks_at_this()
    owners.goes("Return what lost has reserved")
    owners.sees("What the run had reserved is returned", "left: 0.9 of 1")
    owners.fills("Total of epsilon", "a lot")
    owners.presses(Keys.ENTER)
    owners.sees("Nothing was changed.", "is not a positive number")
    owners.is_at("total_epsilon")
    owners.looks_at_this()
    owners.types("2")
    owners.presses(Keys.ENTER)
    owners.sees("Raise the total?", "it would be epsilon 2")
    owners.goes("Raise the total")
    owners.sees("The total is changed", "left: 1.9 of 2")


def tightens_the_policy(owners: Owners) -> None:
    """An owner lowers a limit after a look at which past runs it would have refused."""
    file = owners.place / "north" / "policy.toml"
    before = file.read_text()
    owners.goes("Policy")
    owners.fills("Most one run may cost (epsilon)", "0.05")
    owners.presses(Keys.ENTER)
    owners.sees(
        "Preview: nothing is written yet", "would have refused these", "spring: epsilon 0.1 is above 0.05 a run"
    )
    owners.looks_at_this()
    assert file.read_text() == before
    owners.goes("Save these limits")
    owners.sees("The policy is written")
    assert "# The most epsilon that one run may cost one of these people, exact." in before
    assert file.read_text() == before.replace('epsilon_per_run = "1"', 'epsilon_per_run = "0.05"')


def renews_the_certificate(owners: Owners) -> None:
    """An owner, with new keys besides."""
    owners.goes("Is all well? Keys")
    owners.looks_at_this()
    owners.goes("Look at everything")
    owners.sees("What the doctor found", "answers and accepts this certificate")
    owners.looks_at_this()
    owners.tabs_to("new keys for signing and sealing, too (if they may have become known to somebody)")
    owners.presses(Keys.SPACE)
    owners.goes("Make a new certificate")
    owners.sees("New keys are made.", "wait for the organiser")
    owners.tabs_to("the answer with the new public keys")
    assert (owners.place / "north" / "next" / "keys").is_dir()
