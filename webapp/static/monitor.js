// Keeps the page of a crawl current. Without scripts the page reloads itself.
const section = document.getElementById("monitor");
const part = document.getElementById("monitor-part");
const lost = document.getElementById("monitor-lost");
const pause = Number(section.dataset.seconds) * 1000;
const longest = 12 * pause;
let wait = pause;
let timer = 0;

// Only what differs is changed, so that focus, selection and scrolled tables stay.
function renew(old, now) {
  if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) {
    old.replaceWith(now.cloneNode(true));
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== now.nodeValue) old.nodeValue = now.nodeValue;
    return;
  }
  for (const { name, value } of now.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // What a reader has opened stays open.
    if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  const [before, after] = [[...old.childNodes], [...now.childNodes]];
  after.forEach((child, place) => {
    if (place < before.length) renew(before[place], child);
    else old.append(child.cloneNode(true));
  });
  before.slice(after.length).forEach((child) => child.remove());
}

async function look() {
  clearTimeout(timer);
  try {
    const answer = await fetch(section.dataset.part, { signal: AbortSignal.timeout(30_000) });
    if (!answer.ok) throw new Error(answer.statusText);
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    renew(part.querySelector(".monitor"), read.querySelector(".monitor"));
    lost.hidden = true;
    wait = pause;
  } catch {
    lost.hidden = false;
    wait = Math.min(2 * wait, longest);
  }
  plan();
}

function plan() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, wait);
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : look()));
plan();
