from nwx.quality.monitor.content_windows import TextWindow, UrlWindow


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
