"""Pages with nothing to read: errors that are served as pages (soft 404s), and navigation alone."""

import re

from nwx.model import Extract
from nwx.values.media_types import POOR_PAGES

_SHORT = 1_500  # characters of the text of an error, menus included
_SHORTER = 300
_LEAST_OWN = 25  # characters that are not of links
_LEAST_LINKS = 3

_PHRASES = (
    r"\b404\b.{0,12}\b(?:error|not found)|\berror\W{1,3}404\b|^\W*404\W*$|http 404",
    r"(?:page|file|document|url|site|object|resource|article|address)\b.{0,40}\b(?:not|cannot|could"
    r" not|can't|couldn't|isn't|wasn't)(?: be)? (?:found|available|exist)|no longer (?:exists"
    r"|available)|does(?: not|n't) exist|^\W*(?:page )?not found\W*$",
    r"seite (?:wurde |konnte |ist )?(?:leider )?nicht (?:gefunden|vorhanden|verfügbar)"
    r"|(?:seite|dokument|datei)\b.{0,40}\b(?:existiert nicht|nicht gefunden|nicht mehr)",
    r"page (?:est |n'est |demandée )?(?:introuvable|inexistante|non trouvée)|n'(?:existe|a pas été "
    r"trouvée?)(?: pas| plus)?|(?:page|document)\b.{0,40}\b(?:n'existe|introuvable)",
    r"página (?:no (?:encontrada|existe|disponible)|não (?:encontrada|existe))|no se (?:ha )?"
    r"(?:encontrado|encontró|encuentra)|pagina non (?:trovata|esiste|disponibile)",
    r"pagina (?:is )?niet gevonden|siden (?:blev|ble|kunne) ikke |sidan (?:kunde inte|hittades inte"
    r"|finns inte)|nie (?:została )?znalezion[oay]|strona nie istnieje|страница не найдена"
    r"|не найдено",
    "ページ.{0,12}(?:見つかりません|存在しません)|お探しのページ|找不到(?:网页|页面|該頁)|页面不存在"
    "|페이지를 찾을 수 없",
)
_TOLD = re.compile("|".join(f"(?:{one})" for one in _PHRASES), re.IGNORECASE | re.MULTILINE)


def poor_page(found: Extract) -> tuple[str, ...]:
    """Return what of POOR_PAGES the extract of a page is, from its text alone."""
    content = found.content
    if len(content) > _SHORT:
        return ()
    headlines = "\n".join((found.title, *found.headings[:2]))
    if _TOLD.search(headlines) or (len(content) <= _SHORTER and _TOLD.search(content)):
        return POOR_PAGES[:1]
    linked = [link.text for link in found.links if link.text]
    own = len(content) - sum(len(text) + 1 for text in linked)
    if content and len(linked) >= _LEAST_LINKS and own < _LEAST_OWN and not found.headings:
        return POOR_PAGES[1:]
    return ()
