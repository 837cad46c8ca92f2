"""The three dialects."""

import pytest

from nwx.cdxserver.filters import field_value
from nwx.cdxserver.query_model import DIALECTS, IA, dialect_named
from nwx.errors import CdxQueryError


def test_a_dialect_is_found_by_its_name_in_any_case() -> None:
    assert dialect_named("IA") is IA
    with pytest.raises(CdxQueryError, match="choose one of ia, pywb, outback"):
        dialect_named("klingon")


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_a_media_type_for_its_form_and_knows_its_fields(name: str) -> None:
    dialect = DIALECTS[name]
    assert dialect.output in dialect.media_types
    assert all(field_value(field, "fl") for field in dialect.fields)
