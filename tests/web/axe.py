"""The rules of axe-core and other requirements of each page, in light, in dark and at 320 px."""

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import BrowserContext, Page, ViewportSize

WIDE: ViewportSize = {"width": 1200, "height": 900}
NARROW: ViewportSize = {"width": 320, "height": 640}
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_FAULTS = """async ([options, left]) => {
  const found = await axe.run({include: document, exclude: ["#replay_iframe", ...left]}, options);
  return found.violations.map((one) => `${one.id}: ${one.nodes.length} of ${one.help}: `
    + one.nodes.slice(0, 4).map((node) => node.html.slice(0, 160)).join(" | "));
}"""
_RULES = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
_BUT_COLOURS = _RULES | {"rules": {"color-contrast": {"enabled": False}}}
_COLOURS = {
    "runOnly": {"type": "rule", "values": ["color-contrast"]},
    "resultTypes": ["violations"],
}
"""This rule takes most of the time, so it runs separately."""

_MARK_REPEATED = """() => {
  const paths = new Map(), seen = new Map();
  for (const one of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(one);
    const path = [paths.get(one.parentElement), one.tagName, one.className, style.color,
      style.opacity, style.background, style.fontSize, style.fontWeight, style.position].join();
    paths.set(one, path);
    const isText = !one.children.length && one.textContent.trim() !== "";
    seen.set(path, (seen.get(path) || 0) + isText);
    one.toggleAttribute("data-repeated", isText && seen.get(path) > 2);
  }
}"""
"""Marks texts that look like two earlier ones, ancestors included, such as in rows of a table."""

_WIDER = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  return [...document.body.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > room + 1)
    .map((one) => one.outerHTML.slice(0, 120));
}"""


def load_axe(context: BrowserContext) -> None:
    """Load axe-core into the pages of a context, regardless of their content security policy."""
    context.add_init_script(path=AXE_FILE_PATH)


def colour_faults(page: Page) -> list[str]:
    """Return the texts with too little contrast; of similar ones only two are checked."""
    page.evaluate(_MARK_REPEATED)
    return list(page.evaluate(_FAULTS, [_COLOURS, ["[data-repeated]"]]))


def _other_faults(page: Page) -> list[str]:
    return list(page.evaluate(_FAULTS, [_BUT_COLOURS, []]))


def check_modes(page: Page) -> None:
    """Check an open page in light, in dark, and at 320 px, where nothing may overflow."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    assert _other_faults(page) + colour_faults(page) == [], "light"
    page.emulate_media(color_scheme="dark")
    assert colour_faults(page) == [], "dark"
    page.set_viewport_size(NARROW)
    assert _other_faults(page) == [], "320 px"
    assert page.evaluate(_WIDER) == [], "wider than 320 px"
