"""Stores with everything a push has to carry, and what a cluster must hold of them.

The rows come from a fixed seed; the model follows Cassandra's rules and knows nothing of Cistern.
Each step is one run of the tool, so a cell's write time lies between the step's begin and its end,
and so does the second from which its TTL runs.
"""

import csv
import datetime
import io
import random
import subprocess
import time
from dataclasses import dataclass, field

TABLES = {
    "air": """CREATE TABLE air (
    site text, day date, ts timestamp, chan int, temp double, state text, n bigint,
    PRIMARY KEY ((site, day), ts, chan)
) WITH CLUSTERING ORDER BY (ts DESC, chan ASC) AND comment = 'cistern: bucket day = 1 day'""",
    "brief": """CREATE TABLE brief (
    site text, hour timestamp, shard tinyint, ts timestamp, v double,
    PRIMARY KEY ((site, hour, shard), ts)
) WITH default_time_to_live = 864000
   AND comment = 'cistern: bucket hour = 6 hours; split shard = hash 2'""",
}
# Of a long seal: its position is made durable on the way, after 4 MiB that were answered.
LONG_TABLE = """CREATE TABLE long (
    site text, day date, ts timestamp, blob text,
    PRIMARY KEY ((site, day), ts)
) WITH comment = 'cistern: bucket day = 1 day'"""
LONG_ROWS = 9000
LONG_LETTERS = 800
SITES = ("north", "south", "east")
DAYS = 3
MINUTES = range(0, 720, 10)
SHORT_TTL_S = 2      # over before anything is sent
LONG_TTL_S = 30 * 86400
STATES = ("idle", "running", "stalled", "O'Neil's", "naïve ✓")


def iso(when):
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03}Z"


@dataclass
class Step:
    """What wrote a cell: between these microseconds, with this TTL (0: none)."""
    begin_us: int
    end_us: int
    ttl_s: int

    def ends_before(self, now_s):
        return self.ttl_s and self.end_us // 10**6 + self.ttl_s <= now_s


@dataclass
class Row:
    marker: Step = None                       # what makes a row without cells a row
    cells: dict = field(default_factory=dict)  # name -> (value, Step)


class Workload:
    """Fills `store` with the tool at `binary`. `rows[table][key]` is the model."""

    tables = TABLES

    def __init__(self, binary, directory):
        self.binary = str(binary)
        self.directory = directory
        self.store = directory / "store"
        self.random = random.Random(5)
        self.midnight = datetime.datetime.now(datetime.timezone.utc).replace(
            hour=0, minute=0, second=0, microsecond=0) - datetime.timedelta(days=DAYS + 1)
        self.rows = {table: {} for table in self.tables}
        self.now_s = None      # the second at which everything is to be read
        self.open_count = 0    # row versions that are not sealed, and must not be sent

    # --- steps

    def tool(self, *words, stdin=None):
        done = subprocess.run([self.binary, *map(str, words)], input=stdin, capture_output=True,
                              text=True, check=False, cwd=self.directory)
        if done.returncode != 0:
            raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def _timed(self, ttl_s, *words, stdin=None):
        begin_us = time.time_ns() // 1000
        self.tool(*words, stdin=stdin)
        return Step(begin_us, time.time_ns() // 1000, ttl_s)

    def _ingest(self, table, names, keys, make, ttl_s=None, null_deletes=False):
        """Rows of the keys; make() gives the cells, of which None is a missing one."""
        text = io.StringIO()
        sheet = csv.writer(text, lineterminator="\n")
        sheet.writerow(list(KEYS[table]) + list(names))
        made = [(key, make()) for key in keys]
        for key, cells in made:
            shown = [iso(part) if isinstance(part, datetime.datetime) else part for part in key]
            sheet.writerow(shown + ["" if cell is None else cell for cell in cells])
        options = ["--ttl", ttl_s] if ttl_s is not None else []
        options += ["--null-deletes"] if null_deletes else []
        default_s = 864000 if table == "brief" else 0
        step = self._timed(default_s if ttl_s is None else ttl_s, "ingest", "--store", self.store,
                           "--table", table, *options, "-", stdin=text.getvalue())
        for key, cells in made:
            row = self.rows[table].setdefault(key, Row())
            row.marker = step
            for name, cell in zip(names, cells):
                if cell is not None:
                    row.cells[name] = (cell, step)
                elif null_deletes:
                    row.cells.pop(name, None)

    def _delete(self, covers, *words):
        self._timed(0, "delete", "--store", self.store, "--table", "air", *words)
        for key in [key for key in self.rows["air"] if covers(*key)]:
            del self.rows["air"][key]

    def _seal(self):
        self.tool("seal", "--store", self.store, "--all")

    # --- the story

    def _create(self):
        schema = self.directory / "schema.cql"
        schema.write_text(";\n".join(self.tables.values()) + ";\n", encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)

    def build(self):
        self._create()
        everywhere = [(site, self._at(day, minute), chan) for site in SITES
                      for day in range(DAYS) for minute in MINUTES for chan in (0, 1)]
        self._ingest("air", AIR_CELLS, everywhere, self._air)
        self._ingest("brief", ["v"], [(site, self._at(day, minute)) for site in SITES[:2]
                                      for day in range(2) for minute in MINUTES], self._brief)
        self._seal()
        self._amend(everywhere)
        self._delete_some()
        self._seal()
        self._write_over_deletions()
        self._seal()
        self._leave_open()
        self.now_s = int(time.time()) + 1 + SHORT_TTL_S
        time.sleep(SHORT_TTL_S + 1)

    def _amend(self, everywhere):
        """Late rows, some cells of old ones, cells deleted, old rows under ones that end."""
        late = [(site, self._at(day, minute + 3), 0) for site in SITES[:2] for day in range(DAYS)
                for minute in MINUTES[::3]]
        self._ingest("air", AIR_CELLS, late, self._air)
        choose = self.random.sample(everywhere, 240)
        self._ingest("air", ["temp"], choose[:80], lambda: [self._number()], ttl_s=LONG_TTL_S)
        self._ingest("air", ["temp", "state"], choose[80:160], lambda: [self._number(), None],
                     null_deletes=True)
        self._ingest("air", AIR_CELLS, choose[160:], self._air, ttl_s=SHORT_TTL_S)

    def _delete_some(self):
        row = (SITES[0], self._at(0, 50), 1)
        self._delete(lambda *key: key == row, "--entity", SITES[0], "--at", iso(row[1]),
                     "--key", "chan=1")
        begin, end = self._at(1, 100), self._at(1, 300)
        self._delete(lambda site, ts, _: site == SITES[1] and begin <= ts < end,
                     "--entity", SITES[1], "--from", iso(begin), "--to", iso(end))
        day = self._at(2, 0)
        self._delete(lambda site, ts, _: site == SITES[2] and ts >= day,
                     "--entity", SITES[2], "--bucket", day.strftime("%Y-%m-%d"))

    def _write_over_deletions(self):
        again = [(SITES[1], self._at(1, minute), 0) for minute in range(100, 200, 10)]
        again += [(SITES[2], self._at(2, minute), 1) for minute in range(0, 200, 20)]
        self._ingest("air", AIR_CELLS, again, self._air)
        self._ingest("air", ["n"], again[::2], lambda: [self._count()], ttl_s=LONG_TTL_S)

    def _leave_open(self):
        kept = {table: dict(rows) for table, rows in self.rows.items()}
        unsent = [("west", self._at(0, minute), 0) for minute in MINUTES[:7]]
        self._ingest("air", AIR_CELLS, unsent, self._air)
        self.open_count = len(unsent)
        self.rows = kept

    def _at(self, day, minute):
        return self.midnight + datetime.timedelta(days=day, minutes=minute)

    def _number(self):
        return self.random.randrange(-4000, 4000) / 100

    def _count(self):
        return self.random.randrange(-2**40, 2**40)

    def _air(self):
        cells = [self._number(), self.random.choice(STATES), self._count()]
        if self.random.random() < 0.2:
            cells[self.random.randrange(3)] = None
        return cells

    def _brief(self):
        return [self._number()]

    # --- what must be there

    def expected(self, table):
        """key -> {cell: (value, Step)} of every row that is to be seen at now_s."""
        seen = {}
        for key, row in self.rows[table].items():
            cells = {name: (value, step) for name, (value, step) in row.cells.items()
                     if not step.ends_before(self.now_s)}
            if cells or (row.marker and not row.marker.ends_before(self.now_s)):
                seen[tuple(iso(part) if isinstance(part, datetime.datetime) else part
                           for part in key)] = cells
        return seen

    def differences(self, table, lines):
        """What is wrong with the lines of read_partitions.py as of now_s; at most a few."""
        expected = self.expected(table)
        wrong = []
        for line in lines:
            columns = line["partition"] | line["clustering"]
            key = tuple(columns[name] for name in KEYS[table])
            cells = expected.pop(key, None)
            if cells is None:
                wrong.append(f"{table}: {line} is not to be there, or is there twice")
            elif cells.keys() != line["cells"].keys():
                wrong.append(f"{table}: {line} is to have the cells {sorted(cells)}")
            else:
                wrong += [f"{table}: {name} of {line} is to be {cell}"
                          for name, cell in cells.items()
                          if not self._agrees(*cell, *line["cells"][name])]
        wrong += [f"{table}: {key} is missing" for key in expected]
        return wrong[:5] + ([f"and {len(wrong) - 5} more"] if len(wrong) > 5 else [])

    def _agrees(self, value, step, found, write_us, ttl_s):
        if found != value or not step.begin_us <= write_us <= step.end_us:
            return False
        if not step.ttl_s:
            return ttl_s is None
        begin_s, end_s = step.begin_us // 10**6, step.end_us // 10**6
        return ttl_s is not None and begin_s <= self.now_s + ttl_s - step.ttl_s <= end_s


class LongSeal(Workload):
    """One bucket that is longer than what is made durable at once."""

    tables = {"long": LONG_TABLE}

    def build(self):
        self._create()
        begin = self._at(0, 0)
        keys = [("north", begin + datetime.timedelta(seconds=second))
                for second in range(LONG_ROWS)]
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        self._ingest("long", ["blob"], keys,
                     lambda: ["".join(self.random.choices(letters, k=LONG_LETTERS))])
        self._seal()
        self.now_s = int(time.time())


AIR_CELLS = ("temp", "state", "n")
KEYS = {"air": ("site", "ts", "chan"), "brief": ("site", "ts"), "long": ("site", "ts")}
