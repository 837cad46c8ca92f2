from nwx.quality.monitor.host_sums import (
    CountedHosts,
    RecentDenials,
    RecentFetches,
    TextWindow,
    UrlWindow,
)


def test_shares_of_what_differs() -> None:
    window = UrlWindow()
    for number in range(255):
        window.add(f"http://a.example/{number}", f"content {number}")
    assert window.shares is None
    window.add("http://a.example/x", "content x")
    assert window.shares is not None
    assert all(share > 0.8 for share in window.shares)
    for number in range(256):
        window.add(f"http://a.example/{number}", f"content {number % 5}")
    urls, contents = window.shares
    assert urls > 0.8 and contents == 5 / 256


def test_the_most_frequent_text() -> None:
    window = TextWindow()
    for number in range(40):
        text = "please log in" if number % 4 else f"text {number}"
        window.add(f"http://a.example/{number}", text, f"title of {text}")
    assert window.title == "title of please log in"
    assert 0.5 < window.share <= 0.75
    assert TextWindow().share == 0 and TextWindow().title == ""


def test_versions_of_one_url_count_once() -> None:
    window = TextWindow()
    for number in range(40):
        window.add("http://a.example/", "the same", f"{number}")
    assert window.pages == 1


def test_what_was_long_ago_is_forgotten() -> None:
    window = TextWindow()
    for number in range(200):
        window.add(f"http://a.example/{number}", "please log in", "log in")
    for number in range(400):
        window.add(f"http://a.example/b{number}", f"text {number}", "")
    assert window.share < 0.1 and len(window.counts) <= 4


def test_hosts_with_many_fetches_are_never_dropped() -> None:
    table = CountedHosts(most=100)
    for number in range(20_000):
        for host in (f"often{number % 10}", f"once{number}"):
            found = table.named(host)
            found.rank += 1
            found.pages += 1
    assert len(table.hosts) <= 100
    assert table.dropped > 0 and table.other.pages > 0
    assert [table.hosts[f"often{n}"].pages for n in range(10)] == [2_000] * 10
    assert sum(one.pages for one in table.hosts.values()) + table.other.pages == 40_000


def test_the_first_hosts_by_each_measure_are_told() -> None:
    table = CountedHosts()
    for number in range(200):
        found = table.named(f"h{number:03}")
        found.pages, found.errors, found.bytes = number, 200 - number, abs(100 - number)
        if number == 77:
            found.timed, found.ms, found.slowest_ms = 2, 3_000, 2_000
    told = {one.host: one for one in table.top_hosts()}
    assert {"h199", "h000", "h001", "h077"} <= told.keys() and len(told) < 130
    assert (told["h077"].mean_ms, told["h077"].slowest_ms) == (1_500, 2_000)
    assert told["h199"].mean_ms is None
    assert [one.pages for one in table.top_hosts()] == sorted(t.pages for t in told.values())[::-1]


def test_older_fetches_count_ever_less() -> None:
    recent, denials = RecentFetches(), RecentDenials()
    for _ in range(500):
        recent.add(error=True, unanswered=False)
        denials.add(denied=True)
    for _ in range(500):
        recent.add(error=False, unanswered=False)
        denials.add(denied=False)
    assert recent.errors / recent.fetches < 0.02 and recent.fetches <= 128
    assert denials.denied / denials.asked < 0.02
