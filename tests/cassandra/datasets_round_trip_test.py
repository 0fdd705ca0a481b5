#!/usr/bin/env python3
"""Every public data set reaches a real Cassandra as the partitions that its table declares.

Each set is ingested, sealed and synced; then the Python driver, which knows nothing of Cistern,
reads every partition back. What it must show is told by the readers of
tests/tools/datasets_test.py, which know nothing of Cistern either: all rows, all values, each in
its partition, in the clustering order that the table declares, with the time of the ingest as
write time, and with the TTL that was asked for, or none.

Usage: datasets_round_trip_test.py [DataSetsTest.test_beijing_air ...]

Environment: CISTERN_BIN, CISTERN_SHARED_DIR, CI; and CISTERN_CASSANDRA_ROWS, rows of each set, 0:
all. Of a set that has more, every file gives as many rows from another part of it: the first one
its beginning, the last one its end.
"""

import collections
import itertools
import os
import re
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import datasets_test as sets  # noqa: E402
from sync_case import SyncCase  # noqa: E402

ROWS_MAX = int(os.environ.get("CISTERN_CASSANDRA_ROWS", "14000"))
SET_TTL_S = {"nab-metrics": 15 * 86400, "xio-imu": 20 * 365 * 86400}  # of every row
WITHOUT_HEADER = {"daphnet-imu"}


def cut(path, place, rows_max, has_header):
    """Leaves rows_max lines of the file, `place` of the way between its first and its last ones.

    Returns how many lines went.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    header, rows = (lines[:1], lines[1:]) if has_header else ([], lines)
    if len(rows) <= rows_max:
        return 0
    first = int((len(rows) - rows_max) * place)
    path.write_bytes(b"".join([*header, *rows[first:first + rows_max]]))
    return len(rows) - rows_max


def cut_set(dataset, files):
    """Leaves about ROWS_MAX rows of the set, and says what it left out."""
    if ROWS_MAX == 0:
        return
    share = max(1, ROWS_MAX // len(files))
    gone = sum(cut(path, i / max(1, len(files) - 1), share, dataset.name not in WITHOUT_HEADER)
               for i, path in enumerate(files))
    if gone:
        print(f"LEFT OUT: {gone} rows of {dataset.name}; CISTERN_CASSANDRA_ROWS=0 sends all",
              flush=True)


def descends(dataset):
    """Whether each clustering column runs downwards, as the table's declaration says."""
    text = (sets.SOURCE / f"examples/schemas/{dataset.name}.cql").read_text(encoding="utf-8")
    order = re.search(r"CLUSTERING ORDER BY \(([^)]*)\)", text)
    declared = dict(part.split() for part in order.group(1).split(",")) if order else {}
    return [declared.get(column) == "DESC" for column in dataset.key]


def comes_before(key, other, down):
    for a, b, downwards in zip(key, other, down):
        if a != b:
            return a > b if downwards else a < b
    return False


class Comparison:
    """Takes the rows that were read one after another; afterwards nothing may be missing."""

    def __init__(self, dataset, expected, written_us, now_s):
        """expected: entity -> key -> cells; written_us: the first and last write time."""
        self.dataset = dataset
        self.missing = expected
        self.written_us = written_us
        self.now_s = now_s
        self.down = descends(dataset)
        self.ttl_s = SET_TTL_S.get(dataset.name)
        self.rows = 0
        self.partitions = set()
        self.last = (None, None)  # partition and key of the row before
        self.convert = {name: sets.OUT[kind] for name, kind in dataset.columns.items()}

    def take(self, row):
        dataset = self.dataset
        entity = tuple(row["partition"][name] for name in dataset.entity)
        key = tuple(self.convert[name](row["clustering"][name]) for name in dataset.key)
        bucket = getattr(dataset, "bucket_from_text", str)(row["partition"][dataset.bucket])
        assert bucket == dataset.bucket_of(key[0]), row
        cells = self.missing.get(entity, {}).pop(key, None)
        assert cells is not None, f"a row that was never written, or is there twice: {row}"
        got = {name: self.convert[name](cell[0]) for name, cell in row["cells"].items()}
        assert got == cells, f"read: {row}\nwritten: {cells}"
        for _, writetime, ttl in row["cells"].values():
            self.check_times(row, int(writetime), ttl)
        self.check_order(row, key)
        self.rows += 1

    def check_times(self, row, writetime_us, ttl):
        assert self.written_us[0] <= writetime_us <= self.written_us[1], row
        if self.ttl_s is None:
            assert ttl is None, row
        else:
            # Expiry counts from the second in which a commit group is written; the timestamps of
            # its rows follow one another, and the last ones may be of the next second.
            left_s = writetime_us // 1_000_000 + self.ttl_s - self.now_s
            assert left_s - 1 <= int(ttl) <= left_s, f"{left_s} s should be left: {row}"

    def check_order(self, row, key):
        partition = tuple(row["partition"].values())
        last_partition, last_key = self.last
        if last_partition == partition:
            assert comes_before(last_key, key, self.down), f"not in the declared order: {row}"
        else:
            assert partition not in self.partitions, f"a partition in two pieces: {partition}"
            self.partitions.add(partition)
        self.last = (partition, key)

    def finish(self):
        left = {entity: keys for entity, keys in self.missing.items() if keys}
        for entity, keys in itertools.islice(left.items(), 1):
            raise AssertionError(f"{sum(map(len, left.values()))} rows are missing, the first of "
                                 f"them {entity} {next(iter(keys.items()))}")


class DataSetsTest(SyncCase):
    def round_trip(self, name):
        dataset = sets.SETS[name]
        root, files = sets.find_files(dataset)
        if not files:
            print(f"LEFT OUT: {name}: no files in {root}", flush=True)
            self.skipTest(f"no files of {name}")
        began = time.monotonic()
        written_us, expected = self.ingest(dataset, root, files)
        self.tool("seal", "--store", self.store, "--all")
        self.apply_schema()
        ingested_s = time.monotonic() - began
        began = time.monotonic()
        self.sync()
        synced_s = time.monotonic() - began
        began = time.monotonic()
        now_s = int(time.time())
        comparison = Comparison(dataset, expected, written_us, now_s)
        for row in self.read(dataset.table, now_s):
            comparison.take(row)
        comparison.finish()
        self.check_all_is_confirmed()
        print(f"{name}: {comparison.rows} rows in {len(comparison.partitions)} partitions; "
              f"ingested in {ingested_s:.1f} s, sent in {synced_s:.1f} s, read back and compared "
              f"in {time.monotonic() - began:.1f} s", flush=True)

    def ingest(self, dataset, root, files):
        """Between when its write times must lie, and what it must have stored."""
        plain = sets.unpack(files, root, self.directory / "files")
        cut_set(dataset, plain)
        expected = collections.defaultdict(dict)
        row_count = 0
        for path in plain:
            for entity, key, cells in dataset.rows(path):
                expected[entity].setdefault(key, {}).update(cells)
                row_count += 1
        schema = sets.SOURCE / f"examples/schemas/{dataset.name}.cql"
        self.tool("create", "--store", self.store, "--schema", schema)
        words = [word.replace("$STORE", str(self.store))
                 for word in sets.readme_command(dataset.name) if word != "FILES"]
        if dataset.name in SET_TTL_S:
            words += ["--ttl", SET_TTL_S[dataset.name]]
        if dataset.small_memory:
            words += ["--memory-budget", "8MiB"]
        begin_us = time.time_ns() // 1000
        self.tool(*words, *plain)
        # Write times rise by one from row to row, and so run ahead of the clock where more than a
        # row is taken in each microsecond.
        return (begin_us, time.time_ns() // 1000 + row_count), expected

    def check_all_is_confirmed(self):
        """Nothing waits, and a second sync sends nothing."""
        status = self.status()
        self.assertEqual((status["seals_waiting"], status["versions_open"]), (0, 0), status)
        self.assertEqual(status["seals_parked"], 0, status)
        self.assertIn("nothing waits", self.sync())

    def test_beijing_air(self):
        self.round_trip("beijing-air")

    def test_capmetro_buses(self):
        self.round_trip("capmetro-buses")

    def test_daphnet_imu(self):
        self.round_trip("daphnet-imu")

    def test_xio_imu(self):
        self.round_trip("xio-imu")

    def test_metro_traffic(self):
        self.round_trip("metro-traffic")

    def test_nab_metrics(self):
        self.round_trip("nab-metrics")

    def test_balloon_telemetry(self):
        self.round_trip("balloon-telemetry")


if __name__ == "__main__":
    unittest.main()
