"""A small store with every kind of write, and the model of what it holds.

For tests of the way to the cluster: what arrives must be the same over every one of them.
"""

import json

from row_model import Model, timed

TABLE = """CREATE TABLE air (
    station text, day date, ts timestamp, temp double, n int, note text,
    PRIMARY KEY ((station, day), ts)
) WITH CLUSTERING ORDER BY (ts DESC);
"""
STATIONS = ("north", "south")
DAYS = ("2024-05-01", "2024-05-02", "2024-05-03")
ROWS = 30  # of each bucket
MONTH_S = 30 * 86400


def event_time(day, row):
    return f"{day}T{row // 60:02}:{row % 60:02}:07.125Z"


class SmallStore:
    def __init__(self, case):
        """`case`: a SyncCase, in whose store it is made."""
        self.case = case
        self.model = Model(lambda entity, key: (*entity, key[0][:10]),
                           sort_key=lambda key: tuple(-ord(c) for c in key[0]))
        schema = case.directory / "air.cql"
        schema.write_text(TABLE, encoding="utf-8")
        case.tool("create", "--store", case.store, "--schema", schema)

    def fill(self):
        """Rows, partial writes with another TTL or none, deletes; sealed; then late rows."""
        every = [(station, day, row) for station in STATIONS for day in DAYS
                 for row in range(ROWS)]
        self.put(every, lambda row: {"temp": f"{row}.5", "n": str(row), "note": f"as read, {row}"})
        self.put(every[::5], lambda row: {"n": str(-row)}, ttl_s=MONTH_S)
        self.put(every[::7], lambda row: {"note": None, "temp": "0.25"})
        self.delete("north", "--at", event_time(DAYS[0], 3),
                    lambda ts: ts == event_time(DAYS[0], 3))
        self.delete("south", "--bucket", DAYS[1], lambda ts: ts.startswith(DAYS[1]))
        begin, end = event_time(DAYS[2], 10), event_time(DAYS[2], 20)
        self.delete("north", "--from", begin, "--to", end, lambda ts: begin <= ts < end)
        self.seal()
        self.put(every[::11], lambda row: {"temp": "-1.5"}, ttl_s=2 * MONTH_S)
        self.put([("south", DAYS[1], 40)], lambda row: {"n": "41"})
        self.seal()

    def seal(self):
        self.case.tool("seal", "--store", self.case.store, "--all")

    def put(self, places, cells_of, ttl_s=None):
        """Cells that are None are deleted."""
        lines = []
        for station, day, row in places:
            numbers = {name: json.loads(value) if name != "note" and value else value
                       for name, value in cells_of(row).items()}
            lines.append(json.dumps({"station": station, "ts": event_time(day, row)} | numbers))
        options = [] if ttl_s is None else ["--ttl", ttl_s]
        span = []
        with timed(span):
            self.case.tool("ingest", "--store", self.case.store, "--table", "air", "--quiet",
                           "--format", "jsonl", "--null-deletes", *options, "-",
                           stdin="\n".join(lines).encode())
        for station, day, row in places:
            self.model.put((station,), (event_time(day, row),), cells_of(row), tuple(span), ttl_s)

    def delete(self, station, *words):
        """The last word tells which event times are deleted."""
        *words, is_deleted = words
        self.case.tool("delete", "--store", self.case.store, "--table", "air", "--entity", station,
                       *words)
        self.model.delete(lambda entity, key: entity == (station,) and is_deleted(key[0]))
