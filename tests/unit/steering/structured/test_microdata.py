"""Microdata as RDF, by the examples of the HTML standard."""

from tests.unit.steering.structured.pages import facts, problems


def test_values_come_from_where_the_standard_says() -> None:
    html = """
    <div itemscope itemtype="http://schema.org/Person http://schema.org/Patient" itemid="me">
      <p>My name is <span itemprop="name nick"> Ada
        <b>L.</b></span></p>
      <img itemprop="image" src="ada.png"><a itemprop="url" href="//b.example/">here</a>
      <meta itemprop="gender" content="female"><data itemprop="age" value="36">many</data>
      <time itemprop="birthDate" datetime="1815-12-10">1815</time>
      <time itemprop="deathDate">1852</time>
      <object itemprop="http://o.example/prop" data="o.bin"></object>
      <a itemprop="empty" href="">x</a>
    </div>"""
    me = "http://a.example/dir/me"
    assert facts(html) == {
        (me, "a", "s:Person"),
        (me, "a", "s:Patient"),
        (me, "s:name", '"Ada L."'),
        (me, "s:nick", '"Ada L."'),
        (me, "s:image", "http://a.example/dir/ada.png"),
        (me, "s:url", "http://b.example/"),
        (me, "s:gender", '"female"'),
        (me, "s:age", '"36"'),
        (me, "s:birthDate", '"1815-12-10"'),
        (me, "s:deathDate", '"1852"'),
        (me, "http://o.example/prop", "http://a.example/dir/o.bin"),
    }


def test_items_within_items_and_references() -> None:
    html = """
    <div itemscope itemtype="http://v.example/ns#Band" itemref="a b">x</div>
    <p id="a">Name: <span itemprop="name">Jazz Band</span></p>
    <div id="b" itemprop="member" itemscope><span itemprop="size">12</span></div>"""
    assert facts(html) == {
        ("#n1", "a", "http://v.example/ns#Band"),
        ("#n1", "http://v.example/ns#name", '"Jazz Band"'),
        ("#n1", "http://v.example/ns#member", "#n2"),
        ("#n2", "http://v.example/ns#size", '"12"'),
    }


def test_items_without_a_type_have_no_names_of_properties() -> None:
    assert facts('<p itemscope><b itemprop="name">x</b></p>') == set()


def test_references_in_a_circle_end() -> None:
    html = """<div itemscope itemtype="http://s.example/T" id="a" itemprop="p" itemref="a b"></div>
    <div itemscope itemtype="http://s.example/T" itemref="a"><i itemprop="q">v</i></div>"""
    assert ("#n1", "http://s.example/q", '"v"') in facts(html)


def test_a_flood_of_items_is_bounded() -> None:
    item = '<p itemscope itemtype="http://s.example/T"><b itemprop="n">v</b></p>'
    assert len(facts(item * 5_000)) <= 1_000
    deep = '<div itemscope itemtype="http://s.example/T" itemprop="p">' * 300
    assert len(facts(f"<div itemscope itemtype='http://s.example/T'>{deep}")) <= 80
    assert problems(f"<div itemscope itemtype='http://s.example/T'>{deep}") == (
        "microdata: there is more than is read of a page",
    )


def test_properties_that_are_not_read_are_told() -> None:
    flood = '<div itemscope itemtype="http://s.example/T">' + "<b>v</b>" * 30_000
    assert problems(flood) == ("microdata: there is more than is read of a page",)
