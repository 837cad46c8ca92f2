"""nwx sql on an archive, compared with DuckDB on a Parquet export of the same captures.

    python -m benchmarks.sql WORK [CAPTURES]

Prints processor time (children included) and peak memory of each, the best of three alternate runs.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

QUERIES = {
    "by year": "SELECT {year} AS y, count(*) AS n FROM {table} GROUP BY y ORDER BY y",
    "by host": "SELECT {host} AS h, count(*) AS n, count(DISTINCT {digest}) AS d, sum({length})"
    " AS b FROM {table} GROUP BY h ORDER BY n DESC, h LIMIT 5",
}
OURS = {"year": "year(timestamp)", "host": "host", "digest": "digest", "length": "content_length"}
PARQUET = {
    "year": "year(fetch_time)",
    "host": "url_host_name",
    "digest": "content_digest",
    "length": "content_length",
}
_DUCKDB = """
import duckdb, json, sys
con = duckdb.connect(config={"threads": 2, "memory_limit": "2GB"})
found = con.execute(sys.argv[1])
names = [one[0] for one in found.description]
print(json.dumps([dict(zip(names, row)) for row in found.fetchall()]))
"""


def write_lines(path: Path, captures: int) -> None:
    """Write a CDX file of 11 fields with 5,000 hosts, and a third of all payloads twice."""
    chance = random.Random(1)
    with path.open("w", encoding="ascii") as file:
        file.write(" CDX N b a m s k r M S V g\n")
        for number in range(captures):
            host, year = chance.randrange(5_000), chance.randrange(2000, 2024)
            digest = f"{chance.randrange(captures * 3 // 2):032d}".translate(_LETTERS)
            file.write(
                f"com,host{host})/{number} {year}0{chance.randrange(1, 10)}15120000"
                f" http://host{host}.com/{number} text/html 200 {digest} - -"
                f" {chance.randrange(400, 40_000)} {number * 1_000} file-{number % 500}.warc.gz\n"
            )


_LETTERS = str.maketrans("0189", "ABCD")


def measured(*command: str) -> tuple[float, float, object]:
    """Return CPU seconds, peak MB of the largest process, and the rows."""
    timed = ["/usr/bin/time", "-f", "%U %S %M", *command]
    done = subprocess.run(timed, capture_output=True, text=True, check=True)
    user, system, peak = map(float, done.stderr.split()[-3:])
    return user + system, peak / 1024, json.loads(done.stdout)


def main(work: Path, captures: int) -> None:
    """Make the archive and its export if missing, and print the figures."""
    nwx = [str(Path(sys.executable).with_name("nwx")), "--engine", str(work / "archive")]
    if not (work / "archive").exists():
        work.mkdir(parents=True, exist_ok=True)
        write_lines(work / "lines.cdx", captures)
        subprocess.run([*nwx, "cdx-load", str(work / "lines.cdx")], check=True)
        subprocess.run([*nwx, "export", "captures", str(work / "parquet")], check=True)
    parquet = f"read_parquet('{work}/parquet/*/*.parquet')"
    for name, query in QUERIES.items():
        ours, theirs = (
            [*nwx, "sql", "--json", query.format(table="captures", **OURS)],
            [sys.executable, "-c", _DUCKDB, query.format(table=parquet, **PARQUET)],
        )
        runs = [(measured(*ours), measured(*theirs)) for _ in range(3)]
        assert runs[0][0][2] == runs[0][1][2], "both give the same rows"
        own, other = min(run[0][:2] for run in runs), min(run[1][:2] for run in runs)
        print(
            f"{name}: nwx sql {own[0]:.2f} s, {own[1]:.0f} MB; DuckDB on Parquet"
            f" {other[0]:.2f} s, {other[1]:.0f} MB; ratio {own[0] / other[0]:.1f}"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
