"""Names and passwords of accounts, and a login for clients."""

import re
from collections.abc import Callable

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

ADA, ZOE, BOB = "ada", "Zoe", "bob"
PASSWORD = "correct horse 1"


ACCESS_TOKEN = "an-access-token-of-some-length"
MakeApp = Callable[..., Flask]


def token_of(client: FlaskClient, address: str = "/login") -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(address).text)
    assert found is not None
    return found[1]


def log_in(
    client: FlaskClient, name: str = ADA, password: str = PASSWORD, **given: str
) -> TestResponse:
    form = {"csrf_token": token_of(client), "name": name, "password": password}
    return client.post("/login", data=form | given)


def name_of(client: FlaskClient, **headers: str) -> str:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    found: str = client.get("/who", headers=sent).json["user"]
    return found
