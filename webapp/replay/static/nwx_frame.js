(function () {
  var frame = document.getElementById("replay_iframe").dataset;
  // Archived pages send these messages, and they may lie: they only ever become text.
  function show(url, timestamp) {
    if (typeof url !== "string" || !/^\d{4,14}$/.test(timestamp || "")) return;
    var t = timestamp;
    document.getElementById("nwx-url").textContent = url;
    document.getElementById("nwx-time").textContent =
      t.slice(0, 4) + (t[4] ? "-" + t.slice(4, 6) : "") + (t[6] ? "-" + t.slice(6, 8) : "") +
      (t[11] ? " " + t.slice(8, 10) + ":" + t.slice(10, 12) : "");
    document.getElementById("nwx-document").href =
      frame.search + "/documents/of?" + new URLSearchParams({ url: url, timestamp: t });
    ["previous", "next"].forEach(function (step) {
      document.getElementById("nwx-" + step).href =
        frame.search + "/replay-step?" + new URLSearchParams({ url: url, timestamp: t, to: step });
    });
  }
  window.WBBanner = {
    init: function () { show(frame.url, frame.timestamp); },
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
