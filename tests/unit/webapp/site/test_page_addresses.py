"""Cached page addresses."""

from flask import Flask, url_for

from webapp.site.words import kept_addresses


def application() -> Flask:
    app = Flask(__name__)
    app.add_url_rule("/documents/<name>", "documents.show", lambda name: name)
    return app


def test_kept_addresses_are_those_of_url_for() -> None:
    address = kept_addresses()
    values = {"name": "a b", "results": "q=x&page=2", "left_out": None, "number": 3}
    with application().test_request_context("/", base_url="http://nwx.example/archive/"):
        for _ in range(2):
            assert address("documents.show", **values) == url_for("documents.show", **values)
        assert address("documents.show", name=True) == "/archive/documents/True"
        assert address("documents.show", name=1) == "/archive/documents/1"
        assert address("documents.show", name="x", tag=["b", "c"]).endswith("?tag=b&tag=c")


def test_the_place_of_the_service_and_whole_addresses_are_those_of_the_request() -> None:
    address, app = kept_addresses(), application()
    for base in ("http://one.example/", "http://two.example/archive/"):
        with app.test_request_context("/", base_url=base):
            whole = address("documents.show", name="x", _external=True)
            assert whole == f"{base}documents/x"
            assert base.endswith(address("documents.show", name="x").removesuffix("documents/x"))
