"""Requests to an open page over the DevTools protocol, each with a time limit."""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from nwx.quality.browser.page_watch import PageWatch

if TYPE_CHECKING:
    from playwright.async_api import CDPSession


MOST_REPORTS = 50
"""Reports of each kind that a document may send."""

MOST_LOGGED = 1_000
"""Messages of each level that a document may write to the console."""

_GUARDS = """(() => {
  const report = globalThis[NAME];
  const counts = Object.create(null);
  const tell = (kind, detail) => {
    counts[kind] = (counts[kind] || 0) + 1;
    if (report && counts[kind] <= MOST) {
      try { report(kind, String(detail === undefined ? "" : detail).slice(0, 2000)); } catch (e) {}
    }
  };
  const put = (on, name, value) => {
    try { Object.defineProperty(on, name, {value, writable: true, configurable: true}); }
    catch (e) {}
  };
  const refused = (kind) => function (where) {
    tell(kind, where);
    throw new DOMException("not allowed while rendering", "NotSupportedError");
  };
  put(globalThis, "open", function (where) { tell("popups", where); return null; });
  put(globalThis, "print", function () { tell("prints"); });
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"])
    if (name in globalThis) put(globalThis, name, refused("webrtc"));
  const counted = (base) => new Proxy(base, {construct(of, given, as) {
    tell("sockets", given[0]);
    return Reflect.construct(of, given, as);
  }});
  if ("WebSocket" in globalThis) {
    let socket = counted(globalThis.WebSocket);
    Object.defineProperty(globalThis, "WebSocket", {configurable: true, get: () => socket,
      set(value) { socket = typeof value === "function" ? counted(value) : value; }});
  }
  for (const name of ["debug", "error", "info", "log", "trace", "warn"]) {
    const write = console[name];
    let lines = 0;
    put(console, name, function (...given) {
      if (++lines > MOST_LINES) return;
      write.apply(console, given.slice(0, 10).map(
        (each) => typeof each === "string" ? each.slice(0, 2000) : each));
    });
  }
  if ("WebTransport" in globalThis) put(globalThis, "WebTransport", refused("sockets"));
  if (globalThis.ServiceWorkerContainer)
    put(ServiceWorkerContainer.prototype, "register", function (where) {
      tell("service_workers", where);
      return Promise.reject(new DOMException("not allowed while rendering", "SecurityError"));
    });
  globalThis.addEventListener("securitypolicyviolation", (event) => {
    if (event.isTrusted) tell("blocked", event.blockedURI);
  }, true);
})();"""

UNFRAMED = """(() => {
  if (window !== window.top) return;
  let known, framed = false;
  const fixed = (get) => ({get, set() {}, configurable: true, enumerable: true});
  Object.defineProperty(window, "wbinfo", {configurable: true, get: () => known, set(info) {
    if (info && typeof info === "object") {
      let options;
      Object.defineProperty(info, "top_url", fixed(() => undefined));
      Object.defineProperty(info, "is_framed", fixed(() => framed));
      Object.defineProperty(info, "wombat_opts", {configurable: true, get: () => options,
        set(value) { options = value; queueMicrotask(() => { framed = true; }); }});
    }
    known = info;
  }});
})();"""
"""Keeps pywb's scripts from looking for the frame around a capture, which is missing.

They would replace the page by that frame. Once they have started, `is_framed` is true: by that,
frames within the page recognize it as their top.
"""

_OF_BROWSER = """
  const of = (kind, name, one) => Reflect.get(kind.prototype, name, one);
  const root = of(Document, "scrollingElement", document)
    || of(Document, "documentElement", document);
"""
"""Reads properties from prototypes: elements of the page may shadow their names."""

READY_STATE = "Reflect.get(Document.prototype, 'readyState', document)"

PAGE_SIZE = f"""(() => {{{_OF_BROWSER}
  const all = Document.prototype.getElementsByTagName.call(document, "*");
  return root ? [of(Element, "scrollWidth", root), of(Element, "scrollHeight", root), all.length]
              : [0, 0, 0];
}})()"""

SCROLL = f"""(() => {{{_OF_BROWSER}
  if (!root) return true;
  const before = of(Element, "scrollTop", root);
  window.scrollBy({{top: window.innerHeight, behavior: "instant"}});
  return of(Element, "scrollTop", root) <= before;
}})()"""

SCROLL_BACK = "window.scrollTo({top: 0, left: 0, behavior: 'instant'})"

_DOM = f"""(() => {{{_OF_BROWSER}
  const type = of(Document, "doctype", document);
  const whole = of(Document, "documentElement", document);
  return ((type ? "<!DOCTYPE " + type.name + ">" : "")
    + (whole ? of(Element, "outerHTML", whole) : "")).slice(0, MOST);
}})()"""

TITLE = "Reflect.get(Document.prototype, 'title', document).slice(0, 1000)"


def guard_script(name: str) -> str:
    """Return the script run first in every document; it reports through the binding `name`."""
    values = {"NAME": json.dumps(name), "MOST_LINES": MOST_LOGGED, "MOST": MOST_REPORTS}
    script = _GUARDS
    for word, value in values.items():
        script = script.replace(word, str(value))
    return script


def dom_script(most_characters: int) -> str:
    """Return the script that reads the DOM as HTML, cut off at `most_characters`."""
    return _DOM.replace("MOST", str(most_characters))


_TEXT, _ELEMENT = 3, 1
_SKIPPED = frozenset(("SCRIPT", "STYLE", "HEADER", "FOOTER", "BANNER-DIV", "NOSCRIPT", "TITLE"))


def snapshot_text(snapshot: dict[str, Any], most_characters: int) -> str:
    """Return the text nodes of all documents of a DOMSnapshot, one per line.

    Text directly inside elements without page text is left out, as in Browsertrix.
    """
    strings = snapshot["strings"]
    lines: list[str] = []
    length = 0
    for document in snapshot["documents"]:
        nodes = document["nodes"]
        names, kinds, parents = nodes["nodeName"], nodes["nodeType"], nodes["parentIndex"]
        for index, value in enumerate(nodes["nodeValue"]):
            if value < 0 or kinds[index] != _TEXT:
                continue
            parent = parents[index]
            if parent < 0 or kinds[parent] != _ELEMENT or strings[names[parent]] in _SKIPPED:
                continue
            line = strings[value].strip()
            if line:
                lines.append(line)
                length += len(line) + 1
            if length > most_characters:
                return "\n".join(lines)[:most_characters]
    return "\n".join(lines)


STEP_SECONDS = 15.0
GLANCE_SECONDS = 0.1
_WORLD = "nwx"
_CLEAR = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}

_Result = TypeVar("_Result")


class LeavePageError(Exception):
    """The page must be left; its watch has the reason."""


class Deadline:
    """The time limit of a page, which a problem of its watch ends early."""

    def __init__(self, watch: PageWatch, seconds: float) -> None:
        self._watch = watch
        self.began = time.monotonic()
        self.until = self.began + seconds

    async def step(self, work: Awaitable[_Result], seconds: float = STEP_SECONDS) -> _Result:
        """Return the result of `work`; raises LeavePageError on a timeout or problem."""
        running = asyncio.ensure_future(work)
        running.add_done_callback(ignore_error)
        until = min(time.monotonic() + seconds, self.until)
        while not running.done():
            if time.monotonic() > until:
                self._watch.leave("timeout")
            if self._watch.problem:
                running.cancel()
                raise LeavePageError
            await asyncio.wait([running], timeout=GLANCE_SECONDS)
        return running.result()


class PageSession:
    """Scripts in an isolated world, which the page cannot reach, snapshots and screenshots."""

    def __init__(self, session: "CDPSession", deadline: Deadline) -> None:
        self._session = session
        self._deadline = deadline
        self._world: int | None = None

    async def send(
        self, method: str, given: dict[str, Any] | None = None, seconds: float = STEP_SECONDS
    ) -> dict[str, Any]:
        """Return the answer to a command."""
        sent = self._session.send(method, given or {})
        answer: dict[str, Any] = await self._deadline.step(sent, seconds)
        return answer

    async def evaluate(self, script: str, seconds: float = STEP_SECONDS) -> Any:
        """Return the value of a script, None if the page is just navigating."""
        from playwright.async_api import Error

        for _ in range(2):
            try:
                if self._world is None:
                    self._world = await self._new_world(seconds)
                asked = {
                    "expression": script,
                    "contextId": self._world,
                    "returnByValue": True,
                    "timeout": seconds * 1_000,
                }
                answer = await self.send("Runtime.evaluate", asked, seconds)
            except Error as error:
                if "Protocol error" not in str(error):
                    raise
                self._world = None  # its document is gone
            else:
                return answer.get("result", {}).get("value")
        return None

    async def _new_world(self, seconds: float) -> int:
        tree = await self.send("Page.getFrameTree", seconds=seconds)
        frame = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": _WORLD}
        world = await self.send("Page.createIsolatedWorld", frame, seconds)
        return int(world["executionContextId"])

    async def screenshot(
        self, size: tuple[int, int] | None = None, seconds: float = STEP_SECONDS
    ) -> bytes:
        """Return the viewport as PNG, or the page's top `size`; the background is transparent."""
        asked: dict[str, Any] = {"format": "png"}
        if size is not None:
            asked["captureBeyondViewport"] = True
            asked["clip"] = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        await self.send("Emulation.setDefaultBackgroundColorOverride", _CLEAR, seconds)
        taken = await self.send("Page.captureScreenshot", asked, seconds)
        await self.send("Emulation.setDefaultBackgroundColorOverride")
        return base64.b64decode(taken["data"])


def ignore_error(done: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of a future that nobody awaits, so that asyncio logs none."""
    if not done.cancelled():
        done.exception()
