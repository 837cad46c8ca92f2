"""The browser of this machine."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from nwx.bulk.resources import temporary_folder
from nwx.errors import UsageError
from nwx.settings import VARIABLES

NAMES = ("chromium", "chromium-browser", "google-chrome")
_NEEDED = ("playwright", "psutil")
_PROBE_SECONDS = 30
_INSTALL = "pip install 'nwx[browser]'"


def browser_path(asked: str = "") -> str:
    """Return the path of a Chromium: the one asked for, "" for that on the PATH.

    Raises UsageError where there is none, or where the libraries are missing.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"pages are rendered with {' and '.join(missing)}: {_INSTALL}")
    if asked:
        named = shutil.which(asked)
        if not named:
            raise UsageError(f"there is no browser at {asked}; name a Chromium that can be run")
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise UsageError(
            f"there is no browser: none of {', '.join(NAMES)} is on the PATH;"
            " install one (apt install chromium),"
            f" or set {VARIABLES['browser']} or --browser to its path"
        )
    return found


def has_sandbox(browser: str) -> bool:
    """Return whether a browser can be run with its sandbox here: not as root, nor everywhere."""
    if os.geteuid() == 0:
        return False
    with temporary_folder() as folder:
        command = [browser, "--headless", "--disable-gpu", f"--user-data-dir={folder}"]
        try:
            done = subprocess.run(
                [*command, "--dump-dom", "about:blank"],
                env=os.environ | {"HOME": str(Path(folder))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0
