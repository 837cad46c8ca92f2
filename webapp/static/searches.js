// Suggestions while typing, and the searches that this browser keeps. Pages work without them.
const KEY = "nwx-searches";
const MOST = 100;
const LONGEST = 8_000;
const PAUSE = 200;

function isSearch(one) {
  const texts = one && typeof one.title === "string" && typeof one.address === "string";
  // Browsers read a backslash as a slash: what starts like a path may be an address elsewhere.
  return texts && /^\/(?![\/\\])/.test(one.address) && one.address.includes("search?") &&
    !/[\t\n\r]/.test(one.address) && one.address.length <= LONGEST;
}

function known(text) {
  const found = { saved: [], history: [], keeps: true };
  try {
    const read = JSON.parse(text) ?? {};
    for (const name of ["saved", "history"]) {
      if (Array.isArray(read[name])) found[name] = read[name].filter(isSearch).slice(0, MOST);
    }
    found.keeps = read.keeps !== false;
  } catch {
    // a damaged store holds no searches
  }
  return found;
}

// Browsers can be set to store nothing: then nothing is kept, and the rest of the page works.
function load() {
  try {
    return known(localStorage.getItem(KEY));
  } catch {
    return known("");
  }
}

function store(searches) {
  try {
    localStorage.setItem(KEY, JSON.stringify(searches));
  } catch {
    // not allowed, or full
  }
}

function added(list, one) {
  return [one, ...list.filter((other) => other.address !== one.address)].slice(0, MOST);
}

// The results page: it goes into the history, and can be saved.
const save = document.getElementById("save-search");
if (save) {
  const title = save.dataset.title.slice(0, LONGEST);
  const one = { title, address: location.pathname + location.search, time: Date.now() };
  const searches = load();
  if (searches.keeps && isSearch(one)) store({ ...searches, history: added(searches.history, one) });
  save.hidden = false;
  save.addEventListener("click", () => {
    const now = load();
    store({ ...now, saved: added(now.saved, one) });
    save.textContent = save.dataset.done;
  });
}

// The page that lists them.
const section = document.getElementById("searches");

function entry(name, one) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = one.address;
  link.textContent = one.title;
  link.dir = "auto";
  const time = document.createElement("time");
  const date = new Date(Number(one.time) || 0);
  time.dateTime = date.toISOString();
  const page = document.documentElement.lang;
  const own = navigator.languages.find((one) => one.split("-")[0] === page) ?? page;
  time.textContent = date.toLocaleString(own, { dateStyle: "medium", timeStyle: "short" });
  const remove = document.createElement("button");
  remove.type = "button";
  remove.textContent = section.dataset.remove;
  remove.setAttribute("aria-label", `${section.dataset.remove}: ${one.title}`);
  remove.addEventListener("click", () => {
    const now = load();
    const place = now[name].findIndex((other) => other.address === one.address);
    store({ ...now, [name]: now[name].filter((other) => other.address !== one.address) });
    show();
    focusNear(name, place);
  });
  item.append(link, " ", time, " ", remove);
  return item;
}

// The focus was in what is gone now; without this, keys begin at the top of the page again.
function focusNear(name, place) {
  const left = section.querySelectorAll(`[data-list="${name}"] button`);
  (left[Math.min(place, left.length - 1)] ?? section.querySelector(`[data-empty="${name}"]`)).focus();
}

function show() {
  const searches = load();
  document.getElementById("keep-history").checked = searches.keeps;
  for (const name of ["saved", "history"]) {
    const items = searches[name].map((one) => entry(name, one));
    section.querySelector(`[data-list="${name}"]`).replaceChildren(...items);
    section.querySelector(`[data-empty="${name}"]`).hidden = items.length > 0;
  }
}

function exportSearches() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(load(), null, 1)], { type: "application/json" }));
  link.download = "searches.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function importSearches(event) {
  const [file] = event.target.files;
  if (!file) return;
  const read = file.size > MOST * LONGEST ? known("") : known(await file.text());
  const message = document.getElementById("searches-message");
  message.textContent = "";
  if (!read.saved.length && !read.history.length) {
    message.textContent = section.dataset.badFile;
  } else {
    const now = load();
    for (const name of ["saved", "history"]) now[name] = read[name].reduceRight(added, now[name]);
    store(now);
    show();
  }
  event.target.value = "";
}

if (section) {
  document.getElementById("keep-history").addEventListener("change", (event) => {
    store({ ...load(), keeps: event.target.checked });
  });
  document.getElementById("clear-history").addEventListener("click", () => {
    store({ ...load(), history: [] });
    show();
  });
  document.getElementById("export-searches").addEventListener("click", exportSearches);
  document.getElementById("import-searches").addEventListener("change", importSearches);
  section.hidden = false;
  show();
}

// Suggestions below the search box.
const box = document.getElementById("q");
const list = document.getElementById("suggestions");
let timer = 0;
let asked = null;

async function suggest() {
  asked?.abort();
  asked = new AbortController();
  const typed = box.value.trim();
  if (typed.length < 2) return list.replaceChildren();
  try {
    const address = `${box.dataset.suggest}?q=${encodeURIComponent(typed)}`;
    const answer = await fetch(address, { signal: asked.signal });
    if (!answer.ok) return;
    const { titles, hosts } = await answer.json();
    const quoted = ({ title }) => `title:"${title.replace(/["\\]/g, " ").trim()}"`;
    const values = [
      ...hosts.map(({ host, documents }) => [`host:${host}`, `${host} (${documents})`]),
      ...titles.map((one) => [quoted(one), one.title]),
    ];
    const options = values.map(([value, label]) => {
      const option = new Option(label, value);
      option.label = label;
      return option;
    });
    list.replaceChildren(...options);
  } catch {
    // a newer text was typed, or the service is away
  }
}

if (box?.dataset.suggest && list) {
  box.addEventListener("input", (event) => {
    clearTimeout(timer);
    // What was chosen from the list needs no further suggestions.
    if (event.inputType && event.inputType !== "insertReplacementText") timer = setTimeout(suggest, PAUSE);
  });
}
