"""A headless Chromium, driven by selenium."""

import shutil
from importlib.util import find_spec

import pytest

BROWSERS = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
BROWSER, CHROMEDRIVER = next(filter(None, BROWSERS), None), shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def skip_without_browser():
    """Skip all tests of a file unless Chromium, its driver, selenium and axe are installed."""
    packages = all(map(find_spec, ("selenium", "selenium_axe_python")))
    if not (packages and BROWSER and CHROMEDRIVER):
        pytest.skip(
            'Tests in a browser need pip install "skgraded[test-all]" and apt-get install chromium '
            "chromium-driver",
            allow_module_level=True,
        )


def started(folder):
    """Start a browser whose profile is in the folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS, f"--user-data-dir={folder}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Without the path of a driver, selenium would download one.
    return webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))


def set_view(driver, width=1400, scheme="light"):
    """Set the width of the window in pixels, and the color scheme."""
    # The driver cannot click on elements that move, such as during smooth scrolling.
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {
            "media": "screen",
            "features": [{"name": name, "value": value} for name, value in features.items()],
        },
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": 900,
            "deviceScaleFactor": 1,
            "mobile": False,
        },
    )
