#!/usr/bin/env python3
"""Values of every type, as cells and as keys, arrive in a real Cassandra as they were written.

The expected texts are the literals that were ingested: their form is that of docs/schema.md, which
read_partitions.py has from the driver's values alone.

Environment: CISTERN_BIN.
"""

import json
import struct
import sys
import time
import unittest

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

# type -> literals: the least and the most, zero of both signs, nothing, what is not ASCII
CELLS = {
    "boolean": ["true", "false"],
    "tinyint": ["-128", "127", "0"],
    "smallint": ["-32768", "32767"],
    "int": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "float": ["0.1", "-0.0", "3.4028235e+38", "1e-45", "NaN", "-Infinity"],
    "double": ["0.1", "-0.0", "1.7976931348623157e+308", "5e-324", "NaN", "Infinity"],
    "text": ["", "pump-\u00e4\U0001f600", "it's \"quoted\", with a comma", "line\nline"],
    "ascii": ["", "~"],
    "blob": ["0x", "0x00ff", "0x" + "ab" * 3000],
    "timestamp": ["1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    "date": ["1970-01-01", "2024-02-29", "1582-10-10", "9999-12-31"],
    "time": ["00:00:00.000000000", "23:59:59.999999999"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "timeuuid": ["50554d6e-29bb-11e5-b345-feff819cdc9f"],
    "inet": ["192.168.0.1", "2001:db8::1", "::"],
    "varint": ["0", "-129", "1" + "0" * 300],
    "decimal": ["1.50", "1.2E+4", "0.000", "-0.1", "1E-1000"],
    "frozen<list<int>>": ["[]", "[3, -1, 3]"],
    "frozen<set<text>>": ["{'a', 'it''s'}"],
    "frozen<map<text, frozen<list<double>>>>": ["{'a': [1.5, 0.1], 'b': []}"],
    "frozen<list<frozen<map<int, frozen<set<date>>>>>>": ["[{1: {'2024-02-29'}}, {}]"],
    "duration": ["0s", "1y2mo3d4h5m6s7ms8us9ns", "-178956970y7mo2147483647d", "-1ns"],
    "tuple<int, text, frozen<set<int>>>": ["(1, 'it''s', {1, 3})", "(null, null, null)",
                                           "(-1, '', {})"],
    "frozen<tuple<duration, frozen<tuple<uuid, boolean>>>>": [
        "(2h, (00000000-0000-0000-0000-000000000000, true))", "(null, (null, false))"],
    "frozen<spot>": ["{x: 0.5, y: null}", "{x: null, y: null}"],
    "frozen<visit>": ["{at: {x: -0.5, y: 1e-07}, \"Note\": 'it''s', took: 2h}",
                      "{at: null, \"Note\": '', took: null}"],
    "map<int, frozen<spot>>": ["{1: {x: 1.5, y: 2.5}, 2: {x: null, y: null}}"],
    "vector<float, 3>": ["[0.1, -0, 3.4028235e+38]"],
    "vector<smallint, 2>": ["[-32768, 1]"],
    "vector<text, 2>": ["['', 'it''s']"],
    "frozen<list<frozen<tuple<int, int>>>>": ["[(1, 2), (3, null)]"],
    "set<inet>": ["{'10.0.0.1', '10.0.0.2'}"],
    "map<text, blob>": ["{'a': 0x00ff, 'b': 0x}"],
}
TYPES = """CREATE TYPE spot (x double, y double);
CREATE TYPE visit (at frozen<spot>, "Note" text, took duration);
"""
FIRST_MS = 1_705_276_800_000  # 2024-01-15
NOT_IN_KEYS = ("varint", "decimal", "frozen", "set", "map", "duration", "tuple", "vector")


def same(kind, got, written):
    """Reals by their bits, everything else by its text."""
    form = {"float": "<f", "double": "<d"}.get(kind)
    if form is None:
        return got == written
    return struct.pack(form, float(got)) == struct.pack(form, float(written))


def text_of(value):
    """JSON has booleans of its own."""
    return str(value).lower() if isinstance(value, bool) else value


class TypesTest(SyncCase):
    def ingest(self, table, rows):
        text = "\n".join(json.dumps(row) for row in rows) + "\n"
        self.tool("ingest", "--store", self.store, "--table", table, "--format", "jsonl", "--quiet",
                  "-", stdin=text.encode())

    def arrived(self, *tables):
        self.tool("seal", "--store", self.store, "--all")
        self.apply_schema()
        self.sync()
        words = [word for table in tables[1:]
                 for word in ("--table", f"{self.keyspace}.{table}")]
        rows = {table: [] for table in tables}
        for row in self.read(tables[0], int(time.time()), *words):
            rows[row.get("table", tables[0]).rsplit(".", 1)[-1]].append(row)
        return rows

    def test_every_type_in_a_cell_and_in_keys(self):
        names = {kind: f"c{i}" for i, kind in enumerate(CELLS)}
        keys = {kind: f"k{i}" for i, kind in enumerate(CELLS) if not kind.startswith(NOT_IN_KEYS)}
        schema = self.directory / "schema.cql"
        columns = ", ".join(f"{name} {kind}" for kind, name in names.items())
        statements = [f"{TYPES}CREATE TABLE cells (e text, day date, ts timestamp, {columns}, "
                      "PRIMARY KEY ((e, day), ts)) WITH CLUSTERING ORDER BY (ts DESC);"]
        for kind, name in keys.items():
            statements.append(
                f"CREATE TABLE {name} (e {kind}, day date, ts timestamp, k {kind}, n smallint, "
                "v int, PRIMARY KEY ((e, day), ts, k, n)) WITH CLUSTERING ORDER BY (ts ASC, "
                "k DESC, n ASC) AND comment = 'cistern: bucket day = 1 day';")
        schema.write_text("\n".join(statements), encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        cells = self.cell_rows(names)
        self.ingest("cells", cells)
        for kind, name in keys.items():
            self.ingest(name, self.key_rows(kind))
        got = self.arrived("cells", *keys.values())
        self.check_cells(got["cells"], cells, {name: kind for kind, name in names.items()})
        for kind, name in keys.items():
            self.check_keys(kind, got[name])

    @staticmethod
    def cell_rows(names):
        """The n-th row has the n-th literal of each type that has so many."""
        count = max(map(len, CELLS.values()))
        return [{"e": "a", "ts": FIRST_MS + n} | {
            name: CELLS[kind][n] for kind, name in names.items() if n < len(CELLS[kind])}
            for n in range(count)]

    def check_cells(self, got, written, kinds):
        self.assertEqual(len(got), len(written))
        for read, row in zip(got, reversed(written)):
            expected = {name: value for name, value in row.items() if name not in ("e", "ts")}
            self.assertEqual(set(read["cells"]), set(expected))
            for name, value in expected.items():
                shown = text_of(read["cells"][name][0])
                self.assertTrue(same(kinds[name], shown, value), (kinds[name], shown, value))

    @staticmethod
    def key_values(kind):
        """What is short enough for a key."""
        return [value for value in CELLS[kind] if len(value) < 1000]

    def key_rows(self, kind):
        return [{"e": entity, "ts": "2024-01-15", "k": key, "n": n, "v": n}
                for entity in self.key_values(kind) for key in self.key_values(kind)
                for n in (1, -1)]

    def check_keys(self, kind, got):
        expected = self.key_rows(kind)
        self.assertEqual(len(got), len(expected), kind)
        for row in got:
            place = [i for i, one in enumerate(expected)
                     if same(kind, text_of(row["partition"]["e"]), one["e"])
                     and same(kind, text_of(row["clustering"]["k"]), one["k"])
                     and row["clustering"]["n"] == str(one["n"])]
            self.assertEqual(len(place), 1, (kind, row))
            self.assertEqual(row["cells"]["v"][0], str(expected.pop(place[0])["v"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
