"""The values of captures by the names of their fields."""

import pytest

from nwx.cdxserver.query.field_values import column_of, field_value, field_values
from nwx.errors import CdxQueryError
from tests.unit.cdxserver.rows import row

ROW = row("x", "2010", status="404", redirect="", extra='{"method": "POST"}')


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("urlkey", "example,a)/x"),
        ("timestamp", "2010"),
        ("0", "example,a)/x"),
        ("4", "404"),
        ("6", "-"),
        ("filename", "A.warc.gz"),
    ],
)
def test_a_field_is_read_by_its_name_or_number(name: str, value: str) -> None:
    assert field_value(name, "fl")(ROW) == value


@pytest.mark.parametrize("name", ["nothing", "11", "-1", "٣"])
def test_an_unknown_field_is_an_error_that_names_the_parameter(name: str) -> None:
    assert column_of(name) is None
    with pytest.raises(CdxQueryError, match="filter names the field"):
        field_value(name, "filter")


def test_fields_come_in_the_order_of_their_names() -> None:
    assert field_values(["timestamp", "urlkey"], None)(ROW) == ("2010", "example,a)/x")
    assert field_values(["urlkey", "timestamp"], None)(ROW) == ("example,a)/x", "2010")
