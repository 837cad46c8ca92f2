"""The OpenAPI 3.1 description of the API, generated from the answers' dataclasses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

import nwx
from nwx.charts.fields import SCHEMES
from nwx.errors import UsageError

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 0}
JSON_TYPE = "application/json"
_SCHEMAS = "#/components/schemas/{name}"


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """HTTP status and message; for a bad query the position of the error, or the bad item."""

    status: int
    message: str
    query: str | UnsetType = UNSET
    position: int | UnsetType | None = UNSET
    item: int | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """The answer to a failed request."""

    error: ErrorDetails


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation; `place` is query, path or header."""

    name: str
    description: str
    schema: Json = field(default_factory=lambda: TEXT)
    required: bool = False
    place: str = "query"

    def described(self) -> Json:
        """Return the parameter as an OpenAPI object."""
        required = self.required or self.place == "path"
        return {
            "name": self.name,
            "in": self.place,
            "description": self.description,
            "schema": self.schema,
            **({"required": True} if required else {}),
        }


def paging_parameters(what: str, default: int, most: int, least: int = 0) -> tuple[Parameter, ...]:
    """Return the parameters `offset` and `limit` of a list."""
    limit: Json = {**COUNT, "minimum": least, "maximum": most, "default": default}
    return (
        Parameter("offset", f"the {what} to skip", {**COUNT, "default": 0}),
        Parameter("limit", f"the {what} to return", limit),
    )


_BUSY = {"429": "too many requests of a network or user; Retry-After says when to ask again"}
ERRORS: Mapping[str, str] = {
    "400": "a parameter or a query makes no sense",
    "503": "the engine is unreachable, or there are too many requests",
}
NOT_FOUND: Mapping[str, str] = {**ERRORS, "404": "nothing with this name exists"}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API.

    `answer` is the dataclass of a JSON answer, None if `media_types` are
    of files and lines. `errors` explains each error status; with
    `plain_errors`, errors are lines of text. `example` is an address to try.
    """

    id: str
    path: str
    summary: str
    parameters: Sequence[Parameter] = ()
    answer: Any = None
    media_types: Sequence[str] = (JSON_TYPE,)
    errors: Mapping[str, str] = field(default_factory=lambda: ERRORS)
    plain_errors: bool = False
    status: str = "200"
    method: str = "get"
    example: str = ""

    def described(self, answer: Json) -> Json:
        """Return the operation as an OpenAPI object; `answer` is the schema of a JSON answer."""
        schema = TEXT if self.answer is None else answer
        content = {kind: {"schema": schema} for kind in self.media_types}
        error: Json = {
            "application/json": {"schema": {"$ref": _SCHEMAS.format(name="ErrorAnswer")}}
        }
        if self.plain_errors:
            error = {"text/plain": {"schema": TEXT}}
        return {
            "operationId": self.id,
            "summary": self.summary,
            "parameters": [parameter.described() for parameter in self.parameters],
            "responses": {
                self.status: {
                    "description": "the answer",
                    **({"content": content} if content else {}),
                },
                **{
                    status: {"description": words, "content": error}
                    for status, words in sorted((_BUSY | dict(self.errors)).items())
                },
            },
        }


def file_parameter(*forms: str, name: str = "suffix") -> Parameter:
    """Return the path parameter for the format of a file: the end of its address."""
    return Parameter(name, "the format", {"enum": list(forms)}, place="path")


def picture_operation(
    id: str,
    path: str,
    summary: str,
    parameters: Sequence[Parameter],
    of: Sequence[Parameter] = (),
) -> Operation:
    """Return the operation of a chart as a picture; `of` are the parameters of its path."""
    scheme = Parameter("scheme", "the colours", {"enum": list(SCHEMES)})
    drawn = (*of, file_parameter("svg", "png", name="form"), scheme, *parameters)
    media_types = ("image/svg+xml", "image/png")
    return Operation(id, path, summary, drawn, media_types=media_types, errors=NOT_FOUND)


def description(operations: Sequence[Operation], server: str) -> Json:
    """Return the OpenAPI description of operations at a server address."""
    types = [ErrorAnswer, *(one.answer for one in operations if one.answer is not None)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_SCHEMAS)
    answers = iter(schemas[1:])
    paths: dict[str, Json] = {}
    for one in operations:
        schema = {} if one.answer is None else next(answers)
        paths.setdefault(one.path, {})[one.method] = one.described(schema)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nwx",
            "version": nwx.__version__,
            "description": "Search, measure and replay a web archive.",
            "license": {"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
        },
        "servers": [{"url": server}],
        "paths": paths,
        "components": {"schemas": components},
    }


def check_parameters(given: Iterable[str], known: Sequence[Parameter]) -> None:
    """Raise UsageError on a parameter not among the known ones."""
    names = [parameter.name for parameter in known]
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise UsageError(f"there is no parameter {unknown[0][:80]!r}; use {', '.join(names)}")
