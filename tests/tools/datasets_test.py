"""Every public data set goes in by `cistern ingest` and comes back by `cistern scan`.

The expected rows come from the readers in this file, which know nothing of Cistern: Python's csv
module, its own times, and CQL's rule that a later write replaces an earlier one cell by cell while
absent cells leave it alone. The commands are those of examples/schemas/README.md.

Usage: datasets_test.py SET...   (environment: CISTERN_BIN, CISTERN_SOURCE_DIR,
CISTERN_SHARED_DIR, CI)
"""

import csv
import hashlib
import io
import json
import math
import os
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

BIN = os.environ.get("CISTERN_BIN", "cistern")
SOURCE = Path(os.environ.get("CISTERN_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SHARED = Path(os.environ.get("CISTERN_SHARED_DIR", SOURCE.parent / "shared")) / "data"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SKIP = 77  # what meson takes for a skipped test


def millis(moment):
    """Exact milliseconds since 1970 of an aware datetime."""
    delta = moment - EPOCH
    assert delta.microseconds % 1000 == 0
    return (delta.days * 86400 + delta.seconds) * 1000 + delta.microseconds // 1000


def at(ms):
    return EPOCH + timedelta(milliseconds=ms)


def float32(text):
    """The float32 nearest to a decimal text, as bits, by exact arithmetic."""
    exact = Fraction(text)
    bits = struct.unpack("<I", struct.pack("<f", float(text)))[0]
    best = None
    for candidate in (bits, bits + 1, bits - 1 if bits & 0x7FFFFFFF else bits):
        value = struct.unpack("<f", struct.pack("<I", candidate))[0]
        if not math.isfinite(value):
            continue
        key = (abs(Fraction(value) - exact), candidate & 1)
        if best is None or key < best[0]:
            best = (key, candidate)
    if exact == 0 and text.startswith("-"):
        return 0x80000000
    return best[1]


# --- what a value of a column looks like in the output: text -> comparable value

def out_double(text):
    value = float(text)
    return "-0" if value == 0 and math.copysign(1, value) < 0 else value


def out_time(text):
    return millis(datetime.fromisoformat(text))


OUT = {"double": out_double, "float": float32, "int": int, "text": str, "time": out_time}
IN = {"double": out_double, "float": float32, "int": int, "text": str}


class DataSet:
    """One set: where its files are, how its rows read, what its table looks like."""

    name = ""
    table = ""
    pattern = "*.csv"
    entity = ()        # names of entity columns
    key = ("ts",)      # clustering columns
    columns = {}       # every column but the bucket and split: kind
    bucket = ""        # the bucket column
    small_memory = False  # so that most rows leave the journal for segments

    def rows(self, path):
        """(entity, key, cells) of a file in its order; absent cells are left out."""
        raise NotImplementedError

    def bucket_of(self, ts):
        raise NotImplementedError

    def cells(self, record, mapping):
        """Cells of a record by `mapping` column -> source; empty ones are absent."""
        return {c: IN[self.columns[c]](record[s]) for c, s in mapping.items() if record[s] != ""}


def read_csv(path, **kwargs):
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, **kwargs)


class Beijing(DataSet):
    name, table, bucket = "beijing-air", "air", "month"
    entity = ("station",)
    mapping = {"pm25": "PM2.5", "pm10": "PM10", "so2": "SO2", "no2": "NO2", "co": "CO", "o3": "O3",
               "temp": "TEMP", "pres": "PRES", "dewp": "DEWP", "rain": "RAIN", "wspm": "WSPM",
               "wd": "wd"}
    columns = {"station": "text", "ts": "time", **{c: "double" for c in mapping}, "wd": "text"}

    def rows(self, path):
        for r in read_csv(path):
            local = datetime(int(r["year"]), int(r["month"]), int(r["day"]), int(r["hour"]),
                             tzinfo=timezone(timedelta(hours=8)))
            r = {k: "" if v in ("NA", " ") else v for k, v in r.items()}
            yield (r["station"],), (millis(local),), self.cells(r, self.mapping)

    def bucket_of(self, ts):
        return at(ts).strftime("%Y-%m")


class CapMetro(DataSet):
    name, table, bucket = "capmetro-buses", "bus_positions", "day"
    small_memory = True
    entity = ("vehicle_id",)
    columns = {"vehicle_id": "int", "ts": "time", "speed": "double", "route_id": "int",
               "trip_id": "int", "latitude": "double", "longitude": "double",
               "trip_headsign": "text"}
    mapping = {c: c for c in columns if c not in ("vehicle_id", "ts")}

    def rows(self, path):
        for r in read_csv(path):
            ts = millis(datetime.fromisoformat(r["timestamp"]))
            yield (r["vehicle_id"],), (ts,), self.cells(r, self.mapping)

    def bucket_of(self, ts):
        return at(ts).strftime("%Y-%m-%d")


class Daphnet(DataSet):
    name, table, bucket = "daphnet-imu", "gait", "slot"
    small_memory = True
    pattern = "*.txt"
    entity = ("run",)
    axes = [f"{p}_{a}" for p in ("ankle", "thigh", "trunk") for a in "xyz"] + ["annotation"]
    columns = {"run": "text", "ts": "time", **{c: "int" for c in axes}}

    def rows(self, path):
        base = millis(datetime(2008, 1, 1, tzinfo=timezone.utc))
        with open(path, encoding="ascii") as file:
            for line in file:
                cells = [int(c) for c in line.split()]
                entity = (path.name.split(".")[0],)
                yield entity, (base + cells[0],), dict(zip(self.axes, cells[1:]))

    def bucket_of(self, ts):
        return ts // 600_000 * 600_000

    def bucket_from_text(self, text):
        return out_time(text)


class Xio(DataSet):
    name, table, bucket = "xio-imu", "imu", "slot"
    entity = ("device",)
    values = [f"{s}_{a}" for s in ("gyro", "acc", "mag") for a in "xyz"]
    columns = {"device": "text", "ts": "int", **{c: "float" for c in values}}

    def rows(self, path):
        base = millis(datetime(2024, 1, 1, tzinfo=timezone.utc)) * 1_000_000
        with open(path, encoding="ascii", newline="") as file:
            lines = csv.reader(file)
            next(lines)
            for line in lines:
                nanos = Decimal(line[0]) * 1_000_000_000
                assert nanos == int(nanos)
                yield ("ximu3",), (base + int(nanos),), {
                    c: float32(t) for c, t in zip(self.values, line[1:])}

    def bucket_of(self, ts):
        return str(ts // 30_000_000_000)


class Metro(DataSet):
    name, table, bucket = "metro-traffic", "traffic", "week"
    entity = ("state", "station")
    key = ("ts", "weather_description")
    columns = {"state": "text", "station": "text", "ts": "time", "weather_description": "text",
               "weather_main": "text", "holiday": "text", "temp": "double", "rain_1h": "double",
               "snow_1h": "double", "clouds_all": "int", "traffic_volume": "int"}
    mapping = {c: c for c in columns if c not in ("state", "station", "ts", "weather_description")}

    def rows(self, path):
        zone = timezone(timedelta(hours=-6))
        for r in read_csv(path):
            ts = millis(datetime.strptime(r["date_time"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone))
            if r["holiday"] == "None":
                r["holiday"] = ""
            yield ("MN", "ATR301"), (ts, r["weather_description"]), self.cells(r, self.mapping)

    def bucket_of(self, ts):
        year, week, _ = at(ts).isocalendar()
        return f"{year:04}-W{week:02}"


class Nab(DataSet):
    name, table, bucket = "nab-metrics", "metrics", "week"
    pattern = "**/*.csv"
    entity = ("series",)
    columns = {"series": "text", "ts": "time", "value": "double"}

    def rows(self, path):
        for r in read_csv(path):
            moment = datetime.strptime(r["timestamp"], "%Y-%m-%d %H:%M:%S")
            yield (path.name.split(".")[0],), (millis(moment.replace(tzinfo=timezone.utc)),), \
                {"value": out_double(r["value"])}

    def bucket_of(self, ts):
        year, week, _ = at(ts).isocalendar()
        return str(year * 100 + week)


class Balloon(DataSet):
    name, table, bucket = "balloon-telemetry", "balloon", "hour"
    small_memory = True
    entity = ("gondola",)
    key = ("ts", "gps_time")
    mapping = {c.lower(): c for c in (
        "V_nicr", "temperature", "pressure", "V_pile_intel", "V_alim_nicr", "V_5v", "I_nicr",
        "vitesse", "COG", "vitesse_verticale", "etat", "latitude", "longitude", "altitude",
        "nb_sat")}
    columns = {"gondola": "text", "ts": "time", "gps_time": "time",
               **{c: "double" for c in mapping}, "etat": "text", "nb_sat": "int"}

    def rows(self, path):
        for r in read_csv(path, delimiter=";"):
            ts = datetime.fromisoformat(r["date"]).replace(tzinfo=timezone.utc)
            gps = datetime.fromisoformat("2024-05-24T" + r["heure_GPS"])
            yield (path.name.split(".")[0],), \
                (millis(ts), millis(gps.replace(tzinfo=timezone.utc))), self.cells(r, self.mapping)

    def bucket_of(self, ts):
        return at(ts).strftime("%Y%m%d%H")


SETS = {s.name: s() for s in (Beijing, CapMetro, Daphnet, Xio, Metro, Nab, Balloon)}


# --- running the tool

def run(*arguments, expect=0, cwd=None):
    done = subprocess.run([BIN, *map(str, arguments)], capture_output=True, cwd=cwd, check=False)
    if done.returncode != expect:
        raise AssertionError(f"cistern {shlex.join(map(str, arguments))}\nexit {done.returncode}, "
                             f"expected {expect}\n{done.stderr.decode(errors='replace')[-3000:]}")
    return done


def readme_command(name):
    """The words of the ingest command under the set's heading, after `cistern`."""
    text = (SOURCE / "examples/schemas/README.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(name)}$(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    words = shlex.split(" ".join(line.removesuffix("\\") for line in lines))
    assert words[:2] == ["cistern", "ingest"], words
    return words[1:]


def unpack(paths, root, directory):
    """Plain copies of the files, sub-folders kept."""
    plain = []
    for path in paths:
        target = directory / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".zst":
            target = target.with_suffix("")
            with open(target, "wb") as out:
                subprocess.run(["zstd", "-dc", str(path)], stdout=out, check=True)
        else:
            target.write_bytes(path.read_bytes())
        plain.append(target)
    return plain


def find_files(dataset):
    """(root, files): the whole set, or the excerpts of the repository."""
    if SHARED.is_dir():
        root = SHARED / dataset.name
        return root, sorted(root.glob(dataset.pattern + ".zst"))
    print("*" * 78, f"* {SHARED} is absent: the FULL data sets are NOT tested,",
          "* only the excerpts in tests/data. Set CISTERN_SHARED_DIR.", "*" * 78, sep="\n",
          file=sys.stderr)
    if os.environ.get("CI") == "true":
        sys.exit("CI must test the full data sets")
    root = SOURCE / "tests/data" / dataset.name
    return root, sorted([*root.glob(dataset.pattern), *root.glob(dataset.pattern + ".zst")])


# --- comparing

class Checker:
    def __init__(self, dataset, store, seed):
        self.dataset = dataset
        self.store = store
        self.random = random.Random(seed)
        self.expected = {}  # entity -> {key -> cells}
        self.compared = 0

    def read(self, path):
        count = 0
        for entity, key, cells in self.dataset.rows(path):
            self.expected.setdefault(entity, {}).setdefault(key, {}).update(cells)
            count += 1
        return count

    def entity_argument(self, entity):
        if len(entity) == 1:
            return entity[0]
        return ",".join(f"{n}={v}" for n, v in zip(self.dataset.entity, entity))

    def scan(self, entity, *more, expect=0):
        return run("scan", "--store", self.store, "--table", self.dataset.table, "--entity",
                   self.entity_argument(entity), *more, expect=expect)

    def bucket(self, text):
        convert = getattr(self.dataset, "bucket_from_text", str)
        return convert(text)

    def sorted_keys(self, entity):
        """Ascending by event time; within it, further clustering columns in their order."""
        return sorted(self.expected[entity])

    def scan_both_ways(self, entity):
        return tuple(self.scan(entity, "--format", "csv", *direction).stdout.decode()
                     for direction in ((), ("--desc",)))

    def check_entity(self, entity, output, descending):
        d = self.dataset
        table = csv.reader(io.StringIO(output, newline=""))
        header = next(table)
        assert set(header) - {"split"} == set(d.columns) | {d.bucket}, header
        place = {name: i for i, name in enumerate(header)}
        regular = [c for c in d.columns if c not in d.entity and c not in d.key]
        keys = self.sorted_keys(entity)
        rows = list(table)
        assert len(rows) == len(keys), f"{entity}: {len(rows)} rows, expected {len(keys)}"
        converters = [(c, place[c], OUT[d.columns[c]]) for c in regular]
        for row, key in zip(rows, keys):
            got_key = tuple(OUT[d.columns[c]](row[place[c]]) for c in d.key)
            assert got_key == key, f"{entity}: key {got_key}, expected {key}"
            assert tuple(row[place[c]] for c in d.entity) == entity, row
            assert self.bucket(row[place[d.bucket]]) == d.bucket_of(key[0]), row
            cells = self.expected[entity][key]
            for column, i, convert in converters:
                text = row[i]
                got = None if text == "" else convert(text)
                assert got == cells.get(column), \
                    f"{entity} {key} {column}: {text!r}, expected {cells.get(column)!r}"
        self.compared += len(rows)
        lines = output.splitlines(keepends=True)
        assert descending.splitlines(keepends=True) == lines[:1] + lines[:0:-1], entity
        return rows, header

    def check_json(self, entity, rows, header):
        """The same rows as JSON lines, cell for cell."""
        text = self.scan(entity, "--json").stdout.decode()
        lines = text.splitlines()
        assert len(lines) == len(rows)
        for line, row in zip(lines, rows):
            cells = json.loads(line, parse_int=str, parse_float=str)
            assert list(cells) == header
            assert [("" if v is None else v) for v in cells.values()] == row, line

    def check_ranges(self, entity):
        keys = self.sorted_keys(entity)
        times = sorted({k[0] for k in keys})
        for _ in range(3):
            a, b = sorted(self.random.choice(times) + self.random.choice((0, 0, 1))
                          for _ in range(2))
            if a == b:
                b += 1
            inside = [k for k in keys if a <= k[0] < b]
            up = self.keys_of(self.scan(entity, "--format", "csv", "--from", a, "--to", b))
            assert up == inside, f"{entity} {a} {b}"
            down = self.keys_of(self.scan(entity, "--format", "csv", "--from", b, "--to", a))
            assert down == inside[::-1], f"{entity} {b} {a}"
            limit = self.random.randrange(1, len(inside) + 2)
            part = self.scan(entity, "--format", "csv", "--from", a, "--to", b, "--limit", limit)
            assert self.keys_of(part) == inside[:limit], f"{entity} {a} {b} limit {limit}"

    def check_pages(self, entity):
        """A scan in pages, each by the token of the one before."""
        keys = self.sorted_keys(entity)
        direction = self.random.choice(([], ["--desc"]))
        size = max(1, len(keys) // self.random.randrange(2, 6))
        got, token, pages = [], [], 0
        while True:
            page = self.scan(entity, "--format", "csv", "--limit", size, *direction, *token)
            got += self.keys_of(page)
            pages += 1
            match = re.search(r"--token (\S+)", page.stderr.decode())
            if not match:
                break
            token = ["--token", match.group(1)]
            assert pages < 50
        assert got == (keys[::-1] if direction else keys), f"{entity} in pages of {size}"

    def keys_of(self, scan):
        table = csv.DictReader(io.StringIO(scan.stdout.decode(), newline=""))
        kinds = [(c, OUT[self.dataset.columns[c]]) for c in self.dataset.key]
        return [tuple(convert(r[c]) for c, convert in kinds) for r in table]

    def check_buckets(self):
        expected = {}
        for entity, rows in self.expected.items():
            for key in rows:
                place = (self.entity_argument(entity), self.dataset.bucket_of(key[0]))
                expected[place] = expected.get(place, 0) + 1
        got = {}
        text = run("buckets", "--store", self.store, "--format", "csv").stdout.decode()
        for r in csv.DictReader(io.StringIO(text, newline="")):
            place = (r["entity"], self.bucket(r["bucket"].strip("'")))
            got[place] = got.get(place, 0) + int(r["versions"])
        assert set(got) == set(expected), sorted(set(got) ^ set(expected))[:5]
        for place, versions in got.items():
            assert versions >= expected[place], (place, versions, expected[place])
        return len(got)


    def check_sealed(self, digests):
        """Seals every bucket: each entity reads as it did before, byte for byte."""
        done = run("seal", "--store", self.store, "--all").stdout.decode()
        match = re.match(r"(\d+) buckets? sealed \((\d+) amendments?\)", done)
        count, amendments = map(int, match.groups())
        assert amendments == 0, done
        text = run("buckets", "--store", self.store, "--format", "csv").stdout.decode()
        table = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(table) == count, (len(table), count)
        assert all(r["state"] == "sealed" and r["seals"] == "1" for r in table)
        with ThreadPoolExecutor(4) as pool:
            scans = pool.map(lambda e: self.scan(e, "--format", "csv").stdout, digests)
            for entity, output in zip(digests, scans, strict=True):
                assert hashlib.sha256(output).digest() == digests[entity], entity
        return count


def check_blank_is_rejected(files, directory):
    """Without --null ' ' the one blank SO2 cell of beijing-air goes to the reject file."""
    path = next((f for f in files if "Aotizhongxin" in f.name), None)
    if path is None:
        return
    lines = path.read_bytes().splitlines(keepends=True)
    blank = [i for i, line in enumerate(lines) if b", ," in line]
    if not blank:
        return
    store = directory / "rejecting"
    run("create", "--store", store, "--schema", SOURCE / "examples/schemas/beijing-air.cql")
    words = [w for w in readme_command("beijing-air") if w != "FILES"]
    words = [w.replace("$STORE", str(store)) for w in words]
    at_blank = words.index(" ")
    del words[at_blank - 1:at_blank + 1]
    done = run(*words, path, expect=1, cwd=directory)
    assert f":{blank[0] + 1}: column 'so2': ' ' is blank" in done.stderr.decode(), done.stderr
    rejected = (directory / (path.name + ".reject")).read_bytes()
    assert rejected == lines[0] + b"".join(lines[i] for i in blank), rejected
    assert f"{len(lines) - 1 - len(blank)} rows stored" in done.stderr.decode(), done.stderr


def test(name):
    dataset = SETS[name]
    root, files = find_files(dataset)
    if not files:
        print(f"{name}: no files in {root}", file=sys.stderr)
        return SKIP
    seed = int(os.environ.get("CISTERN_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"{name}: {len(files)} files, CISTERN_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        store = directory / "store"
        plain = unpack(files, root, directory / "files")
        checker = Checker(dataset, store, seed)
        count = sum(checker.read(path) for path in plain)
        run("create", "--store", store, "--schema", SOURCE / f"examples/schemas/{name}.cql")
        words = [w.replace("$STORE", str(store)) for w in readme_command(name) if w != "FILES"]
        if dataset.small_memory:
            words += ["--memory-budget", "8MiB"]
        begin = time.monotonic()
        done = run(*words, *plain, cwd=directory)
        seconds = time.monotonic() - begin
        assert f"{count} rows stored" in done.stderr.decode(), done.stderr.decode()
        assert not list(directory.glob("*.reject"))
        print(f"  {count} rows ingested in {seconds:.1f} s", flush=True)

        entities = sorted(checker.expected)
        digests = {}
        sample = checker.random.sample(entities, min(4, len(entities)))
        with ThreadPoolExecutor(4) as pool:  # each scan is a process that waits for its store
            scans = pool.map(checker.scan_both_ways, entities)
            for entity, (ascending, descending) in zip(entities, scans, strict=True):
                rows, header = checker.check_entity(entity, ascending, descending)
                digests[entity] = hashlib.sha256(ascending.encode()).digest()
                if entity in sample:
                    checker.check_json(entity, rows, header)
                    checker.check_ranges(entity)
                    checker.check_pages(entity)
        assert checker.compared == sum(len(r) for r in checker.expected.values())
        buckets = checker.check_buckets()
        run("verify", "--store", store)
        sealed = checker.check_sealed(digests)
        run("verify", "--store", store)
        if name == "beijing-air":
            check_blank_is_rejected(plain, directory)
    print(f"  {checker.compared} rows of {len(entities)} entities in {buckets} buckets compared, "
          f"both ways; {sealed} sealed, and compared again")
    return 0


def main():
    names = sys.argv[1:] or list(SETS)
    codes = [test(name) for name in names]
    return SKIP if codes == [SKIP] * len(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
