from pathlib import Path

from nwx.quality.monitor.queue_counts import logged_queue

LINE = "2026-11-22T05:15:4{}Z 12{} 40 80 3.99(4.01) 101(100) 2 25 120000 250000 0.5 12 3\n"


def test_the_last_whole_line_counts(tmp_path: Path) -> None:
    log = tmp_path / "crawl.log"
    assert logged_queue(log) is None
    statistics = tmp_path / "progress-statistics.log"
    statistics.write_text("20261122 CRAWL RESUMED - Running\n")
    assert logged_queue(log) is None
    statistics.write_text("[timestamp] [discovered] [queued]\n" + LINE.format(1, 1) * 2_000)
    with statistics.open("a") as stream:
        stream.write(LINE.format(2, 5) + "20261122 CRAWL ENDED - Finished\n" + "2026-11-22T1 9 9 9")
    assert logged_queue(log) == {"discovered": 125, "queued": 40, "downloaded": 80}


def test_garbage_is_no_queue(tmp_path: Path) -> None:
    (tmp_path / "progress-statistics.log").write_bytes(b"\xff\x00\n" * 50_000)
    assert logged_queue(tmp_path / "crawl.log") is None
