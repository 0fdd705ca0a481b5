#!/usr/bin/env python3
"""Every bucket width in every form, every kind of event time and both splits, in a real Cassandra.

Each row must lie in the partition that docs/schema.md tells of its event time; the values are
computed here, by Python's own calendar.

Environment: CISTERN_BIN.
"""

import collections
import ctypes
import ctypes.util
import struct
import sys
import time
import unittest
import uuid
from datetime import datetime, timedelta, timezone

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
UNIT_MS = {"second": 1000, "minute": 60_000, "hour": 3_600_000}
# Characters of 2024-01-15-14-05-30 that name a bucket of the unit.
TEXT_END = {"second": 19, "minute": 16, "hour": 13, "day": 10, "month": 7, "year": 4}
TIMES = ["0001-01-02T12:00:00.000", "1000-01-01T00:00:00.000", "1582-10-10T12:00:00.000",
         "1969-12-28T23:59:59.999", "1969-12-31T23:59:59.999", "1970-01-01T00:00:00.000",
         "2000-02-29T23:59:59.999", "2020-12-31T12:34:56.789", "2021-01-03T23:59:59.999",
         "2021-01-04T00:00:00.000", "2024-01-15T14:05:30.000", "2024-12-30T00:00:00.001"]
FIRST_OF_CALENDAR = 1000  # the year that numbers of the calendar begin with


def millis(text):
    return (datetime.fromisoformat(text + "+00:00") - EPOCH) // timedelta(milliseconds=1)


def at(ms):
    return EPOCH + timedelta(milliseconds=ms)


def number_of(ms, count, unit):
    """The bucket's number, counted from the beginning of 1970."""
    day = ms // 86_400_000
    if unit in UNIT_MS:
        return ms // (UNIT_MS[unit] * count)
    if unit == "month":
        return (at(ms).year - 1970) * 12 + at(ms).month - 1
    return {"day": day, "week": (day + 3) // 7, "year": at(ms).year - 1970}[unit]


def start_of(ms, count, unit):
    """The bucket's first instant."""
    if unit in UNIT_MS:
        return at(number_of(ms, count, unit) * UNIT_MS[unit] * count)
    day = at(ms).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return EPOCH + timedelta(days=number_of(ms, count, unit) * 7 - 3)
    return {"day": day, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[unit]


def label_of(ms, count, unit):
    if unit == "week":
        year, week, _ = at(ms).isocalendar()
        return f"{year:04}-W{week:02}"
    start = start_of(ms, count, unit)
    text = (f"{start.year:04}-{start.month:02}-{start.day:02}-{start.hour:02}-{start.minute:02}"
            f"-{start.second:02}")
    return text[:TEXT_END[unit]]


def value_of(ms, column, form, count, unit):
    """What stands in the bucket column, as read_partitions.py prints it."""
    start = start_of(ms, count, unit)
    if column == "date":
        return f"{start.year:04}-{start.month:02}-{start.day:02}"
    if column == "timestamp":
        return (f"{start.year:04}-{start.month:02}-{start.day:02}T{start.hour:02}:"
                f"{start.minute:02}:{start.second:02}.000Z")
    if column in ("text", "ascii"):
        return label_of(ms, count, unit)
    if form == "epoch":
        return str(number_of(ms, count, unit))
    return str(int(label_of(ms, count, unit).replace("-", "").replace("W", "")))


def is_in_range(text, column, form, count, unit):
    if form == "calendar":
        return int(text[:4]) >= FIRST_OF_CALENDAR
    return column != "int" or abs(number_of(millis(text), count, unit)) < 1 << 31


def valid_rules():
    """(bucket column's type, form, count, unit): the table of valid pairs of docs/schema.md."""
    for unit, divides, other in (("second", 20, 7), ("minute", 15, 7), ("hour", 6, 5)):
        for column, form in (("text", "text"), ("ascii", "text"), ("bigint", "calendar")):
            yield column, form, divides, unit
        for column, form in (("timestamp", "timestamp"), ("bigint", "epoch"), ("int", "epoch")):
            yield column, form, divides, unit
            yield column, form, other, unit
    for unit in ("day", "week", "month", "year"):
        for column, form in (("date", "date"), ("timestamp", "timestamp"), ("text", "text"),
                             ("ascii", "text"), ("bigint", "calendar"), ("bigint", "epoch"),
                             ("int", "calendar"), ("int", "epoch")):
            yield column, form, 1, unit


class BucketsTest(SyncCase):
    def make(self, statements):
        schema = self.directory / "schema.cql"
        schema.write_text("\n".join(statements), encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)

    def ingest(self, table, lines, *options):
        self.tool("ingest", "--store", self.store, "--table", table, "--quiet", *options, "-",
                  stdin="\n".join(lines).encode() + b"\n")

    def arrived(self, *tables):
        """The rows of each table, in the server's order, after everything was sealed and sent."""
        self.tool("seal", "--store", self.store, "--all")
        self.apply_schema()
        self.sync()
        rows = collections.defaultdict(list)
        words = [word for table in tables[1:]
                 for word in ("--table", f"{self.keyspace}.{table}")]
        for row in self.read(tables[0], int(time.time()), *words):
            rows[row.get("table", tables[0]).rsplit(".", 1)[-1]].append(row)
        return rows

    def test_every_width_in_every_form(self):
        rules = {f"t{i}": rule for i, rule in enumerate(valid_rules())}
        self.make(f"CREATE TABLE {table} (e text, b {column}, ts timestamp, v int, "
                  f"PRIMARY KEY ((e, b), ts)) WITH comment = 'cistern: bucket b = {count} {unit} "
                  f"as {form}';" for table, (column, form, count, unit) in rules.items())
        expected = {}
        for table, (column, form, count, unit) in rules.items():
            times = [text for text in TIMES if is_in_range(text, column, form, count, unit)]
            self.ingest(table, ["e,ts,v"] + [f"a,{text}Z,{i}" for i, text in enumerate(times)])
            expected[table] = {
                (value_of(millis(text), column, form, count, unit), text + "Z", str(i))
                for i, text in enumerate(times)}
        got = self.arrived(*rules)
        self.assertEqual(set(got), set(rules))
        for table, rows in got.items():
            read = [(row["partition"]["b"], row["clustering"]["ts"], row["cells"]["v"][0])
                    for row in rows]
            self.assertEqual(len(read), len(set(read)))
            self.assertEqual(set(read), expected[table], rules[table])

    def test_widths_that_follow_one_another(self):
        self.make(["CREATE TABLE t (b text, e int, ts timestamp, v int, PRIMARY KEY ((b, e), ts)) "
                   "WITH comment = 'cistern: bucket b = 1 month until 2021-01-01, 6 hours';"])
        times = [text for text in TIMES if text[:4] > "1500"]
        self.ingest("t", ["e,ts,v"] + [f"-1,{text}Z,1" for text in times])
        rows = self.arrived("t")["t"]
        expected = {(value_of(millis(text), "text", "text",
                              *((1, "month") if text < "2021" else (6, "hour"))), text + "Z")
                    for text in times}
        self.assertEqual({(r["partition"]["b"], r["clustering"]["ts"]) for r in rows}, expected)
        self.assertEqual(len(rows), len(times))

    def test_event_times_of_every_kind(self):
        """Units of a bigint, and the time inside a timeuuid."""
        units = {"s": 10**0, "ms": 10**3, "us": 10**6, "ns": 10**9}
        tables = [f"CREATE TABLE in_{unit} (e text, b date, ts bigint, v int, PRIMARY KEY ((e, b), "
                  f"ts)) WITH comment = 'cistern: bucket b = 1 day; time ts = {unit}';"
                  for unit in units]
        self.make([*tables, "CREATE TABLE in_uuid (e text, day date, ts timeuuid, v int, PRIMARY "
                   "KEY ((e, day), ts)) WITH CLUSTERING ORDER BY (ts DESC);"])
        seconds = [-86401, -1, 0, 951_868_799, 1_705_327_530]
        for unit, factor in units.items():
            self.ingest(f"in_{unit}", ["e,ts,v"] + [f"a,{s * factor + factor - 1},{s}"
                                                    for s in seconds])
        ids = {str(uuid.UUID(fields=self.uuid_fields(s * 10**7 + tick, node))): s
               for s in seconds[2:] for tick in (0, 9_999_999) for node in (1, 2)}
        self.ingest("in_uuid", ["e,ts,v"] + [f"a,{one},{s}" for one, s in ids.items()])
        got = self.arrived(*[f"in_{unit}" for unit in units], "in_uuid")
        for unit, factor in units.items():
            self.assertEqual(
                {(r["partition"]["b"], r["clustering"]["ts"], r["cells"]["v"][0])
                 for r in got[f"in_{unit}"]},
                {(at(s * 1000).strftime("%Y-%m-%d"), str(s * factor + factor - 1), str(s))
                 for s in seconds})
        self.assertEqual(sorted(r["clustering"]["ts"] for r in got["in_uuid"]), sorted(ids))
        for row in got["in_uuid"]:
            s = ids[row["clustering"]["ts"]]
            self.assertEqual(row["partition"]["day"], at(s * 1000).strftime("%Y-%m-%d"))
            self.assertEqual(row["cells"]["v"][0], str(s))
        self.check_newest_first(got["in_uuid"])

    @staticmethod
    def uuid_fields(ticks, node):
        """Of version 1, which counts from 1582."""
        ticks += 0x01B21DD213814000
        return (ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 | 0x1000, 0x80, 0, node)

    def check_newest_first(self, rows):
        by_partition = collections.defaultdict(list)
        for row in rows:
            by_partition[row["partition"]["day"]].append(uuid.UUID(row["clustering"]["ts"]).time)
        for times in by_partition.values():
            self.assertEqual(times, sorted(times, reverse=True))

    def test_splits(self):
        self.make([
            "CREATE TABLE hashed (plant text, b date, part tinyint, unit int, ts timestamp, n int, "
            "v int, PRIMARY KEY ((plant, b, part, unit), ts, n)) WITH comment = "
            "'cistern: bucket b = 1 day; split part = hash 5';",
            "CREATE TABLE turns (e text, b date, part bigint, ts timestamp, v int, PRIMARY KEY "
            "((e, part, b), ts)) WITH comment = "
            "'cistern: bucket b = 1 day; split part = round_robin 3';"])
        base = millis("2024-01-15T00:00:00.000")
        keys = [(base + i * 977, i % 7 - 3) for i in range(200)]
        self.ingest("hashed", ["plant,unit,ts,n,v"] + [
            f"{plant},{unit},{ts},{n},{i}" for plant, unit in (("p", 1), ("p", -1), ("q", 1))
            for i, (ts, n) in enumerate(keys)])
        self.ingest("turns", ["e,ts,v"] + [f"a,{ts},{i}" for i, (ts, _) in enumerate(keys)])
        got = self.arrived("hashed", "turns")
        self.assertEqual(len(got["hashed"]), 3 * len(keys))
        seen = set()
        for row in got["hashed"]:
            ts, n = keys[int(row["cells"]["v"][0])]
            p = row["partition"]
            self.assertEqual((millis(row["clustering"]["ts"][:-1]), int(row["clustering"]["n"])),
                             (ts, n))
            self.assertEqual(int(p["part"]), split_of((">q", ts), (">i", n), count=5))
            self.assertEqual(p["b"], "2024-01-15")
            seen.add((p["plant"], p["unit"], row["cells"]["v"][0]))
        self.assertEqual(len(seen), 3 * len(keys))
        self.assertEqual({(plant, unit) for plant, unit, _ in seen},
                         {("p", "1"), ("p", "-1"), ("q", "1")})
        self.assertEqual(sorted(int(r["cells"]["v"][0]) for r in got["turns"]),
                         list(range(len(keys))))
        load = collections.Counter(row["partition"]["part"] for row in got["turns"])
        self.assertEqual(sorted(load.values()), [66, 67, 67])
        self.assertEqual(set(load), {"0", "1", "2"})


_xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
_xxhash.XXH3_64bits.restype = ctypes.c_uint64
_xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def split_of(*columns, count):
    """The split of `hash count`, as docs/schema.md tells; columns: (form of struct, value)."""
    key = b""
    for form, value in columns:
        raw = struct.pack(form, value)
        key += struct.pack(">H", len(raw)) + raw
    return _xxhash.XXH3_64bits(key, len(key)) % count


if __name__ == "__main__":
    unittest.main(verbosity=2)
