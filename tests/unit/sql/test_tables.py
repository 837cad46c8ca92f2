"""The tables of SQL."""

from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.mappings import properties
from nwx.model import IndexName
from nwx.sql.tables import SQL_TABLES


def test_columns_are_named_as_the_fields_of_searches() -> None:
    for table in ("captures", "documents", "pictures"):
        fields = set(properties(IndexName(table)))
        assert set(SQL_TABLES[table]) <= fields
    assert set(CAPTURE_ROW_FIELDS) <= set(SQL_TABLES["captures"])
