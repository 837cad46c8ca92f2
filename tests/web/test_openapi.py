"""The OpenAPI description lists every route for programs, and their responses conform to it."""

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator

from nwx.cdxserver.query_model import KNOWN
from nwx.mappings import properties
from nwx.model import IndexName
from nwx.searching.answers import DocumentAnswer
from tests.web.addresses import FIRST
from tests.web.archive import HOME
from tests.web.checked_archive import HOME_SCORE
from webapp.cdx.operations import CDX_OPERATIONS
from webapp.site.pages import ALL_OPERATIONS

Json = dict[str, Any]

# Pages for people, and their resources.
PAGES = {"/", "/api", "/search", "/settings", "/help", "/explore", "/explore/change"}
PAGES |= {"/explore/captures", "/opensearch.xml", "/robots.txt", "/favicon.ico"}
PAGES |= {"/api/openapi.json", "/replay", "/replay/{asked}", "/static/{filename}"}
PAGES |= {"/explore/vega.js", "/links", "/missing", "/hosts", "/entities"}
PAGES |= {"/sql", "/sql/rows.{form}"}
PAGES |= {"/thumbnail", "/renders/{kind}"}
PAGES |= {"/documents/compare", "/documents/of", "/documents/{document_id}"}
PAGES |= {"/documents/{document_id}/diff/{other_id}"}
PAGES |= {"/crawls", "/crawls/new", "/crawls/{name}", "/crawls/{name}/edit"}
PAGES |= {"/quality", "/quality/page", "/quote", "/cite", "/judge"}
PAGES |= {"/changes", "/documents/between"}
PAGES |= {"/quality/review"}
PAGES |= {"/documents/{document_id}/diff/{other_id}/picture"}
PAGES |= {"/crawls/{name}/versions", "/crawls/{name}/restore"}
PAGES |= {"/crawls/{name}/specification.{form}", "/crawls/compare", "/crawls/{name}/monitor"}
PAGES |= {"/login", "/logout", "/replay-refusal"}
PAGES |= {"/settings/access", "/settings/access/log", "/settings/access/remove"}
PAGES |= {"/pictures", "/pictures/map", "/pictures/{document_id}", "/pictures/similar"}
PAGES |= {"/quality/repairs", "/searches", "/trends", "/trends.{form}", "/words"}
PAGES |= {"/export/packing.{suffix}"}
PAGES |= {"/replay-step", "/documents/{id}/records/{timestamp}/{record}"}
PAGES |= {"/documents/{id}/records/{timestamp}/{record}/payload"}
VALUES = {"document_id": FIRST, "suffix": "csv", "form": "svg", "variant": "ia"}
VALUES |= {"collection": "default", "url": HOME, "name": "stones", "chart": "overlap"}
QUERIES = {
    "changesFeed": "site=example.org",
    "versions": f"url={HOME}",
    "qualityPicture": f"id={HOME_SCORE}",
    "sparql": "query=ASK+{+?s+?p+?o+}",
    "links": "url=http://www.example.org/about",
    "facetCaptures": "limit=2",
    "compareCrawls": "a=default&b=blogs",
    "exportComparison": "a=default&b=blogs",
    "dedup": "digest=sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
}


@pytest.fixture
def description(client: FlaskClient) -> Json:
    found: Json = client.get("/api/openapi.json").get_json()
    return found


def validator(description: Json, schema: Json) -> Draft202012Validator:
    """Return a validator of responses; undocumented fields are errors."""
    schemas = {
        name: one | {"additionalProperties": False} if "properties" in one else one
        for name, one in description["components"]["schemas"].items()
    }
    return Draft202012Validator(schema | {"components": {"schemas": schemas}})


def json_schema(description: Json, path: str, status: str = "200") -> Json:
    answer = description["paths"][path]["get"]["responses"][status]
    schema: Json = answer["content"]["application/json"]["schema"]
    return schema


def template(rule: str) -> str:
    """Return a route in OpenAPI syntax."""
    return re.sub(r"<(?:[^:<>]+:)?(\w+)>", r"{\1}", rule)


def test_every_route_is_described(app: Flask, description: Json) -> None:
    routes = {
        (template(str(rule)).replace("{asked}", "{url}"), method.lower())
        for rule in app.url_map.iter_rules()
        if template(str(rule)) not in PAGES
        for method in (rule.methods or set()) & {"GET", "POST"}
    }
    described = {
        (path, method) for path, methods in description["paths"].items() for method in methods
    }
    assert described == routes


def test_the_description_is_an_openapi_document(description: Json) -> None:
    assert description["openapi"] == "3.1.0"
    operations = [one for methods in description["paths"].values() for one in methods.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    for path, methods in description["paths"].items():
        for operation in methods.values():
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            for parameter in operation["parameters"]:
                Draft202012Validator.check_schema(parameter["schema"])
    for schema in description["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    text = str(description)
    named = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert named <= set(description["components"]["schemas"])


@pytest.mark.parametrize("operation", ALL_OPERATIONS, ids=lambda one: one.id)
def test_answers_keep_to_their_description(
    client: FlaskClient, description: Json, operation: Any
) -> None:
    values = VALUES | ({"form": "link"} if "timemap" in operation.path else {})
    if operation.id in ("crawlMonitor", "crawlChart"):
        values = VALUES | {"name": "watched", "chart": "fetches"}
    path = operation.path.format_map(values)
    if operation.method == "post" or "401" in operation.errors:  # needs a token
        answer = client.open(path, method=operation.method.upper())
        assert str(answer.status_code) in operation.errors
        return
    query = QUERIES.get(operation.id, f"url={HOME}" if operation in CDX_OPERATIONS else "")
    if "timemap/{" in operation.path or "timegate" in operation.path:
        query = ""
    answer = client.get(f"{path}?{query}" if query else path)
    assert str(answer.status_code) == operation.status, answer.text
    if operation.answer is not None:
        schema = json_schema(description, operation.path)
        validator(description, schema).validate(answer.get_json())
    elif operation.media_types:
        assert answer.mimetype in operation.media_types


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/search", "/api/search?q=quarry&limit=20"),
        ("/api/search", "/api/search?language=en&facets=type&from=2010"),
        ("/api/facets", "/api/facets?by=month,type&where=status%3Dok"),
        ("/api/facets", "/api/facets?feature=captures"),
        ("/api/versions", "/api/versions?url=http://nowhere.example/"),
        ("/dedup", "/dedup?digest=sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ],
)
def test_further_answers_keep_to_it(
    client: FlaskClient, description: Json, path: str, address: str
) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    validator(description, json_schema(description, path)).validate(answer.get_json())


@pytest.mark.parametrize(
    ("path", "status", "address"),
    [
        ("/api/search", "400", "/api/search?q=quarry+(stone"),
        ("/api/search", "400", "/api/search?colour=red"),
        ("/api/facets", "400", "/api/facets?by=colour"),
        ("/api/documents/{document_id}", "404", "/api/documents/" + "0" * 32),
        ("/dedup", "400", "/dedup"),
    ],
)
def test_errors_keep_to_it(
    client: FlaskClient, description: Json, path: str, status: str, address: str
) -> None:
    answer = client.get(address)
    assert str(answer.status_code) == status
    validator(description, json_schema(description, path, status)).validate(answer.get_json())


def test_documents_are_described_as_they_are_kept() -> None:
    kept = set(properties(IndexName.DOCUMENTS))
    assert kept <= set(DocumentAnswer.__dataclass_fields__)


def test_parameters_of_the_cdx_server_are_known_to_it() -> None:
    (cdx,) = (one for one in CDX_OPERATIONS if one.path == "/cdx")
    assert {parameter.name for parameter in cdx.parameters} <= KNOWN


def test_the_page_lists_every_operation(client: FlaskClient) -> None:
    page = client.get("/api").text
    for operation in ALL_OPERATIONS:
        assert operation.path in page
        if operation.example:
            assert client.get(operation.example).status_code == 200
