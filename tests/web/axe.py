"""The rules of axe-core, and what else holds for each page, in light, in dark and at 320 px."""

from typing import Any

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import BrowserContext, Page, ViewportSize

WIDE: ViewportSize = {"width": 1200, "height": 900}
NARROW: ViewportSize = {"width": 320, "height": 640}
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_FAULTS = """async (options) => {
  const found = await axe.run({include: document, exclude: "#replay_iframe"}, options);
  return found.violations.map((one) => `${one.id}: ${one.nodes.length} of ${one.help}: `
    + one.nodes.slice(0, 4).map((node) => node.html.slice(0, 160)).join(" | "));
}"""
_ALL_RULES = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "resultTypes": ["violations"]}

_BUT_COLOURS = _ALL_RULES | {"rules": {"color-contrast": {"enabled": False}}}
"""For a phone, whose colours are those of wide pages: this rule takes most of the time."""

_WIDER = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  return [...document.body.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > room + 1)
    .map((one) => one.outerHTML.slice(0, 120));
}"""


def load_axe(context: BrowserContext) -> None:
    """Let the pages of a context know axe-core, whatever their policy forbids."""
    context.add_init_script(path=AXE_FILE_PATH)


def faults(page: Page, options: dict[str, Any]) -> list[str]:
    """Return what axe-core finds wrong with a page."""
    return list(page.evaluate(_FAULTS, options))


def check_modes(page: Page) -> None:
    """Check an open page in light, in dark, and at 320 px, where nothing may be wider."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    assert faults(page, _ALL_RULES) == [], "light"
    page.emulate_media(color_scheme="dark")
    assert faults(page, COLOURS) == [], "dark"
    page.set_viewport_size(NARROW)
    assert faults(page, _BUT_COLOURS) == [], "320 px"
    assert page.evaluate(_WIDER) == [], "wider than 320 px"
