#!/usr/bin/env python3
"""Writes and deletes in any order, in seals and amendments, come to the same in a real Cassandra.

A model keeps what the statements in their order come to: a cell is what was written last, unless a
delete came later, and has the write time and the expiry of that write. After every sync the
Python driver reads each partition, which must be the model's: no row more, no row less, each cell
with its value, a write time within the command that wrote it, and its TTL to the second.

Environment: CISTERN_BIN; CISTERN_SEED replays a run.
"""

import collections
import os
import random
import sys
import time
import unittest
from datetime import datetime, timezone

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

DAY_MS = 86_400_000
FIRST_MS = 1_705_276_800_000  # 2024-01-15
DAYS = 3
ENTITIES = (("north", "1"), ("south", "1"), ("south", "-2"))
COLUMNS = ("a", "b", "c")
TTLS_S = (None, None, 86_400, 3_000_000, 630_000_000)
SHORT_TTL_S = 1
ROUNDS = 3
OPERATIONS = 9  # of each round

TABLES = {  # what differs: (definition of the split, options, default TTL)
    "plain": ("", "", ""),
    "newest": ("", "WITH CLUSTERING ORDER BY (ts DESC, n ASC) AND default_time_to_live = 7000000 "
                   "AND", "7000000"),
    "spread": ("part smallint,", "WITH", ""),
}


def statement(table):
    split, options, _ = TABLES[table]
    rule = "bucket day = 1 day" + ("; split part = hash 3" if split else "")
    key = "site, day, part, unit" if split else "site, unit, day"
    return (f"CREATE TABLE {table} (site text, unit int, day date, {split} ts timestamp, n int, "
            f"a double, b text, c frozen<list<int>>, PRIMARY KEY (({key}), ts, n)) "
            f"{options or 'WITH'} comment = 'cistern: {rule}';")


class Cell(collections.namedtuple("Cell", "value begin_us end_us ttl_s")):
    """What a write made of it; ttl_s None: for ever."""

    def is_over(self, now_s):
        return self.ttl_s is not None and self.end_us // 1_000_000 + self.ttl_s <= now_s


class Model:
    """The rows of a table: (entity, event time in ms, n) -> {column: Cell}; "" is the liveness."""

    def __init__(self):
        self.rows = {}

    def write(self, key, cells, marker):
        row = self.rows.setdefault(key, {})
        row[""] = marker
        row.update(cells)

    def delete(self, is_gone):
        self.rows = {key: row for key, row in self.rows.items() if not is_gone(key)}

    def at(self, now_s):
        """What a reader sees: rows that live or have a cell that does."""
        seen = {}
        for key, row in self.rows.items():
            live = {column: cell for column, cell in row.items() if not cell.is_over(now_s)}
            if live:
                seen[key] = {column: cell for column, cell in live.items()
                             if column and cell.value is not None}
                if not seen[key] and "" not in live:
                    del seen[key]
        return seen


def day_of(ms):
    return datetime.fromtimestamp(ms // 1000, timezone.utc).strftime("%Y-%m-%d")


class WritesTest(SyncCase):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("CISTERN_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"CISTERN_SEED={self.seed}", flush=True)
        self.random = random.Random(self.seed)
        schema = self.directory / "schema.cql"
        schema.write_text("\n".join(map(statement, TABLES)), encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        self.models = {table: Model() for table in TABLES}
        self.number = 0  # so that no two writes are alike

    # --- operations

    def some_time(self):
        """Few enough to be met again."""
        return FIRST_MS + self.random.randrange(DAYS) * DAY_MS + self.random.randrange(12) * 1001

    def some_rows(self):
        return {(self.random.choice(ENTITIES), self.some_time(), self.random.randrange(2))
                for _ in range(25)}

    def write(self, table, ttl_s, deletes_missing=False):
        """Rows that say some of the cells, each other ones."""
        keys = sorted(self.some_rows())
        rows = []
        for key in keys:
            self.number += 1
            values = {"a": f"{self.number}.5", "b": f"text {self.number}",
                      "c": f"[{self.number}, -1]"}
            share = self.random.choice((0, 0.6, 0.6, 1))  # 0: the row is there, and has no cell
            rows.append({column: values[column] for column in COLUMNS
                         if self.random.random() < share})
        lines = ["site,unit,ts,n,a,b,c"]
        for (entity, ms, n), cells in zip(keys, rows):
            lines.append(",".join([*entity, str(ms), str(n)] + [
                f'"{cells[column]}"' if column in cells else "" for column in COLUMNS]))
        begin_us = time.time_ns() // 1000
        self.tool("ingest", "--store", self.store, "--table", table, "--quiet",
                  *(["--ttl", ttl_s] if ttl_s is not None else []),
                  *(["--null-deletes"] if deletes_missing else []), "-",
                  stdin="\n".join(lines).encode() + b"\n")
        end_us = time.time_ns() // 1000
        default = TABLES[table][2]
        life_s = ttl_s if ttl_s is not None else int(default) if default else None
        for key, cells in zip(keys, rows):
            written = {column: Cell(value, begin_us, end_us, life_s)
                       for column, value in cells.items()}
            if deletes_missing:
                gone = Cell(None, begin_us, end_us, None)
                written |= {column: gone for column in COLUMNS if column not in cells}
            self.models[table].write(key, written, Cell("", begin_us, end_us, life_s))

    def delete(self, table):
        """A row, a range of event times, or a bucket: met or not."""
        entity = self.random.choice(ENTITIES)
        words = ["delete", "--store", self.store, "--table", table, "--entity",
                 f"site={entity[0]}", "--entity", f"unit={entity[1]}"]
        ms = self.some_time()
        kind = self.random.choice(("row", "range", "bucket", "bucket-of"))
        if kind == "row":
            n = self.random.randrange(2)
            words += ["--at", ms, "--key", f"n={n}"]
            is_gone = (entity, ms, n).__eq__
        elif kind == "range":
            end_ms = ms + self.random.choice((1001, 5000, DAY_MS, 2 * DAY_MS))
            words += ["--from", ms, "--to", end_ms]

            def is_gone(key):
                return key[0] == entity and ms <= key[1] < end_ms
        else:
            words += ["--bucket", day_of(ms)] if kind == "bucket" else ["--bucket-of", ms]

            def is_gone(key):
                return key[0] == entity and day_of(key[1]) == day_of(ms)
        self.tool(*words)
        self.models[table].delete(is_gone)

    def operate(self, table):
        if self.random.random() < 0.35:
            self.delete(table)
        else:
            self.write(table, self.random.choice(TTLS_S), self.random.random() < 0.3)

    # --- what arrived

    def check(self):
        tables = list(TABLES)
        now_s = int(time.time())
        words = [word for table in tables[1:]
                 for word in ("--table", f"{self.keyspace}.{table}")]
        got = {table: {} for table in tables}
        last = None
        for row in self.read(tables[0], now_s, *words):
            table = row["table"].rsplit(".", 1)[1]
            p, c = row["partition"], row["clustering"]
            ms = round(datetime.fromisoformat(c["ts"]).timestamp() * 1000)
            key = ((p["site"], p["unit"]), ms, int(c["n"]))
            self.assertEqual(p["day"], day_of(ms), row)
            self.assertNotIn(key, got[table], row)
            got[table][key] = row["cells"]
            order = (table, tuple(p.values())), (-ms if table == "newest" else ms, key[2])
            if last is not None and last[0] == order[0]:
                self.assertLess(last[1], order[1], row)
            last = order
        for table in tables:
            self.check_table(table, got[table], now_s)

    def check_table(self, table, got, now_s):
        expected = self.models[table].at(now_s)
        self.assertEqual(sorted(got), sorted(expected), f"rows of {table}")
        for key, cells in expected.items():
            self.assertEqual({column: cell[0] for column, cell in got[key].items()},
                             {column: cell.value for column, cell in cells.items()}, (table, key))
            for column, cell in cells.items():
                _, writetime, ttl = got[key][column]
                place = (table, key, column, cell, writetime, ttl)
                self.assertTrue(cell.begin_us <= int(writetime) <= cell.end_us, place)
                if cell.ttl_s is None:
                    self.assertIsNone(ttl, place)
                    continue
                # Rows that are written together expire together, by the second of the first.
                left_s = int(writetime) // 1_000_000 + cell.ttl_s - now_s
                self.assertTrue(left_s - 1 <= int(ttl) <= left_s, place)

    def seal_and_sync(self, is_first=False):
        self.tool("seal", "--store", self.store, "--all")
        if is_first:
            self.apply_schema()
        self.sync()
        self.assertEqual(self.status()["seals_waiting"], 0)

    def test_any_order(self):
        for table in TABLES:  # two seals of the same buckets on the first way up
            self.write(table, None)
        self.tool("seal", "--store", self.store, "--all")
        for number in range(ROUNDS):
            for _ in range(OPERATIONS):
                self.operate(self.random.choice(list(TABLES)))
            self.seal_and_sync(number == 0)
            self.check()

    def test_what_expired_before_it_was_sent_covers_what_was_sent(self):
        """The old cells are upstream already: they must not come back."""
        for table in TABLES:
            self.write(table, None)
        self.seal_and_sync(True)
        for table in TABLES:
            self.write(table, SHORT_TTL_S)
            self.delete(table)
        time.sleep(SHORT_TTL_S + 1)
        self.seal_and_sync()
        self.check()
        for table in TABLES:
            self.write(table, 86_400)
        self.seal_and_sync()
        self.check()


if __name__ == "__main__":
    unittest.main(verbosity=2)
