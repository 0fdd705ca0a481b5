#!/usr/bin/env python3
"""What a store's scans export to Arrow is what was written, as pyarrow reads it.

Rows of every type go in as literals by the tool; scan_module.cc scans them and exports; pyarrow
imports, checks its own invariants (validate(full=True)), and every value, null and type is compared
with what this file and docs/arrow.md say.

Environment: CISTERN_BIN, CISTERN_SOURCE_DIR, CISTERN_ARROW_MODULE, CISTERN_ARROW_EXAMPLE, CI.
"""

import contextlib
import ctypes
import datetime
import gc
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import uuid
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pyarrow_python import PYARROW_VERSION, run_with_pyarrow  # noqa: E402

try:
    if metadata.version("pyarrow") != PYARROW_VERSION:
        run_with_pyarrow(__file__)
except metadata.PackageNotFoundError:
    run_with_pyarrow(__file__)
import pyarrow  # noqa: E402

BIN = os.environ["CISTERN_BIN"]
SOURCE = Path(os.environ["CISTERN_SOURCE_DIR"])
POINTER = ctypes.sizeof(ctypes.c_void_p)
# Sizes of the structures of the C data and stream interfaces, in bytes; int64 stand aligned.
SCHEMA_BYTES, ARRAY_BYTES, STREAM_BYTES = 9 * 8, 10 * 8, 5 * POINTER
FIRST_MS = 1_705_276_800_000  # 2024-01-15
DAY_MS = 86_400_000
TIMEUUID = "50554d6e-29bb-11e5-b345-feff819cdc9f"

# type -> (literal, what pyarrow must show of it; of times the number, of uuids the bytes)
CELLS = {
    "boolean": [("true", True), ("false", False)],
    "tinyint": [("-128", -128), ("127", 127)],
    "smallint": [("-32768", -32768), ("32767", 32767), ("0", 0)],
    "int": [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)],
    "bigint": [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)],
    "float": [("-0.0", -0.0), ("1e-45", 2.0**-149), ("NaN", float("nan")),
              ("3.4028235e+38", 340282346638528859811704183484516925440.0)],
    "double": [("0.1", 0.1), ("-0.0", -0.0), ("5e-324", 5e-324), ("NaN", float("nan")),
               ("-Infinity", float("-inf"))],
    "text": [("", ""), ("\u00e4\U0001f600", "\u00e4\U0001f600"), ("x" * 5000, "x" * 5000)],
    "ascii": [("", ""), ("~", "~")],
    "blob": [("0x", b""), ("0x00ff", b"\x00\xff"), ("0x" + "ab" * 3000, b"\xab" * 3000)],
    "timestamp": [("1969-12-31T23:59:59.999Z", -1), ("9999-12-31T23:59:59.999Z", 253402300799999)],
    "date": [("1970-01-01", 0), ("1969-12-31", -1), ("9999-12-31", 2932896)],
    "time": [("00:00:00.000000000", 0), ("23:59:59.999999999", 86399999999999)],
    "uuid": [("00000000-0000-0000-0000-000000000000", bytes(16)),
             ("ffffffff-ffff-ffff-ffff-ffffffffffff", b"\xff" * 16)],
    "timeuuid": [(TIMEUUID, uuid.UUID(TIMEUUID).bytes)],
    "inet": [("192.168.0.1", b"\xc0\xa8\x00\x01"), ("::1", bytes(15) + b"\x01")],
    "varint": [("0", "0"), ("-129", "-129"), ("1" + "0" * 300, str(10**300))],
    "decimal": [("1.50", "1.50"), ("1.2E+4", "1.2E+4"), ("-0.1", "-0.1"), ("1E-1000", "1E-1000")],
    "duration": [("1mo2d", "1mo2d"), ("-3h", "-3h")],
    "frozen<tuple<int, text>>": [("(1, 'it''s')", "(1, 'it''s')"), ("(null, '')", "(null, '')")],
    "vector<float, 2>": [("[0.5, 1]", "[0.5, 1]")],
    "set<int>": [("{1, 2}", [1, 2])],
    "frozen<list<int>>": [("[]", []), ("[3, -1, 3]", [3, -1, 3])],
    "frozen<set<text>>": [("{'a', 'it''s'}", ["a", "it's"])],
    "frozen<map<text, int>>": [("{'a': 1, 'b': -2}", [("a", 1), ("b", -2)]), ("{}", [])],
    "frozen<list<boolean>>": [("[true, false, true]", [True, False, True])],
    "frozen<list<decimal>>": [("[1.50, 2]", ["1.50", "2"])],
    "frozen<map<text, frozen<list<double>>>>": [("{'a': [1.5, 0.1], 'b': []}",
                                                 [("a", [1.5, 0.1]), ("b", [])])],
    "frozen<list<frozen<map<int, frozen<set<date>>>>>>": [
        ("[{1: {'2024-02-29'}}, {}]", [[(1, [datetime.date(2024, 2, 29)])], []])],
    "frozen<set<timeuuid>>": [("{%s}" % TIMEUUID, [uuid.UUID(TIMEUUID)])],
}
NAMES = {kind: f"c{i}" for i, kind in enumerate(CELLS)}
ROWS = 61  # more than one byte of each bitmap; no multiple of any batch


def plain(column):
    """The values of an array: times as their numbers, uuids as their bytes."""
    kind = column.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_time(kind):
        return column.cast(pyarrow.int64()).to_pylist()
    if pyarrow.types.is_date(kind):
        return column.cast(pyarrow.int32()).to_pylist()
    if isinstance(kind, pyarrow.BaseExtensionType):
        return column.storage.to_pylist()
    return column.to_pylist()


def bits(values):
    """Reals by their bits, so that -0.0 and NaN are told apart; all else as it is."""
    return [struct.pack("<d", v) if isinstance(v, float) else v for v in values]


def cell(kind, row):
    """What row `row` has of the type: its literals by turns, then nothing."""
    choices = [*CELLS[kind], (None, None)]
    return choices[row % len(choices)]


class Module:
    """scan_module.cc."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.scan_open.restype = ctypes.c_void_p
        self.library.scan_open.argtypes = (
            [ctypes.c_char_p] * 3 + [ctypes.c_int64] * 2 + [ctypes.c_char_p, ctypes.c_uint64])
        self.library.scan_error.restype = ctypes.c_char_p
        self.library.scan_error.argtypes = [ctypes.c_void_p]
        self.library.scan_next.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                                           ctypes.c_void_p]
        self.library.scan_stream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.library.scan_close.argtypes = [ctypes.c_void_p]

    @contextlib.contextmanager
    def scan(self, store, table, entity, span, columns=(), batch_rows=1024):
        handle = self.library.scan_open(str(store).encode(), table.encode(),
                                        "\x1f".join(entity).encode(), *span,
                                        "\x1f".join(columns).encode(), batch_rows)
        try:
            self.require(handle)
            yield handle
        finally:
            self.library.scan_close(handle)

    def require(self, handle):
        error = self.library.scan_error(handle).decode()
        if error:
            raise RuntimeError(error)

    def next(self, handle, as_rows=False):
        """The next record batch, and whether there was one: at the end an empty one of rows."""
        schema = ctypes.create_string_buffer(SCHEMA_BYTES)
        array = ctypes.create_string_buffer(ARRAY_BYTES)
        more = self.library.scan_next(handle, int(as_rows), schema, array)
        self.require(handle)
        if more == 0 and not as_rows:
            return None, False
        batch = pyarrow.RecordBatch._import_from_c(ctypes.addressof(array),
                                                   ctypes.addressof(schema))
        batch.validate(full=True)
        return batch, more == 1

    def batches(self, *scan, as_rows=False, **options):
        found = []
        with self.scan(*scan, **options) as handle:
            while True:
                batch, more = self.next(handle, as_rows)
                if not more:
                    return found
                found.append(batch)

    def reader(self, handle):
        stream = ctypes.create_string_buffer(STREAM_BYTES)
        self.library.scan_stream(handle, stream)
        self.require(handle)
        return pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream))


class ArrowCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = Module(os.environ["CISTERN_ARROW_MODULE"])
        cls.directory = Path(tempfile.mkdtemp(prefix="cistern-arrow-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.store = cls.directory / "store"

    @classmethod
    def tool(cls, *arguments, stdin=""):
        done = subprocess.run([BIN, *map(str, arguments)], input=stdin, capture_output=True,
                              text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    @classmethod
    def create(cls, text):
        (cls.directory / "schema.cql").write_text(text, encoding="utf-8")
        cls.tool("create", "--store", cls.store, "--schema", cls.directory / "schema.cql")

    @classmethod
    def ingest(cls, table, rows):
        cls.tool("ingest", "--store", cls.store, "--table", table, "--format", "jsonl", "--quiet",
                 "-", stdin="".join(json.dumps(row) + "\n" for row in rows))


class CellsTest(ArrowCase):
    """Every type as a regular column: the first half of the rows sealed, the others not."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        columns = ", ".join(f"{name} {kind}" for kind, name in NAMES.items())
        cls.create(f"CREATE TABLE cells (e text, day date, ts timestamp, {columns}, "
                   "PRIMARY KEY ((e, day), ts)) WITH CLUSTERING ORDER BY (ts DESC);")
        cls.ingest("cells", cls.rows(range(ROWS // 2)))
        cls.tool("seal", "--store", cls.store, "--all")
        cls.ingest("cells", cls.rows(range(ROWS // 2, ROWS)))
        cls.span = (FIRST_MS, FIRST_MS + ROWS * DAY_MS)
        cls.scan = (cls.store, "cells", ["pump"], cls.span)

    @staticmethod
    def ts(row):
        return FIRST_MS + row * (DAY_MS // 8) + row  # eight or so to a bucket

    @classmethod
    def rows(cls, numbers):
        for row in numbers:
            cells = {NAMES[kind]: cell(kind, row)[0] for kind in CELLS}
            yield {"e": "pump", "ts": cls.ts(row)} | {
                name: value for name, value in cells.items() if value is not None}

    def check(self, batch, rows, has_bucket=True):
        """The batch has these rows, in all its columns."""
        self.assertEqual(batch.num_rows, len(rows))
        self.assertEqual(plain(batch.column("e")), ["pump"] * len(rows))
        self.assertEqual(plain(batch.column("ts")), [self.ts(row) for row in rows])
        if has_bucket:
            self.assertEqual(plain(batch.column("day")), [self.ts(row) // DAY_MS for row in rows])
        for kind, name in NAMES.items():
            column = batch.column(name)
            expected = [cell(kind, row)[1] for row in rows]
            self.assertEqual(bits(plain(column)), bits(expected), kind)
            self.assertEqual(column.null_count, expected.count(None), kind)
            self.assertEqual(column.is_null().to_pylist(), [v is None for v in expected], kind)

    def test_every_value_and_null(self):
        for batch_rows in (1024, 7):
            batches = self.module.batches(*self.scan, batch_rows=batch_rows)
            gc.collect()  # the cursor and the engine are gone; the batches are not
            row = 0
            for batch in batches:
                self.assertLessEqual(batch.num_rows, batch_rows)
                self.check(batch, range(row, row + batch.num_rows))
                row += batch.num_rows
            self.assertEqual(row, ROWS)

    def test_slices(self):
        table = pyarrow.Table.from_batches(self.module.batches(*self.scan)).combine_chunks()
        batch, = table.to_batches()
        for offset in (1, 8, 13):
            part = batch.slice(offset, ROWS - offset - 3)
            part.validate(full=True)
            self.check(part, range(offset, ROWS - 3))

    def test_parts_that_outlive_their_batch(self):
        batch = self.module.batches(*self.scan)[0]
        rows = range(batch.num_rows)
        columns = {kind: batch.column(name) for kind, name in NAMES.items()}
        child = batch.column(NAMES["frozen<map<text, int>>"]).items
        del batch
        gc.collect()
        for kind, column in columns.items():
            self.assertEqual(bits(plain(column)), bits([cell(kind, row)[1] for row in rows]))
        del columns
        gc.collect()
        pairs = sum((cell("frozen<map<text, int>>", row)[1] or [] for row in rows), [])
        self.assertEqual(child.to_pylist(), [value for _, value in pairs])
        self.assertGreater(len(pairs), 2)

    def test_types_are_those_of_the_docs(self):
        batch = self.module.batches(*self.scan)[0]
        documented = {}
        for line in (SOURCE / "docs/arrow.md").read_text(encoding="utf-8").splitlines():
            cells = line.split(" | ")
            if len(cells) == 5 and cells[0].startswith("| `"):
                for kind in re.findall(r"`([^`]+)`", cells[0]):
                    documented[kind] = cells[1].strip("`")
        shown = {kind: str(batch.schema.field(name).type) for kind, name in NAMES.items()}
        self.assertEqual(documented, {kind: shown[kind] for kind in documented})
        self.assertLessEqual({kind for kind in CELLS if "<" not in kind}, set(documented))
        self.assertGreater(len(documented), 18)

    def test_metadata(self):
        schema = self.module.batches(*self.scan)[0].schema
        self.assertIn(b"CREATE TABLE cells", schema.metadata[b"cql"])
        roles = {"e": b"entity", "day": b"bucket", "ts": b"clustering"}
        for kind, name in [("text", "e"), ("date", "day"), ("timestamp", "ts"), *NAMES.items()]:
            field = schema.field(name)
            self.assertEqual(field.metadata[b"cql"], kind.encode(), name)
            self.assertEqual(field.metadata[b"cistern.role"], roles.get(name, b"regular"))
            self.assertEqual(field.nullable, name not in roles, name)
        child = schema.field(NAMES["frozen<set<text>>"]).type.value_field
        self.assertEqual(child.metadata[b"cql"], b"text")

    def test_projections(self):
        batch = self.module.batches(*self.scan, columns=["c0", "ts", "c0"])[0]
        self.assertEqual(batch.schema.names, ["c0", "ts", "c0"])
        self.assertEqual(batch.column(0), batch.column(2))

    def test_streams(self):
        with self.module.scan(*self.scan, batch_rows=7) as handle:
            reader = self.module.reader(handle)
        table = reader.read_all()  # the stream has outlived the engine
        table.validate(full=True)
        self.check(table.combine_chunks().to_batches()[0], range(ROWS))
        batches = self.module.batches(*self.scan, batch_rows=7)
        self.assertEqual([batch.num_rows for batch in table.to_batches()],
                         [batch.num_rows for batch in batches])
        self.assertTrue(table.schema.equals(batches[0].schema, check_metadata=True))

    def test_streams_without_rows(self):
        for entity, span in ((["none"], self.span), (["pump"], (0, 1))):
            with self.module.scan(self.store, "cells", entity, span) as handle:
                table = self.module.reader(handle).read_all()
            self.assertEqual(table.num_rows, 0)
            self.assertEqual(table.schema.names, ["e", "day", "ts", *NAMES.values()])

    def test_a_stream_that_is_left_lets_go_of_the_store(self):
        with self.module.scan(*self.scan, batch_rows=1) as handle:
            reader = self.module.reader(handle)
            self.check(reader.read_next_batch(), range(1))
            reader.close()
            with self.assertRaises(RuntimeError):  # the cursor is the stream's
                self.module.reader(handle)

    def test_batches_on_their_way_in(self):
        batches = self.module.batches(*self.scan, as_rows=True, batch_rows=13)
        self.assertEqual(batches[0].schema.names, ["e", "ts", *NAMES.values()])
        row = 0
        for batch in batches:
            self.check(batch, range(row, row + batch.num_rows), has_bucket=False)
            row += batch.num_rows
        self.assertEqual(row, ROWS)

    def test_a_batch_without_rows(self):
        with self.module.scan(self.store, "cells", ["none"], self.span) as handle:
            batch, more = self.module.next(handle, as_rows=True)
        self.assertFalse(more)
        self.check(batch, [], has_bucket=False)


class KeysTest(ArrowCase):
    """Entities, buckets, splits and clustering keys of several types."""

    def test_every_key_column(self):
        self.create(
            "CREATE TABLE keyed (site int, unit uuid, hour timestamp, shard tinyint, ts bigint, "
            "part inet, v float, PRIMARY KEY ((site, unit, hour, shard), ts, part)) "
            "WITH CLUSTERING ORDER BY (ts DESC, part ASC) "
            "AND comment = 'cistern: time ts = us; bucket hour = 1 hour; split shard = hash 4';")
        times = [FIRST_MS * 1000 + n * 1_700_000_001 for n in range(20)]
        parts = ["10.0.0.%d" % n for n in range(3)]
        self.ingest("keyed", ({"site": -5, "unit": TIMEUUID, "ts": ts, "part": part, "v": 1}
                              for ts in times for part in parts))
        batches = self.module.batches(self.store, "keyed", ["-5", TIMEUUID],
                                      (times[0], times[-1] + 1))
        batch, = pyarrow.Table.from_batches(batches).combine_chunks().to_batches()
        self.assertEqual(str(batch.schema.field("ts").type), "int64")
        # An ascending scan is the declared order from its end on.
        rows = [(ts, bytes([10, 0, 0, n])) for ts in times for n in (2, 1, 0)]
        self.assertEqual(list(zip(plain(batch.column("ts")), plain(batch.column("part")))), rows)
        self.assertEqual(plain(batch.column("site")), [-5] * 60)
        self.assertEqual(plain(batch.column("unit")), [uuid.UUID(TIMEUUID).bytes] * 60)
        self.assertEqual(plain(batch.column("hour")),
                         [ts // 3_600_000_000 * 3_600_000 for ts, _ in rows])
        self.assertEqual(set(plain(batch.column("shard"))), set(range(4)))
        self.assertEqual(batch.schema.field("shard").metadata[b"cistern.role"], b"split")


class ExampleTest(ArrowCase):
    """examples/arrow.cc and examples/read_arrow.py, which docs/arrow.md shows."""

    def run_example(self, store, code):
        done = subprocess.run(
            [sys.executable, SOURCE / "examples/read_arrow.py", os.environ["CISTERN_ARROW_EXAMPLE"],
             store, "pump-7", str(FIRST_MS), str(FIRST_MS + DAY_MS)],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_it_reads_a_store(self):
        self.create("CREATE TABLE readings (sensor text, day date, ts timestamp, celsius double, "
                    "PRIMARY KEY ((sensor, day), ts));")
        self.ingest("readings", [{"sensor": "pump-7", "ts": FIRST_MS + 5, "celsius": 61.5},
                                 {"sensor": "pump-7", "ts": FIRST_MS + 6}])
        lines = self.run_example(self.store, 0).stdout.splitlines()
        self.assertEqual(lines[:4], ["sensor: string not null", "day: date32[day] not null",
                                     "ts: timestamp[ms, tz=UTC] not null", "celsius: double"])
        self.assertEqual([re.search(r"'celsius': (.*)}", line)[1] for line in lines[4:]],
                         ["61.5", "None"])

    def test_it_tells_why_it_cannot(self):
        self.assertIn("NotFound", self.run_example(self.directory / "none", 1).stderr)

    def test_the_docs_show_it(self):
        page = (SOURCE / "docs/arrow.md").read_text(encoding="utf-8")
        for name, language in (("arrow.cc", "cpp"), ("read_arrow.py", "python")):
            text = (SOURCE / "examples" / name).read_text(encoding="utf-8")
            shown = re.search(r"^(?://|#) docs begin\n(.*?)^(?://|#) docs end\n", text, re.S | re.M)
            self.assertIn(f"```{language}\n{shown[1]}```\n", page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
