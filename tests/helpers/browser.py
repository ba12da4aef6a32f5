"""A headless Chromium that a test drives; what is missing is the reason to skip."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OWN = ("chrome:", "chrome-untrusted:")  # Chromium's own pages, as that of a new tab
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def chromium(profile: Path, width: int = 1280, height: int = 800) -> Iterator[Any]:
    """A driver of selenium's, with an empty profile in the folder ``profile``."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        pytest.skip("needs the programs chromium and chromedriver (Debian: chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: Any, width: int, height: int, *, phone: bool = False) -> None:
    """The page's own size, whatever the window's frame."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def complaints(driver: Any) -> list[str]:
    """What the console has said since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: Any) -> list[str]:
    """The addresses that pages have asked for since the last call, without Chromium's own."""
    entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
        and not entry["params"].get("documentURL", "").startswith(OWN)
    ]
