"""Line numbers of values in TOML and JSON texts."""

import gc
import json

from nwx.steering.specifications.file_values import MOST_SCANNED_CHARACTERS, value_lines

TOML = """\
# a comment with ] and "quotes
name = "a # [b]"

keywords = [
  "one", "two",   # , ]
  {text = "three", weight = 2.0},
  '''
[four]''',
  "five",
]
limits.depth = 3
day = 2020-01-01T10:00:00
[weights]
near = 1
"document" = 2

[[rules]]
hosts = ["a.test",
         "b.test"]
[[rules]]
surts = []
[[rules]]
expressions = ['a"b', "c\\"[d"]
days = 7
"""


def test_values_of_toml() -> None:
    found = value_lines(TOML)
    for path, beginning in {
        "name": "name",
        "keywords": "keywords",
        "keywords[1]": '  "one"',
        "keywords[2]": '  "one"',
        "keywords[3]": "  {text",
        "keywords[3].weight": "  {text",
        "keywords[4]": "  '''",
        "keywords[5]": '  "five"',
        "limits.depth": "limits",
        "day": "day",
        "weights": "[weights]",
        "weights.document": '"document"',
        "rules[1].hosts[2]": '         "b',
        "rules[3].expressions[2]": "expressions",
        "rules[3].days": "days",
    }.items():
        assert TOML.split("\n")[found[path] - 1].startswith(beginning), path
    assert found["rules[2]"] == found["rules[1]"] + 3


def test_values_of_json() -> None:
    text = json.dumps({"name": "a: {", "rules": [{"hosts": ["a", "b"]}, {"days": 1}]}, indent=1)
    found = value_lines(f"\n{text}")
    lines = f"\n{text}".split("\n")
    assert '"b"' in lines[found["rules[1].hosts[2]"] - 1]
    assert '"days"' in lines[found["rules[2].days"] - 1]
    assert found["name"] == 3


def test_long_and_deep_texts_have_no_lines() -> None:
    gc.collect()  # so that no object of earlier tests is finalized at the deepest call
    assert value_lines("#" * (MOST_SCANNED_CHARACTERS + 1)) == {}
    assert value_lines("x = " + "[" * 900 + "]" * 900) == {}
    assert value_lines("") == {}


def test_paths_that_no_specification_has_are_not_kept() -> None:
    long = "k" * 10_000
    deep = f'{{"{long}": ' * 50 + "[" + "1, " * 1_000 + "1]" + "}" * 50
    for text in (deep, f"{long}.{long} = [{'1,' * 1_000}]", f"[[{long}]]\n" * 1_000):
        assert sum(map(len, value_lines(text))) < 1_000_000
