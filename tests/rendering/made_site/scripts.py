"""The scripts and style sheets of the synthetic web."""

from tests.rendering.made_site.addresses import ADS, API, SHARED, SitePage

LIBRARY = b"""
window.made = {
  add(tag, content, into) {
    const element = document.createElement(tag);
    element.textContent = content;
    (into || document.querySelector("main")).append(element);
    return element;
  },
  image(address, into) {
    const image = new Image(240, 160);
    image.src = address;
    (into || document.querySelector("main")).append(image);
    return image;
  },
  oneOf: (all) => all[Math.floor(Math.random() * all.length)],
};
"""
MODULE_LIBRARY = b"export const shout = (words) => words.toUpperCase();\n"

_SCRIPTS = {
    "beacons": f"""
      new Image().src = "http://{ADS}/pixel.gif?r=" + Math.random();
      navigator.sendBeacon("http://{ADS}/beacon", String(Math.random()));
      setTimeout(() => fetch("http://{ADS}/seen?t=" + Date.now(), {{mode: "no-cors"}}), 100);
    """,
    "cache_buster": """
      fetch(own + "fresh.json?_=" + Date.now()).then(a => a.json())
        .then(found => made.add("p", found.words)).catch(() => 0);
    """,
    "canvas": """
      const canvas = document.getElementById("canvas").getContext("2d");
      for (let n = 0; n < 30; n++) {
        canvas.fillStyle = `hsl(${Math.random() * 360} 70% 50%)`;
        canvas.fillRect(Math.random() * 200, Math.random() * 100, 20, 20);
      }
    """,
    "carousel": """
      const carousel = made.image(images[0]);
      let turn = 0;
      setInterval(() => { carousel.src = images[++turn % images.length]; }, 400);
    """,
    "clock": """
      setInterval(() => { document.getElementById("clock").textContent = new Date(); }, 100);
    """,
    "component": """
      customElements.define("nwx-card", class extends HTMLElement {
        connectedCallback() {
          this.attachShadow({mode: "open"}).innerHTML =
            `<style>img { border: 3px solid teal }</style><img src="${this.dataset.image}">`;
        }
      });
    """,
    "consent": """
      setTimeout(() => {
        if (localStorage.getItem("consent")) return;
        const banner = made.add("div", "We value your privacy. ", document.body);
        banner.className = "consent";
        made.add("button", "Accept all", banner).onclick = () => {
          localStorage.setItem("consent", "1");
          banner.remove();
        };
      }, 200);
    """,
    "cookie": 'document.cookie = "visitor=" + Math.random();',
    "data": """
      fetch(own + "data.json").then(a => a.json()).then(rows => {
        const list = made.add("ul", "");
        for (const row of rows) made.add("li", row.name + ": " + row.value, list);
        made.image(own + "from-data.png");
      });
    """,
    "jsonp": f"""
      const callback = "jsonp_" + Math.floor(Math.random() * 1e9);
      window[callback] = found => {{ document.getElementById("jsonp").textContent = found.words; }};
      const jsonp = document.createElement("script");
      jsonp.src = "http://{API}/jsonp?page=" + number + "&callback=" + callback;
      document.body.append(jsonp);
    """,
    "late": """
      setTimeout(() => { made.add("p", "This came late"); made.image(own + "late.png"); }, 600);
    """,
    "observer": """
      new IntersectionObserver((seen, watch) => seen.filter(each => each.isIntersecting)
        .forEach(({target}) => { target.src = target.dataset.src; watch.unobserve(target); })
      ).observe(document.querySelector("[data-src]"));
    """,
    "post": """
      fetch(own + "count", {
        method: "POST",
        headers: {"Content-Type": "application/json"},
        body: JSON.stringify({page: number, asked: "count"}),
      }).then(a => a.json()).then(found => made.add("p", "Counted " + found.count)).catch(() => 0);
    """,
    "random_banner": f"""
      const chosen = Math.floor(Math.random() * 6);
      made.image("http://{ADS}/banner/" + chosen + ".png", document.getElementById("banner"));
    """,
    "random_text": """
      document.getElementById("quote").textContent =
        made.oneOf(["No ferry in fog.", "Lamps at dusk.", "Herring on Fridays."]);
    """,
    "weather": """
      const weather = document.getElementById("weather");
      fetch(weather.dataset.from).then(a => a.json())
        .then(found => { weather.textContent = "Weather: " + found.words; });
    """,
}

_APPLICATION = """
  const app = document.getElementById("app");
  if (app) {
    app.className = "grid";
    made.add("h2", "Made by a script", app);
    for (const address of images) made.image(address, app);
    for (let n = 0; n < 12; n++) made.add("p", "Item " + n + " of application " + number, app);
  }
"""


def page_script(page: SitePage) -> bytes:
    """Return the script of a single page, which changes the DOM."""
    images = [page.image(number) for number in range(page.images)]
    parts = "".join(f"{{{_SCRIPTS[name]}}}" for name in sorted(page.features) if name in _SCRIPTS)
    return (
        f"(() => {{ const number = {page.number}, own = {page.own!r}, images = {images};\n"
        f'made.add("p", "The script of page " + number + " ran").className = "ran";\n'
        f"{_APPLICATION}{parts} }})();\n"
    ).encode()


def module_script(page: SitePage) -> bytes:
    """Return the main module of a page."""
    return (
        f'import {{ shout }} from "http://{SHARED}/library.mjs";\n'
        f'document.getElementById("module").textContent = shout("module of {page.number}");\n'
        f'const late = await import("{page.own}later.mjs"); late.show();\n'
    ).encode()


def later_module(page: SitePage) -> bytes:
    """Return the module that the main module imports dynamically."""
    return f'export const show = () => made.add("p", "imported by {page.number}");\n'.encode()


def page_style(page: SitePage) -> bytes:
    """Return the style sheet of a single page, which has an obvious effect."""
    shade = 37 * page.number % 360
    rules = [
        f"body {{ background: hsl({shade} 60% 94%); margin-left: {20 + page.number % 60}px }}",
        f"h1 {{ color: hsl({shade} 70% 30%); font-size: {24 + page.number % 16}px }}",
        f".grid {{ display: grid; grid-template-columns: repeat({2 + page.number % 3}, 260px) }}",
        "figure { display: inline-block; margin: 8px }",
        ".post { border-left: 4px solid grey; padding-left: 1em; margin: 1em 0 }",
    ]
    if "imported_style" in page.features:
        rules.insert(0, f'@import "{page.own}more.css";')
    if "background" in page.features:
        rules.append(f"header {{ background: url({page.own}background.png); padding: 20px }}")
    if "font" in page.features:
        rules.append(f'@font-face {{ font-family: icons; src: url("{page.own}icons.woff2") }}')
        rules.append(".icons { font: 40px icons }")
    return "\n".join(rules).encode()


def imported_style(page: SitePage) -> bytes:
    """Return the style sheet imported by a page's style sheet."""
    return f"nav {{ background: hsl({page.number} 40% 80%); padding: 1em }}".encode()


def theme_style(number: int) -> bytes:
    """Return a style sheet shared by many pages."""
    fonts = ("Georgia, serif", "Verdana, sans-serif", "monospace")
    return (
        f"body {{ font: {14 + number}px/1.5 {fonts[number % 3]} }}"
        f"main {{ max-width: {800 + 60 * number}px }}"
        "header { border-bottom: 1px solid }"
        f"footer {{ background: url(http://{SHARED}/pattern-{number}.png); padding: 2em }}"
        ".consent { position: fixed; bottom: 0; left: 0; right: 0; background: #222; color: #fff;"
        " padding: 1em } .logo { width: 60px; height: 40px }"
    ).encode()
