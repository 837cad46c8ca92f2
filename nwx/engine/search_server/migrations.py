"""Steps that bring the indices of an older version forward."""

from nwx.engine.migrations import Migration
from nwx.engine.search_server.server import Server
from nwx.model import IndexName

Migrations = dict[IndexName, tuple[Migration[tuple[Server, str]], ...]]

MIGRATIONS: Migrations = {}
"""The steps of each index; `apply` gets the server and the name of the index.

A step's number is the version of the mapping (`mappings/*.json`) that it
leads to. Fields that a mapping has gained need no step: they are added.
"""
