"""The pages of releases in Debian's chromium: no fault by axe's rules, read, walked by keyboard, at 200 %, printed.

One browser for all of them; pages are opened from disk.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from privity.common.data.schema import parse_schema
from privity.common.release.report.overview import overview
from privity.common.release.report.report_page import report_page
from tests.harness import browser
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}"),
]

NAMES = ["<script>document.title = 'broken'</script>", "long " * 40, "x" * 200, "عمر المريض", '😀 & "so" on']


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with browser.chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three parties' network, with warnings of all kinds that open and close."""
    folder = tmp_path_factory.mktemp("usual")
    schema = parse_schema({"name": "people", "fields": FIELDS}, "people")
    parties = {"north": 100, "south": 120, "west": 80}
    settings = {"inference": "tables"}
    release, synthetic = release_of(folder, "dp-subn", people(300), schema, "1.05", settings, parties)
    page = folder / "report.html"
    page.write_text(report_page(overview(release, synthetic.table)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A junction tree over attributes whose names would break a careless page."""
    folder = tmp_path_factory.mktemp("hostile")
    fields = [{"name": name, "type": "string", "categories": [*NAMES, "plain"]} for name in NAMES]
    schema = parse_schema({"name": NAMES[0], "fields": fields}, "s")
    frame = pd.DataFrame({name: [*NAMES, "plain"] * 40 for name in NAMES})
    release, synthetic = release_of(folder, "jtree", frame, schema, "10", parties={NAMES[2]: 100, NAMES[3]: 140})
    page = folder / "report.html"
    page.write_text(report_page(overview(release, synthetic.table)), encoding="utf-8")
    return page


@pytest.fixture(params=["usual", "hostile"])
def page(request: pytest.FixtureRequest, driver: webdriver.Chrome) -> webdriver.Chrome:
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    driver.execute_cdp_cmd("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    driver.get_log("performance")
    driver.get(request.getfixturevalue(request.param).as_uri())
    return driver


@pytest.mark.parametrize("is_dark", [False, True])
def test_axe_finds_no_fault(page: webdriver.Chrome, is_dark: bool) -> None:
    browser.dark(page, is_dark)
    page.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert not browser.axe_faults(page)


def test_the_page_asks_for_nothing_and_runs_nothing(page: webdriver.Chrome) -> None:
    log = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in log if m["method"] == "Network.requestWillBeSent"]
    assert asked == [page.current_url]
    assert page.title.startswith("Synthetic table of")
    assert not [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]


def test_the_page_is_walked_by_tab_and_what_has_the_focus_is_seen(page: webdriver.Chrome) -> None:
    expected = page.execute_script(
        "return [...document.querySelectorAll('a, summary, [tabindex=\"0\"]')].filter(e => e.checkVisibility())"
        ".map(e => e.tagName + e.textContent.slice(0, 40))"
    )
    walked, unseen = [], []
    for _ in expected:
        ActionChains(page).send_keys(Keys.TAB).perform()
        name, outline, height = page.execute_script(
            "const e = document.activeElement, box = e.getBoundingClientRect();"
            "return [e.tagName + e.textContent.slice(0, 40), getComputedStyle(e).outlineStyle,"
            " box.left >= 0 && box.bottom > 0 && box.top < innerHeight ? box.height : 0]"
        )
        walked.append(name)
        if outline == "none" or not height:
            unseen.append(name)
    assert walked == expected
    assert walked[0] == "ASkip to the content"
    assert not unseen


def test_a_detail_opens_by_keyboard(page: webdriver.Chrome) -> None:
    summary = page.execute_script("return document.querySelector('details:not([open]) > summary')")
    summary.send_keys(Keys.ENTER)
    assert page.execute_script("return arguments[0].parentElement.open", summary)


@pytest.mark.parametrize("pixels_wide", [400, 640, 800, 1280])
def test_only_regions_scroll_to_the_side(page: webdriver.Chrome, pixels_wide: int) -> None:
    """640 pixels are what a reader at 200 % has."""
    browser.width(page, pixels_wide)
    page.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert not browser.is_too_wide(page)
    beyond = page.execute_script(
        "return [...document.querySelectorAll('p, li, h1, h2, h3, h4, dd, summary, caption, td, th, svg')]"
        ".filter(e => e.checkVisibility() && !e.closest('.scroll, .skip'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 60))"
    )
    assert not beyond


BROKEN = """
const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, parent = node.parentElement;
  if (!parent.checkVisibility() || parent.closest('svg, style, .skip')) continue;
  for (const word of node.data.matchAll(/[^\\s-]+/g)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const parts = [...range.getClientRects()].filter(box => box.width > 0);
    let block = parent;
    while (getComputedStyle(block).display.startsWith('inline')) block = block.parentElement;
    const style = getComputedStyle(block);
    const room = block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const width = parts.reduce((sum, box) => sum + box.width, 0);
    if (new Set(parts.map(box => Math.round(box.top))).size > 1 && width <= room) found.push(word[0].slice(0, 60));
  }
}
return found;
"""
"""Words that stand on several lines though one has room for them; where a hyphen is, a line may end."""


@pytest.mark.parametrize("pixels_wide", [320, 400, 800, 1280])
def test_no_word_is_broken(page: webdriver.Chrome, pixels_wide: int) -> None:
    browser.width(page, pixels_wide)
    page.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert not page.execute_script(BROKEN)


def test_a_broken_word_is_found(page: webdriver.Chrome) -> None:
    page.execute_script("document.body.style.wordBreak = 'break-all'")
    browser.width(page, 400)
    assert len(page.execute_script(BROKEN)) > 20


def test_the_first_screen_answers_and_distributions_follow(driver: webdriver.Chrome, usual: Path) -> None:
    for pixels_wide, start in ((400, 3000), (800, 1800), (1280, 1450)):
        browser.width(driver, pixels_wide)
        driver.get(usual.as_uri())
        above, first = driver.execute_script(
            "return [document.querySelector('.stack').getBoundingClientRect().bottom,"
            " document.querySelector('svg.histogram:not(.key)').getBoundingClientRect().top]"
        )
        assert above < browser.HIGH
        assert first < start
    answers = driver.execute_script(
        "return [...document.querySelectorAll('.summary h2')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(answers) == 4
    assert max(answers) < browser.HIGH


def test_every_picture_says_in_words_what_it_shows(page: webdriver.Chrome) -> None:
    said = page.execute_script(
        "return [...document.querySelectorAll('svg:not([aria-hidden]), .stack')]"
        ".map(e => [e.getAttribute('role'), (e.getAttribute('aria-label') || '').length > 20])"
    )
    assert len(said) > 10
    assert all(each == ["img", True] for each in said)


def pixels(path: Path) -> np.ndarray:
    """Of a PNG: shape (height, width, 3), from 0 to 1."""
    return np.asarray(imread(path))[:, :, :3]


@pytest.mark.parametrize(("name", "times", "grey"), [("normal", 1, False), ("twice", 2, False), ("grey", 1, True)])
def test_pictures_of_the_page_are_not_blank(
    page: webdriver.Chrome, tmp_path: Path, name: str, times: int, grey: bool
) -> None:
    browser.zoom(page, times)
    if grey:
        page.execute_cdp_cmd("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"})
    browser.screenshot(page, tmp_path / f"{name}.png", most=1500 // times)
    seen = pixels(tmp_path / f"{name}.png")
    assert seen.shape[1] == browser.WIDE
    ink = (seen.max(axis=2) < 0.5).mean()
    assert 0.01 < ink < 0.5
    colours = (seen.max(axis=2) - seen.min(axis=2) > 0.15).mean()
    assert (colours < 1e-4) == grey


def test_on_paper_every_detail_is_open(page: webdriver.Chrome, tmp_path: Path) -> None:
    closed = page.execute_script(
        "return [...document.querySelectorAll('details:not([open])')].map(e => e.lastElementChild.checkVisibility())"
    )
    assert closed
    assert not any(closed)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    # What a closed detail hides is shown with the next frame.
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    hidden = page.execute_script(
        "return [...document.querySelectorAll('details')].filter(e =>"
        " !e.lastElementChild.checkVisibility({contentVisibilityAuto: true}))"
        ".map(e => e.textContent.slice(0, 60))"
    )
    assert not hidden
    browser.printed(page, tmp_path / "page.pdf")
    content = (tmp_path / "page.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") >= 4
    assert sum(len(text) for text in _streams(content)) > 50_000


def _streams(content: bytes) -> list[bytes]:
    """What the pages of a PDF draw."""
    found = []
    for part in content.split(b"stream\n")[1::2]:
        try:
            found.append(zlib.decompressobj().decompress(part))
        except zlib.error:
            continue
    return found


def test_the_text_is_read_in_its_order(driver: webdriver.Chrome, usual: Path) -> None:
    driver.get(usual.as_uri())
    text = driver.execute_script("return document.body.innerText")
    order = [
        "A simulation of 3 data owners published",
        "How good is it?",
        "within 1 percentage point",
        "right in at most",
        "What not to use it for",
        "Yes, on two conditions",
        "Each share is within",
        "By attribute, the others it may be studied with",
        "The strongest pairs",
        "Noisy marginals by phase",
        "A Bayesian network",
        "Whoever reads this release",
        "What it rests on",
        "What it does not protect",
        "The guarantee in full",
        "Epsilon by party and phase",
        "Where it comes from",
        "Who published",
        "synthetic.csv",
        "By phase, all parties together",
        "privity simulate --data TABLE",
    ]
    place = 0
    for words in order:
        place = text.index(words, place)
