"""Saved objects for OpenSearch Dashboards: complete, and without features of later Kibanas."""

import json

from nwx.exports.kibana import dashboards_objects, saved_objects

OBJECTS = dashboards_objects("news")


def test_they_are_those_of_kibana_without_lens() -> None:
    kibana = [each["id"] for each in saved_objects("news")]
    assert [each["id"] for each in OBJECTS] == kibana
    assert {each["type"] for each in OBJECTS} == {"index-pattern", "visualization", "dashboard"}


def test_nothing_is_of_a_later_kibana() -> None:
    for each in OBJECTS:
        assert set(each) == {"type", "id", "attributes", "references", "migrationVersion"}
        ((kind, version),) = each["migrationVersion"].items()
        assert kind == each["type"]
        assert tuple(map(int, version.split("."))) <= (7, 10, 2)


def test_what_is_referred_to_comes_before() -> None:
    known: set[tuple[str, str]] = set()
    for each in OBJECTS:
        assert {(one["type"], one["id"]) for one in each["references"]} <= known
        known.add((each["type"], each["id"]))


def test_the_dashboard_shows_all_charts() -> None:
    (dashboard,) = (each for each in OBJECTS if each["type"] == "dashboard")
    panels = json.loads(dashboard["attributes"]["panelsJSON"])
    names = [panel["panelRefName"] for panel in panels]
    assert names == [one["name"] for one in dashboard["references"]]
    charts = [each["id"] for each in OBJECTS if each["type"] == "visualization"]
    assert [one["id"] for one in dashboard["references"]] == charts


def test_live_charts_count_the_fields_of_their_indices() -> None:
    live = {each["id"]: each for each in OBJECTS if each["id"].endswith("-live")}
    assert set(live) == {"news-captures-live", "news-languages-live"}
    for each in live.values():
        source = json.loads(each["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"])
        assert [source["indexRefName"]] == [one["name"] for one in each["references"]]
    table = json.loads(live["news-languages-live"]["attributes"]["visState"])
    assert [agg["type"] for agg in table["aggs"]] == ["count", "terms"]
    assert live["news-languages-live"]["references"][0]["id"] == "news-documents"
