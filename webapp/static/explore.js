// Draws the chart. Without scripts there are a picture of it and the table.
const chart = document.getElementById("chart");
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const spec = read("chart-spec");
const looks = read("chart-looks");
const chosen = document.documentElement.dataset.theme;
const night = matchMedia("(prefers-color-scheme: dark)");
let shown = null;

const scheme = () => (chosen === "auto" ? (night.matches ? "dark" : "light") : chosen);

function lookCloser(event, item) {
  const values = item?.datum;
  if (chart.dataset.centre) {
    if (!values?.host) return;
    const address = new URL(chart.dataset.centre, location.href);
    address.searchParams.set("host", values.host);
    location.assign(address);
    return;
  }
  // A line has the values of its first point only.
  if (!values || item.mark.marktype === "line" || !chart.dataset.refine) return;
  const address = new URL(chart.dataset.refine, location.href);
  for (const criterion of chart.dataset.by.split(",")) {
    const value = values[criterion];
    if (value === undefined) return;
    if (value === chart.dataset.others) continue;
    address.searchParams.append("where", `${criterion}=${String(value).replaceAll(",", "\\,")}`);
  }
  location.assign(address);
}

async function draw() {
  shown?.finalize();
  const config = looks[scheme()];
  config.legend.columns = Math.max(1, Math.floor(chart.clientWidth / 150));
  shown = await vegaEmbed(chart, spec, {
    mode: chart.dataset.mode,
    config,
    renderer: "svg",
    actions: false,
    // The page's policy allows no code made from text: Vega reads its expressions instead.
    ast: true,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  });
  shown.view.addEventListener("click", lookCloser);
  chart.dataset.drawn = scheme();
}

// On a phone the tiles and the choices are rows to be pushed along: begin at what is chosen.
for (const link of document.querySelectorAll(".tiles [aria-current], .explore-tools [aria-current]")) {
  const row = link.closest(".tiles, .choices");
  row.scrollLeft = link.getBoundingClientRect().left - row.getBoundingClientRect().left - 96;
}

// The slider of years asks for its year when it is let go; the button does so without scripts.
for (const slider of document.querySelectorAll("input[data-submit]")) {
  const shown = slider.form.querySelector(`output[for="${slider.id}"]`);
  slider.addEventListener("input", () => (shown.textContent = slider.value));
  slider.addEventListener("change", () => slider.form.requestSubmit());
}

if (window.vegaEmbed) {
  night.addEventListener("change", draw);
  draw();
} else {
  chart.textContent = chart.dataset.failed;
}
