"""The site: built without a warning, every link leads somewhere, read in Debian's chromium on a desk and on a phone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from docs.site.building import build
from docs.site.checking import broken_references
from docs.site.staging import navigation
from privity.common.errors import Catalogue
from tests.harness import browser
from tests.harness.long import thinned

pytestmark = [
    pytest.mark.long,
    pytest.mark.process,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),  # Sphinx of MyST
]
needs_browser = pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}")

DESK, PHONE = 1280, 400
SHORT = ("index", "tutorials/one_owner", "concepts/index", "reference/forms/policy", "glossary")
LARGE = (
    "algorithms/pictures",
    "privacy",
    "reference/api",
    "reference/commands",
    "reference/errors",
    "formats",
    "benchmarks/index",
    "code/common/privacy/ledger.py",
)
"""Pages of every kind. The rules of accessibility take longer on large ones."""
WAYS = [(DESK, False), (PHONE, True)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once: the faults that the build reports are written beside it."""
    folder = tmp_path_factory.mktemp("site") / "html"
    faults = build(folder)
    (folder.parent / "faults.json").write_text(json.dumps(faults), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with browser.chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_it_is_built_without_a_warning_and_without_a_broken_link(site: Path) -> None:
    assert json.loads((site.parent / "faults.json").read_text(encoding="utf-8")) == []
    assert all((site / f"{page}.html").exists() for page in (*SHORT, *LARGE))


def test_every_section_and_every_error_is_on_it(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    assert all(section["title"] in front for section in navigation())
    errors = (site / "reference" / "errors.html").read_text(encoding="utf-8")
    assert all(f'id="{kind.value.code}"' in errors for kind in Catalogue)


def test_a_broken_reference_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="gone.html">x</a><a href="a.html#gone">x</a><a href="a.html#here" id="here">x</a>'
        '<a href="https://example.org/">x</a><script src="https://example.org/x.js"></script>',
        encoding="utf-8",
    )
    assert broken_references(tmp_path) == [
        "a.html: a.html#gone: there is no such place on the page",
        "a.html: gone.html: there is no such file",
        "a.html: https://example.org/x.js: fetched from another host",
    ]


@pytest.mark.parametrize(
    ("page", "pixels", "night"),
    [
        *thinned(((page, *way) for page in SHORT for way in WAYS), 3),
        *(pytest.param(page, *way, marks=pytest.mark.long) for page in LARGE for way in WAYS),
    ],
)
@pytest.mark.external
@needs_browser
def test_a_page_is_read(site: Path, driver: webdriver.Chrome, page: str, pixels: int, night: bool) -> None:
    browser.width(driver, pixels)
    browser.dark(driver, night)
    driver.get((site / f"{page}.html").as_uri())
    assert not browser.is_too_wide(driver)
    assert browser.axe_faults(driver) == []
    browser.dark(driver, False)


@pytest.mark.external
@needs_browser
def test_the_search_answers_from_disk_and_nothing_asks_another_host(site: Path, driver: webdriver.Chrome) -> None:
    driver.get_log("performance")
    driver.get((site / "search.html").as_uri() + "?q=budget-exhausted")
    until = time.monotonic() + 60
    while not driver.find_elements("css selector", "#search-results li a") and time.monotonic() < until:
        time.sleep(0.1)
    found = [link.get_attribute("href") for link in driver.find_elements("css selector", "#search-results li a")]
    assert any("reference/errors.html" in str(link) for link in found)
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert asked
    assert {url.split(":")[0] for url in asked} <= {"file", "data"}
