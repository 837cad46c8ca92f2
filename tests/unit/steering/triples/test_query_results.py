"""Forms of answers."""

import pytest

from nwx.errors import UsageError
from nwx.steering.triples.query_results import forms_of, media_types, serialized
from nwx.steering.triples.triple_store import QueryAnswer

ROWS = QueryAnswer(
    "solutions",
    b'{"head":{"vars":["a"]},"results":{"bindings":['
    b'{"a":{"type":"literal","value":"x, <y>","xml:lang":"en"}}, {}]}}',
)
YES = QueryAnswer("boolean", b'{"head":{},"boolean":true}')
TRIPLES = QueryAnswer("triples", b'<urn:a> <urn:b> "c" .\n')


@pytest.mark.parametrize(
    ("answer", "form", "part"),
    [
        (ROWS, "json", b'"value":"x, <y>"'),
        (ROWS, "xml", b"x, &lt;y&gt;"),
        (ROWS, "csv", b'a\r\n"x, <y>"'),
        (ROWS, "tsv", b'?a\n"x, <y>"@en'),
        (YES, "xml", b"<boolean>true"),
        (YES, "json", b"true"),
        (TRIPLES, "ttl", b'<urn:a> <urn:b> "c"'),
        (TRIPLES, "nt", b'<urn:a> <urn:b> "c"'),
        (TRIPLES, "rdf", b"rdf:RDF"),
        (TRIPLES, "json", b'"urn:a"'),
    ],
)
def test_answers_come_in_all_forms(answer: QueryAnswer, form: str, part: bytes) -> None:
    found = serialized(answer, form)
    assert part in found.data
    assert found.media_type.partition(";")[0] in media_types(answer.kind)


def test_not_every_answer_has_every_form() -> None:
    assert forms_of("solutions") == ("json", "xml", "csv", "tsv")
    assert forms_of("boolean") == ("json", "xml")
    assert forms_of("triples") == ("ttl", "nt", "rdf", "json")
    assert media_types("solutions")["application/json"] == "json"


def test_what_a_form_cannot_express_is_told() -> None:
    nested = QueryAnswer("triples", b"<urn:a> <urn:b> <<( <urn:a> <urn:b> <urn:c> )>> .\n")
    with pytest.raises(UsageError, match="cannot be written as json"):
        serialized(nested, "json")
