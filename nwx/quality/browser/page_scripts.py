"""What runs in pages: scripts that close what must not open, and those that measure."""

import json

MOST_REPORTS = 50
"""Of each kind a document reports so many."""

MOST_LOGGED = 1_000
"""So many messages of each level a document may write to the console."""

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
"""Keeps pywb's scripts from looking for the frame around a capture, which is not there.

They would replace the page by that frame. Once they have begun, all is as if it
were there: frames within the page know it for their top by that.
"""

_OF_BROWSER = """
  const of = (kind, name, one) => Reflect.get(kind.prototype, name, one);
  const root = of(Document, "scrollingElement", document)
    || of(Document, "documentElement", document);
"""
"""Reads what the browser says: elements of the page may have the names of properties."""

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
    """Return the script that every document begins with; it reports through a binding `name`."""
    values = {"NAME": json.dumps(name), "MOST_LINES": MOST_LOGGED, "MOST": MOST_REPORTS}
    script = _GUARDS
    for word, value in values.items():
        script = script.replace(word, str(value))
    return script


def dom_script(most_characters: int) -> str:
    """Return the script that gives the DOM as HTML, cut where it is longer."""
    return _DOM.replace("MOST", str(most_characters))
