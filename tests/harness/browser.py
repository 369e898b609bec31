"""A headless chromium (Debian's) that opens pages from disk."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import axe_core_python
from selenium import webdriver

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
WIDE, HIGH = 1280, 900
BROWSER, DRIVER = "chromium", "chromedriver"


def missing() -> str:
    """Which of the two programs is not there; empty if both are."""
    return ", ".join(name for name in (BROWSER, DRIVER) if shutil.which(name) is None)


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser of its own for some pages, which may reach nothing but files."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which(BROWSER))
    for argument in (
        "--headless=new",
        "--no-sandbox",  # CI runs as root, where there is none
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        f"--user-data-dir={profile}",
        f"--window-size={WIDE},{HIGH}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def zoom(driver: webdriver.Chrome, times: float) -> None:
    """As if a reader zoomed in: the page has so many times fewer pixels of its own."""
    size = {"width": round(WIDE / times), "height": round(HIGH / times), "deviceScaleFactor": times, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def screenshot(driver: webdriver.Chrome, path: Path, *, most: int = 6000) -> None:
    """A picture of the page from its top, at most so many of its pixels high."""
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    path.write_bytes(base64.b64decode(taken["data"]))


def axe_faults(driver: webdriver.Chrome) -> list[Any]:
    """What axe finds against the page by the rules of WCAG 2.1 AA and good practice: (rule, first elements)."""
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"], "resultTypes": ["violations"]}
    found = driver.execute_async_script(
        "const [rules, done] = arguments; axe.run(document, rules).then(done, error => done(String(error)))", rules
    )
    assert len(found["passes"]) > 10
    return [(v["id"], [node["html"][:200] for node in v["nodes"]][:3]) for v in found["violations"]]


def dark(driver: webdriver.Chrome, wanted: bool) -> None:
    """As for a reader who prefers a dark page, or a light one."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def width(driver: webdriver.Chrome, pixels: int) -> None:
    """A window that is so wide, as a phone's or a desk's is."""
    size = {"width": pixels, "height": HIGH, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def is_too_wide(driver: webdriver.Chrome) -> bool:
    """Whether a reader has to scroll sideways."""
    return bool(driver.execute_script("return document.documentElement.scrollWidth > window.innerWidth"))


def printed(driver: webdriver.Chrome, path: Path) -> None:
    """The page as PDF, on A4."""
    paper: dict[str, Any] = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
    path.write_bytes(base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", paper)["data"]))
