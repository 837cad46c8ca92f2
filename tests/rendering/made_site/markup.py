"""HTML of the synthetic web's pages."""

import random

from tests.rendering.made_site.addresses import ADS, API, GONE, SHARED, SitePage

_WORDS = (
    "harbour lamp tide keeper slate gull ferry ledger parrot barque rope fog signal herring"
    " museum letter drawer glass negative flood street market bell clock stone wall garden"
).split()


def text(chance: random.Random, words: int) -> str:
    """Return a sentence of `words` words."""
    return " ".join(chance.choice(_WORDS) for _ in range(words)).capitalize() + "."


def page_html(page: SitePage, served: int, known: bool, links: list[SitePage]) -> bytes:
    """Return a page: `served` is its number among responses, `known` whether a cookie was sent."""
    chance = random.Random(f"text:{page.number}")
    title = f"{page.layout.capitalize()} {page.number}: {text(chance, 3)}"
    body = _LAYOUTS[page.layout](page, chance)
    extras = "".join(_EXTRAS[name](page) for name in sorted(page.features) if name in _EXTRAS)
    if "served_at" in page.features:
        extras += f"<p class=stamp>Answer number {served}, made in {served % 97} ms</p>"
    if "cookie" in page.features:
        extras += f"<p class=hello>{'Welcome back' if known else 'Hello, stranger'}</p>"
    menu = "".join(f'<li><a href="{each.url}">{each.layout} {each.number}</a>' for each in links)
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f"<link rel=stylesheet href=http://{SHARED}/theme-{page.theme}.css>"
        f"<link rel=stylesheet href={page.own}style.css>"
        f"<script src=http://{SHARED}/library.js></script></head><body class={page.layout}>"
        f"<header><img class=logo src=http://{SHARED}/logo-{page.theme}.png alt=''>"
        f"<h1>{title}</h1></header><main>{body}{extras}</main>"
        f"<nav><ul>{menu}</ul></nav><footer>{text(chance, 8)}</footer>"
        f"<script src={page.own}page.js></script></body></html>"
    ).encode()


def _figures(page: SitePage, most: int = 99) -> str:
    return "".join(
        f'<figure><img src="{page.image(number)}" alt="picture {number}">'
        f"<figcaption>Picture {number} of page {page.number}</figcaption></figure>"
        for number in range(min(page.images, most))
    )


def _article(page: SitePage, chance: random.Random) -> str:
    paragraphs = [f"<p>{text(chance, chance.randrange(30, 90))}</p>" for _ in range(6)]
    return "".join(paragraphs[:2]) + _figures(page) + "".join(paragraphs[2:])


def _gallery(page: SitePage, chance: random.Random) -> str:
    return f"<p>{text(chance, 12)}</p><div class=grid>{_figures(page)}</div>"


def _table(page: SitePage, chance: random.Random) -> str:
    rows = "".join("<tr>" + "".join(f"<td>{text(chance, 2)}" for _ in range(4)) for _ in range(20))
    return f"<table>{rows}</table>{_figures(page)}"


def _thread(page: SitePage, chance: random.Random) -> str:
    return "".join(
        f'<section class=post><img src="{page.image(number)}" alt="" width=80 height=60>'
        f"<h2>{text(chance, 4)}</h2><p>{text(chance, 40)}</p></section>"
        for number in range(page.images)
    )


def _frames(page: SitePage, chance: random.Random) -> str:
    return (
        f"<p>{text(chance, 20)}</p><iframe src={page.own}frame.html width=600 height=260></iframe>"
        f"<iframe src=http://{SHARED}/weather.html width=300 height=120></iframe>{_figures(page)}"
    )


def _application(page: SitePage, chance: random.Random) -> str:
    """Return minimal HTML: the page's script adds the rest."""
    return f"<div id=app data-images={page.images}><noscript>{text(chance, 5)}</noscript></div>"


_LAYOUTS = {
    "article": _article,
    "gallery": _gallery,
    "table": _table,
    "thread": _thread,
    "frames": _frames,
    "application": _application,
}


def _srcset(page: SitePage) -> str:
    sizes = ", ".join(f"{page.own}wide-{size}.jpg {size}w" for size in (320, 640, 1280, 2560))
    return (
        f'<img srcset="{sizes}" sizes="40vw" src="{page.own}wide-320.jpg" alt="wide" width=640>'
        f'<picture><source type=image/webp srcset="{page.own}pic.webp 1x, {page.own}pic2.webp 2x">'
        f'<img src="{page.own}pic.png" alt="either"></picture>'
    )


def _lazy(page: SitePage) -> str:
    return "".join(
        f'<div style="height:900px">Further down {number}</div>'
        f'<img loading=lazy src="{page.own}lazy-{number}.jpg" width=240 height=160 alt="lazy">'
        for number in range(3)
    )


def _observer(page: SitePage) -> str:
    return (
        f'<div style="height:1200px">Scroll</div><img data-src="{page.own}seen.png"'
        " width=240 height=160 alt='when seen'>"
    )


_EXTRAS = {
    "srcset": _srcset,
    "lazy": _lazy,
    "observer": _observer,
    "frame": lambda page: f"<iframe src={page.own}frame.html width=500 height=240></iframe>",
    "srcdoc": lambda page: (
        f'<iframe srcdoc="<p>A frame without an address</p><img src={page.own}inner.png>"></iframe>'
    ),
    "font": lambda page: f'<p class="icons">&#x2b; &#x20ac; {page.number}</p>',
    "dead_image": lambda page: f'<img src="{page.own}dead.png" alt="was dead">',
    "dead_script": lambda page: f"<script src={page.own}dead.js></script>",
    "dead_host": lambda page: (
        f'<img src="http://{GONE}/{page.number}.png" alt="cannot be reached">'
    ),
    "redirect": lambda page: f'<img src="{page.own}moved.png" alt="moved">',
    "module": lambda page: f"<script type=module src={page.own}main.mjs></script><p id=module></p>",
    "written": lambda page: (
        f"<script>document.write('<img src={page.own}written.png alt=written>')</script>"
    ),
    "canvas": lambda page: "<canvas id=canvas width=200 height=100></canvas>",
    "clock": lambda page: "<p id=clock></p>",
    "random_text": lambda page: "<p id=quote></p>",
    "random_banner": lambda page: "<div id=banner></div>",
    "component": lambda page: f"<nwx-card data-image={page.own}card.png></nwx-card>",
    "jsonp": lambda page: "<p id=jsonp></p>",
    "beacons": lambda page: (
        f"<noscript><img src=http://{ADS}/pixel.gif?noscript={page.number}></noscript>"
    ),
    "weather": lambda page: f"<p id=weather data-from=http://{API}/weather/{page.number % 7}></p>",
}
"""The features with markup; the others are in scripts and style sheets."""
