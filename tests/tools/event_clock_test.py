"""Every public data set as a gateway lives through it: a clock that follows the rows' event time,
and what is due sealed after every batch. Files in time order make no amendment. Where rows come
late, the amended buckets are those, and only those, that got a row after they had been sealed.

What must be amended is worked out here from the rows alone, with nothing of Cistern but its rule:
a bucket is due 300 s after its end when no row has come to it for 300 s.

Usage: event_clock_test.py SET...   (environment as datasets_test.py's, and
CISTERN_EVENT_CLOCK_INGEST)
"""

import csv
import heapq
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import datasets_test
from datasets_test import SETS, SKIP, SOURCE, Checker, at, run

DRIVER = os.environ.get("CISTERN_EVENT_CLOCK_INGEST", "event_clock_ingest")
BATCH_ROWS = 1000
GRACE_S = 300
IDLE_S = 300
# Sets with rows that come after their bucket is over and at rest.
DISORDERED = {"capmetro-buses"}


def in_text(kind, value):
    """A cell as it is written for the driver."""
    if kind == "float":
        return repr(struct.unpack("<f", struct.pack("<I", value))[0])
    if kind == "time":
        return at(value).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return value if isinstance(value, str) else repr(value)


def arrivals(dataset, files):
    """Rows of all files as one gateway meets them: each file in its own order, the file whose
    next row is the oldest first."""
    streams = [iter(list(dataset.rows(path))) for path in files]
    waiting = []
    for number, stream in enumerate(streams):
        row = next(stream, None)
        if row is not None:
            heapq.heappush(waiting, (row[1][0], number, row))
    while waiting:
        _, number, row = heapq.heappop(waiting)
        yield row
        row = next(streams[number], None)
        if row is not None:
            heapq.heappush(waiting, (row[1][0], number, row))


class Expectation:
    """Which buckets may, and which must, be amended."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.ticks_a_second = 1_000_000_000 if dataset.columns["ts"] == "int" else 1000
        self.clock_s = None
        self.ends = {}    # bucket -> second of its end
        self.last = {}    # (entity, bucket) -> clock when it took its last row
        self.may, self.must = set(), set()

    def end_of(self, ts):
        bucket = self.dataset.bucket_of(ts)
        if bucket not in self.ends:
            low, high = ts, ts + 400 * 86400 * self.ticks_a_second
            while high - low > 1:  # `low` is in the bucket, `high` behind it
                middle = (low + high) // 2
                if self.dataset.bucket_of(middle) == bucket:
                    low = middle
                else:
                    high = middle
            self.ends[bucket] = -(-high // self.ticks_a_second)
        return bucket, self.ends[bucket]

    def batch(self, rows):
        before_s = self.clock_s
        for entity, key, _ in rows:
            bucket, end_s = self.end_of(key[0])
            place = (entity, bucket)
            if before_s is None or place not in self.last:
                continue
            if end_s + GRACE_S <= before_s and self.last[place] + IDLE_S <= before_s:
                self.may.add(place)
                # Rows that left the head early rest once more from when they were looked at.
                if max(end_s, self.last[place]) + 3 * IDLE_S <= before_s:
                    self.must.add(place)
        newest_s = max(key[0] for _, key, _ in rows) / self.ticks_a_second
        self.clock_s = newest_s if before_s is None else max(before_s, newest_s)
        for entity, key, _ in rows:
            self.last[(entity, self.dataset.bucket_of(key[0]))] = self.clock_s

    def any_due(self):
        """Some bucket was over and at rest before the last row came."""
        return any(max(self.ends[bucket] + GRACE_S, last_s + IDLE_S) <= self.clock_s
                   for (_, bucket), last_s in self.last.items())


def write_input(dataset, rows, path):
    """The rows as CSV under the columns' own names; what Cistern should make of them."""
    expectation = Expectation(dataset)
    batch = []
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(dataset.columns)
        for entity, key, cells in rows:
            values = dict(zip(dataset.entity, entity)) | dict(zip(dataset.key, key)) | cells
            out.writerow([in_text(kind, values[c]) if c in values else ""
                          for c, kind in dataset.columns.items()])
            batch.append((entity, key, cells))
            if len(batch) == BATCH_ROWS:
                expectation.batch(batch)
                batch = []
    if batch:
        expectation.batch(batch)
    return expectation


def sealed_buckets(checker):
    """(entity, bucket) -> numbers of its seals; every one of them is sealed."""
    text = run("buckets", "--store", checker.store, "--format", "csv").stdout.decode()
    seals = {}
    for r in csv.DictReader(io.StringIO(text, newline="")):
        assert r["state"] == "sealed", r
        place = (r["entity"], checker.bucket(r["bucket"].strip("'")))
        seals.setdefault(place, []).append(int(r["seals"]))  # one for each split
    return seals


def check(name, checker, counts, expectation):
    seals = sealed_buckets(checker)
    named = {(checker.entity_argument(e), b): (e, b) for e, b in expectation.last}
    assert set(seals) == set(named), sorted(set(seals) ^ set(named))[:5]
    amended = {named[place] for place, counted in seals.items() if max(counted) > 1}
    seals = [count for counted in seals.values() for count in counted]
    assert amended <= expectation.may, f"false amendments: {sorted(amended - expectation.may)[:5]}"
    assert expectation.must <= amended, f"not amended: {sorted(expectation.must - amended)[:5]}"
    if datasets_test.SHARED.is_dir():  # excerpts are too short for that
        assert bool(amended) == (name in DISORDERED), f"{len(amended)} buckets were amended"
    assert counts["amendments"] == sum(seals) - len(seals), (counts, len(seals))
    assert counts["buckets_sealed"] == sum(seals)
    assert counts["open"] == 0
    assert counts["rows"] == counts["sealed"] + counts["superseded"]
    # While rows still came, where the recording is long enough.
    assert (counts["buckets_sealed_during"] > 0) == expectation.any_due(), counts
    return amended


def test(name):
    dataset = SETS[name]
    root, files = datasets_test.find_files(dataset)
    if not files:
        print(f"{name}: no files in {root}", file=sys.stderr)
        return SKIP
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        store = directory / "store"
        plain = datasets_test.unpack(files, root, directory / "files")
        checker = Checker(dataset, store, 1)
        rows = list(arrivals(dataset, plain))
        for entity, key, cells in rows:
            checker.expected.setdefault(entity, {}).setdefault(key, {}).update(cells)
        expectation = write_input(dataset, rows, directory / "rows.csv")
        floor_s = min(key[0] for _, key, _ in rows) // expectation.ticks_a_second
        run("create", "--store", store, "--schema", SOURCE / f"examples/schemas/{name}.cql")
        done = subprocess.run(
            [DRIVER, store, dataset.table, directory / "rows.csv", str(BATCH_ROWS), str(floor_s)],
            capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
        counts = json.loads(done.stdout)
        assert counts["rows"] == len(rows), (counts, len(rows))
        amended = check(name, checker, counts, expectation)
        entities = sorted(checker.expected)
        with ThreadPoolExecutor(4) as pool:
            scans = pool.map(checker.scan_both_ways, entities)
            for entity, (ascending, descending) in zip(entities, scans, strict=True):
                checker.check_entity(entity, ascending, descending)
        run("verify", "--store", store)
    print(f"{name}: {len(rows)} rows, {counts['buckets_sealed_during']} of "
          f"{counts['buckets_sealed']} seals while they came, {counts['amendments']} amendments of "
          f"{len(amended)} buckets ({len(expectation.must)} must, {len(expectation.may)} may)")
    return 0


def main():
    codes = [test(name) for name in sys.argv[1:] or list(SETS)]
    return SKIP if codes == [SKIP] * len(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
