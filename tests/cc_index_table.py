"""Captures as CDX lines, as the corresponding rows of the columnar index, and queries of these.

The queries are Common Crawl's examples (commoncrawl/cc-index-table, src/sql/examples), rewritten
with thresholds for few rows. Where Athena's dialect does not fit, a query has two texts, for DuckDB
and for Spark; `correlation` and `loglikelihood` take two steps.
"""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

_CRAWL = "crawl-data/CC-MAIN-2018-05/segments/1516084.1/warc/CC-0.warc.gz"
_ROBOTS = _CRAWL.replace("/warc/", "/robotstxt/")
_GIVEN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("fr,un)/", "20180101000000", "http://www.un.fr/", {"languages": "fra", "charset": "UTF-8"}),
    ("fr,un)/%c3%a9t%c3%a9/a", "20180101000001", "http://www.un.fr/%C3%A9t%C3%A9/a", {}),
    ("fr,un)/fr/a", "20180102000000", "https://un.fr:8443/fr/a?x=1", {"languages": "fra,eng"}),
    ("no,to)/a.pdf", "20180103000000", "http://to.no/a.pdf", {"mime": "application/pdf"}),
    ("no,to)/robots.txt", "20180104000000", "http://to.no/robots.txt", {"filename": _ROBOTS}),
    ("va,va)/de/b", "20180104000002", "http://www.va.va/de/b", {"languages": "lat"}),
    ("va,va)/it/b", "20180104000003", "http://www.va.va/it/b", {"languages": "ita"}),
    ("org,commoncrawl)/", "20180105000000", "http://commoncrawl.org/", {"languages": "eng"}),
    ("com,wikipedja)/", "20180106000000", "http://wikipedja.com/", {"languages": "isl"}),
    ("com,blogspot,x)/a", "20180107000000", "http://x.blogspot.com/a", {"languages": "cat"}),
    ("de,xn--bcher-kva)/", "20180108000000", "http://bücher.de/", {"truncated": "length"}),
    ("192.0.2.7)/a", "20180109000000", "http://192.0.2.7/a", {"languages": "eng"}),
]
_PARTS = ("tld", "2nd_last_part", "3rd_last_part", "4th_last_part", "5th_last_part")
_SUFFIXES = ("fr", "no", "va", "org", "com", "de")


def made_lines() -> list[str]:
    """Return the CDXJ lines."""
    common = {"mime": "text/html", "status": "200", "filename": _CRAWL, "digest": "A" * 32}
    return [
        f"{key} {time} {json.dumps(common | {'url': url, 'offset': '7', 'length': '99'} | more)}"
        for key, time, url, more in _GIVEN
    ]


def rows_by_hand(lines: list[str]) -> list[dict[str, Any]]:
    """Return the rows of lines of CDXJ or of CDX with 11 fields, one line at a time."""
    return [_row(line) for line in sorted(lines, key=str.encode)]


def _row(line: str) -> dict[str, Any]:
    key, time, rest = line.split(" ", 2)
    if rest.startswith("{"):
        found = json.loads(rest)
    else:
        names = "url mime status digest redirect robot length offset filename".split()
        found = {n: v for n, v in zip(names, rest.split(" "), strict=True) if v != "-"}
    url = urlsplit(found["url"])
    host = (url.hostname or "").encode("idna").decode()
    parts = [] if host[-1].isdigit() else host.split(".")[::-1]
    is_known = bool(parts) and parts[0] in _SUFFIXES
    domain = ".".join(parts[1::-1]) if is_known else None
    is_blog = domain == "blogspot.com"
    file = found["filename"].split("/")
    is_cc = file[0] == "crawl-data"
    warc = "warc" if found.get("status") == "200" else "crawldiagnostics"
    warc = "crawldiagnostics" if found.get("mime") == "warc/revisit" else warc
    return {
        "url_surtkey": key,
        "url": found["url"],
        "url_host_name": host,
        **{
            f"url_host_{name}": parts[at] if at < len(parts) else None
            for at, name in enumerate(_PARTS)
        },
        "url_host_registry_suffix": parts[0] if is_known else None,
        "url_host_registered_domain": domain,
        "url_host_private_suffix": domain if is_blog else parts[0] if is_known else None,
        "url_host_private_domain": host if is_blog else domain,
        "url_host_name_reversed": ".".join(parts) or None,
        "url_protocol": url.scheme,
        "url_port": url.port,
        "url_path": url.path,
        "url_query": url.query or None,
        "fetch_time": datetime.strptime(time, "%Y%m%d%H%M%S").replace(tzinfo=UTC),
        "fetch_status": int(found.get("status", -1)),
        "fetch_redirect": found.get("redirect"),
        "content_digest": found.get("digest"),
        "content_mime_type": found.get("mime"),
        "content_mime_detected": found.get("mime-detected"),
        "content_charset": found.get("charset"),
        "content_languages": found.get("languages"),
        "content_truncated": found.get("truncated"),
        "warc_filename": found["filename"],
        "warc_record_offset": int(found["offset"]),
        "warc_record_length": int(found["length"]),
        "warc_segment": file[3] if is_cc else "",
        "crawl": file[1] if is_cc else "default",
        "subset": file[4] if is_cc else "robotstxt" if url.path == "/robots.txt" else warc,
    }


_FROM = "FROM ccindex WHERE subset = 'warc'"
_RANKED = (
    "(SELECT 1 AS place, 'un.fr' AS site UNION ALL SELECT 2, 'to.no'"
    " UNION ALL SELECT 3, 'none.org') ranks ON site = url_host_registered_domain"
)
_LIKELIHOOD = """
WITH counts AS (SELECT count(*) AS n, {a} AS a, {b} AS b, sum(count(*)) OVER () AS whole,
  sum(count(*)) OVER (PARTITION BY {a}) AS n_a, sum(count(*)) OVER (PARTITION BY {b}) AS n_b
  FROM ccindex WHERE subset = 'warc' GROUP BY {a}, {b}),
likely AS (SELECT a, b, n_a, n_b, n, 2 * (ln(n / (n_a * n_b / CAST(whole AS DOUBLE)))
  + if(n_b = n, 0, ln((n_b - n) / (n_b * (whole - n_a) / CAST(whole AS DOUBLE))))) AS likelihood,
  n / CAST(n_a AS DOUBLE) AS b_of_a, n / CAST(n_b AS DOUBLE) AS a_of_b FROM counts)
SELECT * FROM likely WHERE n >= 1 AND a NOT LIKE '%,%'"""
_HOME = (
    "url_query IS NULL AND (length(url_host_name) = length(url_host_registered_domain)"
    " OR (length(url_host_name) = length(url_host_registered_domain) + 4"
    " AND substr(url_host_name, 1, 4) = 'www.'))"
)

QUESTIONS: dict[str, tuple[str, ...]] = {
    "average-warc-record-length-by-mime-type": (
        "SELECT count(*), count(*) * 100.0 / sum(count(*)) OVER (), avg(warc_record_length),"
        " content_mime_detected, CAST(histogram(content_truncated) AS VARCHAR)"
        f" {_FROM} GROUP BY content_mime_detected",
        "SELECT count(*), count(*) * 100.0 / sum(count(*)) OVER (), avg(warc_record_length),"
        " content_mime_detected, CASE WHEN count(content_truncated) = 0 THEN NULL ELSE"
        " concat('{length=', count(content_truncated), '}') END"
        f" {_FROM} GROUP BY content_mime_detected",
    ),
    "compare-mime-type-http-vs-detected": (
        f"SELECT count(*), content_mime_type, content_mime_detected {_FROM}"
        " GROUP BY content_mime_type, content_mime_detected",
    ),
    "correlation-language-charset": (
        _LIKELIHOOD.format(a="content_languages", b="content_charset"),
    ),
    "count-by-partition": ("SELECT count(*), crawl, subset FROM ccindex GROUP BY crawl, subset",),
    "count-by-tld-page-host-domain": (
        "SELECT count(*), url_host_tld, count(DISTINCT url_host_name),"
        f" count(DISTINCT url_host_registered_domain) {_FROM} GROUP BY url_host_tld",
    ),
    "count-domains-alexa-top-1m": (
        f"SELECT site, place, count(*) FROM ccindex JOIN {_RANKED} GROUP BY site, place",
    ),
    "count-domains-of-tld": (
        f"SELECT count(*), url_host_registered_domain {_FROM} AND url_host_tld = 'no'"
        " GROUP BY url_host_registered_domain HAVING count(*) >= 1",
    ),
    "count-fetch-status": (
        "SELECT count(*), fetch_status FROM ccindex WHERE subset = 'crawldiagnostics'"
        " GROUP BY fetch_status",
    ),
    "count-hostname-elements": (
        "SELECT part, place, count(*) FROM (SELECT unnest(list_reverse(split(url_host_name, '.')))"
        " AS part, unnest(range(1, len(split(url_host_name, '.')) + 1)) AS place FROM ccindex WHERE"
        " url_host_tld = 'fr') GROUP BY part, place",
        "SELECT part, place + 1, count(*) FROM ccindex LATERAL VIEW"
        r" posexplode(reverse(split(url_host_name, '\\.'))) t AS place, part"
        " WHERE url_host_tld = 'fr' GROUP BY part, place",
    ),
    "count-idna": (
        "SELECT count(*), url_host_registered_domain, url_host_name FROM ccindex WHERE"
        " regexp_matches(url_host_name, 'xn--|[^[:ascii:]]')"
        " GROUP BY url_host_registered_domain, url_host_name",
        "SELECT count(*), url_host_registered_domain, url_host_name FROM ccindex WHERE"
        r" regexp_like(url_host_name, 'xn--|\\P{ASCII}')"
        " GROUP BY url_host_registered_domain, url_host_name",
    ),
    "count-language-tld": (
        f"SELECT count(*), content_languages, url_host_tld {_FROM} AND NOT content_languages LIKE"
        " '%,%' GROUP BY content_languages, url_host_tld HAVING count(*) >= 1",
    ),
    "count-robotstxt-url-paths": (
        "SELECT count(*), regexp_extract(url, '^[a-z]+://[^/]+([^?#]*)', 1) AS path FROM ccindex"
        " WHERE subset = 'robotstxt' GROUP BY path",
        "SELECT count(*), parse_url(url, 'PATH') AS path FROM ccindex"
        " WHERE subset = 'robotstxt' GROUP BY path",
    ),
    "count-url-path-elements": (
        "SELECT part, count(*) FROM (SELECT url_decode(unnest(split(url_path, '/'))) AS part"
        f" {_FROM} AND url_host_tld = 'fr') WHERE part != '' GROUP BY part",
        "SELECT part, count(*) FROM (SELECT explode(transform("
        "split(url_path, '/'), word -> url_decode(word))) AS part"
        f" {_FROM} AND url_host_tld = 'fr') WHERE part != '' GROUP BY part",
    ),
    "discovery-of-non-english-sites": (
        "SELECT url_host_name, count(*), sum(CASE WHEN content_languages LIKE 'eng%' THEN 0 WHEN"
        " content_languages IS NULL THEN 0 ELSE 1 END),"
        " count(DISTINCT regexp_extract(content_languages, '^([a-z]{3})', 1)),"
        f" sum(count(*)) OVER (PARTITION BY url_host_registered_domain) {_FROM}"
        " AND url_host_tld = 'va' GROUP BY url_host_name, url_host_registered_domain",
    ),
    "get-home-pages-languages": (
        f"SELECT url, content_languages {_FROM} AND url_path IN ('', '/') AND url_query IS NULL"
        " AND content_languages IN ('isl', 'cat')",
    ),
    "get-language-translations-url-path": (
        "SELECT domain, count(*), count(DISTINCT lang) FROM (SELECT url_host_registered_domain AS"
        f" domain, unnest(regexp_extract_all(url_path, '/([a-z][a-z])/', 1)) AS lang {_FROM} AND"
        " url_host_registry_suffix = 'va') GROUP BY domain",
        "SELECT domain, count(*), count(DISTINCT lang) FROM (SELECT url_host_registered_domain AS"
        f" domain, explode(regexp_extract_all(url_path, '/([a-z][a-z])/', 1)) AS lang {_FROM} AND"
        " url_host_registry_suffix = 'va') GROUP BY domain",
    ),
    "get-records-for-language": (
        "SELECT url, warc_filename, warc_record_offset, warc_record_length"
        f" {_FROM} AND content_languages = 'isl' LIMIT 10000",
    ),
    "get-records-home-pages": (
        "SELECT site, place, url, warc_filename, warc_record_offset, fetch_redirect FROM ccindex"
        f" RIGHT OUTER JOIN {_RANKED} WHERE subset = 'warc' AND {_HOME}"
        " AND regexp_matches(url_path, '^/?(?:index\\.(?:html?|php))?$')",
        "SELECT site, place, url, warc_filename, warc_record_offset, fetch_redirect FROM ccindex"
        f" RIGHT OUTER JOIN {_RANKED} WHERE subset = 'warc' AND {_HOME}"
        " AND regexp_like(url_path, '^/?(?:index\\\\.(?:html?|php))?$')",
    ),
    "get-records-of-domain": (
        "SELECT url, warc_filename, warc_record_offset, warc_record_length"
        f" {_FROM} AND url_host_registered_domain = 'commoncrawl.org' LIMIT 1000",
    ),
    "get-records-of-mime-type": (
        f"SELECT url, content_mime_type, warc_record_offset {_FROM} AND (content_mime_detected ="
        " 'application/pdf' OR content_mime_type LIKE '%pdf%') LIMIT 1000",
    ),
    "get-records-robotstxt": (
        "SELECT * FROM (SELECT site, place, url, fetch_status, warc_record_offset, row_number()"
        " OVER (PARTITION BY url ORDER BY fetch_time DESC) AS n FROM ccindex"
        f" RIGHT OUTER JOIN {_RANKED}"
        " WHERE subset = 'robotstxt') robots WHERE n = 1",
    ),
    "host-length-distrib": (
        "SELECT count(*), count(DISTINCT url_host_name), len(split(url_host_name, '.')) AS parts"
        f" {_FROM} GROUP BY parts",
        r"SELECT count(*), count(DISTINCT url_host_name), size(split(url_host_name, '\\.')) AS"
        " parts"
        f" {_FROM} GROUP BY parts",
    ),
    "loglikelihood-language-tld": (_LIKELIHOOD.format(a="content_languages", b="url_host_tld"),),
    "random-sample-extract": (
        "SELECT url, warc_filename FROM ccindex TABLESAMPLE BERNOULLI (100 PERCENT)"
        " WHERE subset = 'warc' AND content_languages = 'eng'",
        "SELECT url, warc_filename FROM ccindex TABLESAMPLE (100 PERCENT)"
        " WHERE subset = 'warc' AND content_languages = 'eng'",
    ),
    "random-sample-urls": (
        "SELECT url FROM ccindex TABLESAMPLE BERNOULLI (100 PERCENT) WHERE subset != 'robotstxt'",
        "SELECT url FROM ccindex TABLESAMPLE (100 PERCENT) WHERE subset != 'robotstxt'",
    ),
    "similar-domains": (
        "SELECT count(*), count(DISTINCT url_host_name), levenshtein('wikipedia',"
        f" url_host_2nd_last_part) AS distance, url_host_registered_domain {_FROM} AND"
        " levenshtein('wikipedia', url_host_2nd_last_part) <= 2 GROUP BY url_host_tld,"
        " url_host_2nd_last_part, url_host_registered_domain",
    ),
    "site-discovery-by-language": (
        "SELECT n, lang, site, 100.0 * n / whole FROM (SELECT count(*) AS n,"
        " regexp_extract(content_languages, '^([a-z]{3})', 1) AS lang, url_host_name AS site,"
        " sum(count(*)) OVER (PARTITION BY url_host_name) AS whole"
        f" {_FROM} GROUP BY lang, site) sites WHERE lang IN ('cat', 'eus', 'glg', 'oci')",
    ),
}
"""Each example by its file name: the text for DuckDB, and one for Spark if it differs."""


def sorted_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows of an answer in a fixed order, with all numbers as floats."""
    plain = [
        tuple(
            value if value is None or isinstance(value, str) else round(float(value), 9)
            for value in row
        )
        for row in rows
    ]
    return sorted(plain, key=repr)
