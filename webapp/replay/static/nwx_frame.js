(function () {
  var frame = document.getElementById("replay_iframe").dataset;
  var language = document.documentElement.lang;
  var shown = { url: frame.url, timestamp: frame.timestamp };
  var captures = parsed(frame.captures);
  var zoom = byId("zoom");

  function byId(name) { return document.getElementById("nwx-" + name); }
  // Captures come as "20130302221510+ …", with a plus where the content changed.
  function parsed(text) {
    return (text.match(/\d{14}\+?/g) || []).map(function (one) {
      return { timestamp: one.slice(0, 14), changed: one.length > 14 };
    });
  }
  function address(path, values) { return frame.search + path + "?" + new URLSearchParams(values); }
  function moment(t) {
    return new Date(Date.UTC(+t.slice(0, 4), (+t.slice(4, 6) || 1) - 1, +t.slice(6, 8) || 1, +t.slice(8, 10), +t.slice(10, 12)));
  }
  function words(date, options) {
    return new Intl.DateTimeFormat(language, Object.assign({ timeZone: "UTC" }, options)).format(date);
  }
  function element(name, values, children) {
    var made = Object.assign(document.createElement(name), values);
    made.append.apply(made, children || []);
    return made;
  }

  // Archived pages send these messages, and they may lie: they only ever become text.
  function show(url, timestamp) {
    if (typeof url !== "string" || !/^\d{4,14}$/.test(timestamp || "")) return;
    var t = timestamp, here = { url: url, timestamp: t };
    var isOther = url !== shown.url;
    shown = here;
    byId("url").textContent = url;
    byId("time").textContent =
      t.slice(0, 4) + (t[4] ? "-" + t.slice(4, 6) : "") + (t[6] ? "-" + t.slice(6, 8) : "") +
      (t[11] ? " " + t.slice(8, 10) + ":" + t.slice(10, 12) : "");
    byId("document").href = address("/documents/of", here);
    byId("calendar").href = byId("document").href + "#captures";
    byId("permanent").href = frame.search + "/replay/" + t + "/" + url;
    byId("cite").href = address("/cite", { url: url, at: t });
    ["previous", "next"].forEach(function (step) {
      byId(step).href = address("/replay-step", { url: url, timestamp: t, to: step });
    });
    byId("languages").querySelectorAll("a").forEach(function (one) {
      one.href = "/nwx-language?" + new URLSearchParams({ to: one.lang, back: "/replay/" + t + "/" + url });
    });
    if (isOther) ask(url);
    else draw();
  }
  // No policy lets this page ask by itself: scripts of its own origin are all that it can load.
  function ask(url) {
    var script = element("script", { src: new URL("/nwx-captures?" + new URLSearchParams({ url: url }), location).href });
    script.onload = script.onerror = function () {
      if (shown.url === url) captures = parsed(window.nwxCaptures || "");
      window.nwxCaptures = "";
      script.remove();
      draw();
    };
    document.head.append(script);
  }

  function draw() {
    tellChange();
    zoomTo(shown.timestamp.slice(0, captures.length > 12 ? 4 : 0));
  }
  function tellChange() {
    var line = byId("changed"), at = captures.findLastIndex(function (one) { return one.timestamp <= shown.timestamp; });
    line.replaceChildren();
    if (at < 1) return;
    var first = at;
    while (first > 0 && !captures[first].changed) first--;
    var old = captures[Math.max(first - 1, 0)].timestamp, isNew = first === at;
    var label = (isNew ? line.dataset.changed : line.dataset.same) + " " +
      words(moment(isNew ? old : captures[first].timestamp), { dateStyle: "long" });
    if (!first) return line.append(label);
    line.append(element("a", { textContent: label, href: address("/documents/between", { url: shown.url, old: old, new: captures[first].timestamp }) }));
  }

  function within(prefix) {
    return captures.filter(function (one) { return one.timestamp.startsWith(prefix); });
  }
  function play(one) {
    return frame.search + "/replay/" + one.timestamp + "/" + shown.url;
  }
  function label(prefix) {
    if (prefix.length < 5) return prefix;
    return words(moment(prefix), prefix.length === 6 ? { month: "short" } : { day: "numeric" });
  }
  function counted(found) {
    return zoom.dataset.count.replace("#", found.length.toLocaleString(language));
  }
  // A button that zooms in, or a link where it stands for one capture.
  function place(prefix, children) {
    var found = within(prefix);
    var name = prefix.length < 5 ? prefix : words(moment(prefix), prefix.length === 6 ? { month: "long", year: "numeric" } : { dateStyle: "long" });
    var made = found.length === 1
      ? element("a", { href: play(found[0]) }, children)
      : element("button", { type: "button", disabled: !found.length, onclick: function () { zoomTo(prefix, true); } }, children);
    made.setAttribute("aria-label", name + ": " + counted(found));
    if (shown.timestamp.startsWith(prefix)) made.setAttribute("aria-current", "true");
    return made;
  }
  function keys(prefix) {
    var all = captures.map(function (one) { return +one.timestamp.slice(0, 4); });
    var first = all[0], count = all[all.length - 1] - first + 1;
    if (prefix.length === 4) { first = 1; count = 12; }
    if (prefix.length === 6) { first = 1; count = new Date(Date.UTC(+prefix.slice(0, 4), +prefix.slice(4), 0)).getUTCDate(); }
    var found = Array.from({ length: count }, function (_, number) {
      return prefix + String(first + number).padStart(prefix ? 2 : 4, "0");
    });
    return count > 80 ? found.filter(function (one) { return within(one).length; }) : found;
  }
  function bars(inside) {
    var counts = inside.map(function (one) { return within(one).length; });
    var most = Math.max.apply(null, counts);
    return element("div", { className: "nwx-bars" }, inside.map(function (one, number) {
      var bar = element("i");
      bar.style.height = counts[number] ? Math.max(4, Math.round(60 * counts[number] / most)) + "px" : "0";
      bar.ariaHidden = "true";
      return place(one, [bar, label(one)]);
    }));
  }
  function month(prefix, inside) {
    var names = Array.from({ length: 7 }, function (_, day) {
      return element("span", { textContent: words(new Date(Date.UTC(2024, 0, 1 + day)), { weekday: "short" }) });
    });
    var blank = Array.from({ length: (moment(prefix).getUTCDay() + 6) % 7 }, function () { return element("span"); });
    return element("div", { className: "nwx-month" }, names.concat(blank, inside.map(function (one) {
      return within(one).length ? place(one, [label(one)]) : element("span", { textContent: label(one) });
    })));
  }
  function times(found) {
    return element("p", { className: "nwx-times" }, found.slice(0, 200).map(function (one) {
      var text = words(moment(one.timestamp), { dateStyle: "medium", timeStyle: "short" });
      var link = element("a", { href: play(one), textContent: text + (one.changed ? " ●" : "") });
      if (one.timestamp === shown.timestamp) link.setAttribute("aria-current", "page");
      return link;
    }));
  }
  function zoomTo(prefix, takesFocus) {
    var found = within(prefix), crumbs = element("div", { className: "nwx-crumbs" });
    zoom.hidden = !captures.length;
    if (!found.length && prefix) return zoomTo("");
    ["", prefix.slice(0, 4), prefix.slice(0, 6)].forEach(function (part, depth) {
      if (depth && part.length <= (depth === 1 ? 0 : 4)) return;
      if (part === prefix && depth) return crumbs.append(element("strong", { textContent: part.slice(0, 4) + (depth > 1 ? " " + label(part) : "") }));
      crumbs.append(element("button", { type: "button", textContent: depth === 1 ? part : depth ? label(part) : zoom.dataset.all, onclick: function () { zoomTo(part, true); } }));
    });
    crumbs.append(counted(found));
    var inside = prefix.length < 8 && captures.length ? keys(prefix) : [];
    var drawn = [crumbs];
    if (inside.length) drawn.push(bars(inside));
    if (prefix.length === 6) drawn.push(month(prefix, inside));
    if (prefix.length > 5 || found.length <= 12) drawn.push(times(found));
    zoom.replaceChildren.apply(zoom, drawn);
    if (takesFocus) crumbs.querySelector("button").focus();
  }

  // Whether the bar is hidden is remembered, where the browser lets it.
  function hide(hidden) {
    byId("bar").hidden = hidden;
    byId("show").hidden = !hidden;
    try { localStorage.setItem("nwx-bar", hidden ? "hidden" : "shown"); } catch (error) { /* nothing is kept */ }
  }
  byId("hide").onclick = function () { hide(true); byId("show").focus(); };
  byId("show").onclick = function () { hide(false); byId("hide").focus(); };
  document.addEventListener("keydown", function (event) {
    var more = byId("more");
    if (event.key !== "Escape" || !more.open) return;
    more.open = false;
    more.querySelector("summary").focus();
  });
  try { if (localStorage.getItem("nwx-bar") === "hidden") hide(true); } catch (error) { /* shown */ }

  window.WBBanner = {
    init: function () { show(frame.url, frame.timestamp); draw(); },
    onMessage: function (event) {
      var state = event.data;
      if (state.wb_type === "load" || state.wb_type === "replace-url") show(state.url, state.ts);
      if (state.wb_type === "title" && typeof state.title === "string") document.title = state.title;
    },
    stillIndicatesLoading: function () { return false; },
    updateCaptureInfo: function () {}
  };
  new ContentFrame({
    url: frame.url + window.location.hash,
    prefix: frame.prefix,
    request_ts: frame.request,
    iframe: "#replay_iframe"
  });
})();
