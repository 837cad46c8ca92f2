"""The JSON API of facet questions: its operations and answers."""

from dataclasses import dataclass

from flask import Blueprint, request
from flask.typing import ResponseReturnValue
from msgspec import UNSET, UnsetType

from nwx.facets.criteria import Criterion
from nwx.facets.question import (
    FEATURES,
    AnsweredBy,
    Feature,
    answer_json,
    parse_conditions,
    parse_facet_question,
    parse_features,
)
from nwx.searching.answers import Count, OptionalCount, Timestamp
from nwx.values.records import copied
from webapp.explore.view import TOPS, Chart, ExplorerOrder
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import (
    COUNT,
    NOT_FOUND,
    TEXT,
    Json,
    Operation,
    Parameter,
    check_parameters,
    file_parameter,
    paging_parameters,
    picture_operation,
)
from webapp.site.question_limits import answer_facets
from webapp.site.responses import json_answer

OptionalRatio = float | None | UnsetType


@dataclass(frozen=True, slots=True)
class FacetsAnswer:
    """The features of a selection, and a row for each combination of values of `by`.

    A row has the value of each criterion of `by`, and the features. `found`
    is the number of rows before `top`, null if unknown.
    """

    where: tuple[str, ...]
    by: tuple[Criterion, ...]
    rows: tuple[dict[str, str | int | float | None], ...]
    found: int | None
    answered_by: AnsweredBy
    took_ms: float
    captures: OptionalCount = UNSET
    unique_documents: OptionalCount = UNSET
    unique_urls: OptionalCount = UNSET
    bytes: OptionalCount = UNSET
    unique_bytes: OptionalCount = UNSET
    average_size: OptionalRatio = UNSET
    average_document_size: OptionalRatio = UNSET
    duplication_ratio: OptionalRatio = UNSET


@dataclass(frozen=True, slots=True)
class CriterionAnswer:
    """A criterion; `values` are its fixed values in order, `spans` is whether it takes ranges."""

    name: Criterion
    title: str
    description: str
    values: tuple[str, ...]
    ordinal: bool
    spans: bool


@dataclass(frozen=True, slots=True)
class FeatureAnswer:
    """A feature of facet answers; its unit is count, bytes or ratio."""

    name: Feature
    title: str
    description: str
    unit: str


@dataclass(frozen=True, slots=True)
class CriteriaAnswer:
    """The criteria and features of facet questions."""

    criteria: tuple[CriterionAnswer, ...]
    features: tuple[FeatureAnswer, ...]


@dataclass(frozen=True, slots=True)
class SelectedCapture:
    """A capture of a selection, with the file and offset of its record."""

    url: str
    timestamp: Timestamp
    collection: str
    status_code: int | None
    content_type_norm: str
    content_length: int | None
    digest: str
    document_id: str
    record_type: str
    source_file: str
    source_file_offset: Count


@dataclass(frozen=True, slots=True)
class CapturesAnswer:
    """Some captures of a selection, and their total number."""

    total: Count
    captures: tuple[SelectedCapture, ...]


def criteria_answer() -> CriteriaAnswer:
    """Return all criteria and features as an API answer."""
    return CriteriaAnswer(
        tuple(
            CriterionAnswer(
                criterion, one.label, one.description, one.values, one.ordinal, one.spans
            )
            for criterion in Criterion
            for one in [criterion.definition]
        ),
        tuple(copied(FeatureAnswer, one, name=name) for name, one in FEATURES.items()),
    )


_TEXTS: Json = {"type": "array", "items": TEXT}
_WHERE = Parameter(
    "where", "a condition: tld=fr,be, month=2013-01..2013-12, type!=html …; may be repeated", _TEXTS
)

FACET_PARAMETERS = (
    _WHERE,
    Parameter("by", f"one or two, separated by a comma, of {', '.join(Criterion)}"),
    Parameter("feature", "the features to give, separated by commas; all without it"),
    Parameter("sort", f"value, or one of {', '.join(Feature)}"),
    Parameter("order", "asc or desc; without it values are ascending and features descending"),
    Parameter("top", "the most rows", {**COUNT, "minimum": 1, "default": 1000}),
    Parameter("approximate", "1: estimate what would have to be counted live", COUNT),
)
CAPTURES_PARAMETERS = (
    _WHERE,
    *paging_parameters("captures", 50, 1_000),
)
_VIEW = (
    _WHERE,
    Parameter("vs", "a condition of the selection to compare with; may be repeated", _TEXTS),
    Parameter("by", f"one or two, separated by a comma, of {', '.join(Criterion)}"),
    Parameter("feature", "the feature that is shown", {"enum": list(Feature)}),
    Parameter("chart", "the kind of chart", {"enum": list(Chart)}),
    Parameter("order", "the order of a list", {"enum": list(ExplorerOrder)}),
    Parameter("top", "the most rows", {"enum": list(TOPS)}),
)

FACET_OPERATIONS = (
    Operation(
        "facets",
        "/api/facets",
        "Counts of captures, documents, URLs and bytes, by any criteria",
        FACET_PARAMETERS,
        FacetsAnswer,
        example="/api/facets?where=status%3Dok&by=month&feature=captures,unique_bytes",
    ),
    Operation(
        "facetCriteria",
        "/api/facets/criteria",
        "The criteria and features of facet questions",
        answer=CriteriaAnswer,
        example="/api/facets/criteria",
    ),
    Operation(
        "facetCaptures",
        "/api/facets/captures",
        "The captures that a facet answer counts",
        CAPTURES_PARAMETERS,
        CapturesAnswer,
        example="/api/facets/captures?where=type%3Dimage&limit=3",
    ),
    Operation(
        "exportTable",
        "/explore/table.{suffix}",
        "The numbers of an explorer page as a file",
        (file_parameter("csv", "json"), *_VIEW),
        media_types=("text/csv", "application/json"),
        errors=NOT_FOUND,
        example="/explore/table.csv?by=month",
    ),
    picture_operation(
        "exportChart",
        "/explore/chart.{form}",
        "The chart of an explorer page as a picture",
        _VIEW,
    ),
)


blueprint = Blueprint("facets", __name__, url_prefix="/api/facets")

MAX_TOP = 10_000
_DEFAULT_TOP = 1_000
MAX_CAPTURES = 1_000


@blueprint.get("")
def answer() -> ResponseReturnValue:
    """Answer a facet question."""
    arguments = request.args
    check_parameters(arguments, FACET_PARAMETERS)
    features = parse_features(parameters.text(arguments, "feature"))
    question = parse_facet_question(
        where=arguments.getlist("where"),
        by=parameters.text(arguments, "by"),
        sort=parameters.text(arguments, "sort"),
        features=features,
        order=parameters.text(arguments, "order"),
        limit=parameters.number_parameter(arguments, "top", _DEFAULT_TOP, 1, MAX_TOP),
    )
    approximate = parameters.number_parameter(arguments, "approximate", 0, 0, 1) == 1
    shown = archive()
    found = answer_facets(lambda: shown.facet_answer(question, approximate=approximate))
    return json_answer(FacetsAnswer(**answer_json(found, tuple(features))))


@blueprint.get("/criteria")
def criteria() -> ResponseReturnValue:
    """Answer with the criteria and features of facet questions."""
    return json_answer(criteria_answer())


@blueprint.get("/captures", endpoint="captures")
def facet_captures() -> ResponseReturnValue:
    """Answer with the captures that a facet answer counts."""
    check_parameters(request.args, CAPTURES_PARAMETERS)
    where = parse_conditions(request.args.getlist("where"))
    offset, limit = parameters.paging(request.args, 50, MAX_CAPTURES)
    shown = archive()
    total, found = answer_facets(lambda: shown.selected_captures(where, offset, limit))
    captures = tuple(copied(SelectedCapture, capture) for capture in found)
    return json_answer(CapturesAnswer(total, captures))
