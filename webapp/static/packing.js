// Shows how far a file is, and downloads it once it is there. Without scripts the page reloads itself.
const shown = document.getElementById("packing");
const lost = document.getElementById("packing-lost");
const pause = Number(shown.dataset.seconds) * 500;
const longest = 20 * pause;
let wait = pause;

function show(now) {
  const bar = now.querySelector("progress");
  if (bar) {
    shown.querySelector("label").textContent = now.querySelector("label").textContent;
    for (const { name, value } of bar.attributes) shown.querySelector("progress").setAttribute(name, value);
  } else {
    shown.replaceChildren(...document.importNode(now, true).childNodes);
    delete shown.dataset.underWay;
    shown.querySelector("a").focus();
  }
}

async function look() {
  try {
    const answer = await fetch(shown.dataset.address, { signal: AbortSignal.timeout(30_000) });
    if (!answer.ok) throw new Error(answer.statusText);
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    show(read.getElementById("packing"));
    lost.hidden = true;
    wait = pause;
  } catch {
    lost.hidden = false;
    wait = Math.min(2 * wait, longest);
  }
  go();
}

function go() {
  if ("underWay" in shown.dataset) setTimeout(look, wait);
  else document.getElementById("packed")?.click();
}

// Who comes back to this page has the file already.
if (performance.getEntriesByType("navigation")[0]?.type !== "back_forward" || "underWay" in shown.dataset) go();
