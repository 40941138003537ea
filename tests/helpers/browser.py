"""A headless Chromium, driven by selenium."""

import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BROWSERS = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
BROWSER, CHROMEDRIVER = next(filter(None, BROWSERS), None), shutil.which("chromedriver")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--in-process-gpu", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]


def skip_without_browser():
    """Skip the tests of a file, in one line that says what lacks."""
    if BROWSER is None or CHROMEDRIVER is None:
        pytest.skip(
            f"NO PAGE WAS OPENED IN A BROWSER: chromium is {BROWSER or 'not found'}, chromedriver "
            f"is {CHROMEDRIVER or 'not found'}; apt-get install chromium chromium-driver",
            allow_module_level=True,
        )


def started(folder):
    """A browser whose profile is in the folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS, f"--user-data-dir={folder}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # The driver is named, so that selenium looks for none and downloads none.
    return webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))


def look(driver, width=1400, media="screen", **features):
    """Look at the page with a width in pixels and features such as color_scheme="dark"."""
    features = {"reduced_motion": "reduce", **features}  # the driver cannot click what moves
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": media,
        "features": [
            {"name": f"prefers-{feature.replace('_', '-')}", "value": value}
            for feature, value in features.items()
        ],
    })
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False,
    })


def show(driver, url, *args, **kwargs):
    """Open a page, looked at as by `look`."""
    look(driver, *args, **kwargs)
    driver.get(url)
