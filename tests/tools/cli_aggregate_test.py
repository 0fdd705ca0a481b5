"""What aggregate and filtered scans print, beside sums of Python's own over all rows.

Environment: CISTERN_BIN.
"""

import collections
import csv
import datetime
import io
import json
import math
import random
import re
import shlex
import unittest
import zoneinfo

from cli_case import AIR, PUMPS, CliCase

TICKS = AIR.replace("ts timestamp", "ts bigint").replace(
    ");", ") WITH comment = 'cistern: time ts = ms; bucket day = 1 day';")

METRICS = AIR.replace("temp double, wd text", "metric text, value double").replace(
    "day), ts)", "day), ts, metric)")

HOUR = 3_600_000
UTC = datetime.timezone.utc


def step_start(local, step):
    """The local date at which the calendar's step that holds a local date begins."""
    if step == "1w":
        return local - datetime.timedelta(days=local.weekday())
    months = {"1mo": 1, "1q": 3, "1y": 12}.get(step)
    return local.replace(day=1, month=(local.month - 1) // months * months + 1) if months else local


class AggregateTest(CliCase):
    def text(self, command, *options, fmt="csv", expect=0):
        form = ("--json",) if fmt == "json" else ("--format", fmt)
        return self.run_tool(command, "--store", self.store, *form, *options,
                             expect=expect).out.decode()

    def rows(self, command, *options):
        return list(csv.DictReader(io.StringIO(self.text(command, *options), newline="")))

    def fill(self):
        """A few days of two stations; part of it sealed, overwritten and amended."""
        rng = random.Random(7)
        self.create(TICKS)
        for part in range(2):
            lines = ["station,ts,temp,wd,n"]
            for i in range(part, 3000, 1 + part * 7):
                lines.append(f"{'ab'[i % 2]},{i * 60_000},{rng.randint(-99, 999) / 10},"
                             f"{rng.choice(['N', 'NW', ''])},{rng.randint(0, 50)}")
            self.ingest("\n".join(lines) + "\n", "--null", "")
            self.run_tool("seal", "--store", self.store, "--all")
        self.ingest("station,ts,temp\na,120000,0.1\n")

    def by_step(self, entity, step):
        steps = collections.defaultdict(list)
        for row in self.rows("scan", "--table", "air", "--entity", entity):
            steps[int(row["ts"]) // step * step].append(row)
        return steps

    def test_aggregates_are_those_of_the_rows(self):
        self.fill()
        for text, step in (("1h", HOUR), ("1d", 24 * HOUR), ("45m", 45 * 60_000)):
            got = self.rows("aggregate", "--table", "air", "--entity", "a", "--step", text, "--of",
                            "temp:count,min,max,sum,avg,first,last", "--of", "ts:count", "--of",
                            "wd:min,last,count")
            steps = self.by_step("a", step)
            self.assertEqual([int(r["ts"]) for r in got], sorted(steps))
            for row in got:
                self.assertEqual(row["station"], "a")
                rows = steps[int(row["ts"])]
                values = [float(r["temp"]) for r in rows if r["temp"]]
                sides = [r["wd"] for r in rows if r["wd"]]
                total = math.fsum(values)
                want = [len(values), min(values), max(values), total, total / len(values),
                        values[0], values[-1], len(rows)]
                names = [name for name in row if name.startswith("temp_")]
                self.assertEqual([float(row[n]) for n in [*names, "ts_count"]], want)
                self.assertEqual([row["wd_min"], row["wd_last"], row["wd_count"]],
                                 [min(sides, default=""), sides[-1] if sides else "",
                                  str(len(sides))])

    def test_entities_and_ranges(self):
        self.fill()
        step = ("--table", "air", "--step", "1d", "--of", "ts:count")
        both = self.rows("aggregate", *step, "--entity", "b", "--entity", "a")
        every = self.rows("aggregate", *step, "--all-entities")
        self.assertEqual([r["station"] for r in both], ["b"] * 3 + ["a"] * 3)
        self.assertEqual(both[3:] + both[:3], every)
        part = self.rows("aggregate", *step, "--entity", "a", "--from", 7 * HOUR, "--to", 9 * HOUR)
        counts = [sum(7 * HOUR <= int(r["ts"]) < 9 * HOUR
                      for r in self.rows("scan", "--table", "air", "--entity", "a"))]
        self.assertEqual([int(r["ts_count"]) for r in part], counts)

    def test_formats(self):
        self.create(PUMPS)
        self.ingest("site,pump,ts,part,value\n7,q,5,x,1.5\n7,q,6,x,NaN\n7,q,7,y,-0.0\n",
                    table="pumps")
        options = ("--table", "pumps", "--entity", "site=7,pump=q", "--step", "1s", "--of",
                   "value:min,max,sum", "--of", "part:last", "--of", "on_:first", "--across",
                   "part")
        self.assertEqual(json.loads(self.text("aggregate", *options, fmt="json")),
                         {"site": 7, "pump": "q", "ts": 0, "value_min": -0.0, "value_max": "NaN",
                          "value_sum": "NaN", "part_last": "y", "on__first": None})
        table = self.text("aggregate", *options, fmt="table").splitlines()
        self.assertEqual(table[0].split()[:4], ["site", "pump", "ts", "value_min"])
        self.assertIn("1970-01-01T00:00:00", table[-1])

    def test_sums_beyond_64_bits(self):
        self.create("CREATE TABLE t (k text, day date, ts timestamp, n bigint, "
                    "PRIMARY KEY ((k, day), ts))")
        largest = 2 ** 63 - 1
        self.ingest(f"k,ts,n\na,1,{largest}\na,2,1\n", table="t")
        options = ("aggregate", "--store", self.store, "--table", "t", "--entity", "a", "--step",
                   "1s", "--of")
        self.assertIn("64 bits", self.run_tool(*options, "n:sum", expect=2).err)
        done = self.run_tool(*options, "n:avg,max", "--format", "csv")
        row = next(csv.DictReader(io.StringIO(done.out.decode())))
        self.assertEqual((float(row["n_avg"]), row["n_max"]), (2.0 ** 62, str(largest)))

    def test_what_is_refused_says_why(self):
        self.create(AIR + PUMPS)
        whole = {"--table": "air", "--entity": "a", "--step": "1h", "--of": "temp:avg"}
        for option, value, words in (
                ("--step", "0s", "above 0"), ("--step", "60", "no unit"),
                ("--step", "1x", "15m"), ("--step", "5us", "no multiple of 1ms"),
                ("--step", "1500us", "no multiple of 1ms"),
                ("--of", "temp", "names no function: it is written as in"),
                ("--of", ":min", "names no column"), ("--of", "temp:min, max", "no blanks"),
                ("--of", "temp:min,max,min", "min of temp twice"),
                ("--of", "TEMP:min,", "no function ''"), ("--of", "temp:median", "count, min, max"),
                ("--of", "none:min", "no column 'none'"), ("--of", "wd:sum", "added up"),
                ("--of", "ts:avg", "event time"), ("--of", "station:count", "partition key"),
                ("--step", "month", "mo (months)"), ("--step", "0mo", "above 0"),
                ("--time-zone", "Europe/Atlantis", "--time-zone 'Europe/Atlantis' is no zone"),
                ("--group-by", "ts", "event time"), ("--group-by", "station", "partition key"),
                ("--group-by", "wd,", "leaves out a name"),
                ("--group-by", "wind", "--group-by: table air has no column 'wind'"),
                ("--group-by", "wd,wd", "twice"), ("--where", "station = a", "partition key"),
                ("--where", "temp", "= != < <= > >="), ("--across", "n", "--across n does nothing"),
                ("--across", "ts", "--across ts does nothing"),
                ("--from", "9", "--from must be before --to")):
            options = dict(whole, **{option: value})
            if option == "--from":
                options["--to"] = "9"
            done = self.run_tool("aggregate", "--store", self.store,
                                 *[x for pair in options.items() for x in pair], expect=2)
            self.assertIn(words, done.err)
        twice = [x for pair in whole.items() for x in pair] + ["--entity", "a"]
        self.assertIn("--entity a is given twice", self.run_tool(
            "aggregate", "--store", self.store, *twice, expect=2).err)
        pumps = ("--table", "pumps", "--entity", "site=1,pump=p", "--step", "1h", "--across",
                 "part", "--of")
        self.assertIn("compared", self.run_tool("aggregate", "--store", self.store, *pumps,
                                                "tags:max", expect=2).err)

    def test_an_entity_without_rows_is_told(self):
        self.fill()
        options = ("aggregate", "--store", self.store, "--table", "air", "--step", "1d", "--of",
                   "ts:count", "--entity")
        done = self.run_tool(*options, "z", "--entity", "a", "--entity", "a,b")
        self.assertEqual(done.err, "cistern: table air has no rows of entity z\n"
                                   "cistern: table air has no rows of entity a,b\n")
        self.assertEqual(self.run_tool(*options, "a", "--from", "2030-01-01").err, "")

    def test_names_of_columns_know_no_case(self):
        self.create('CREATE TABLE air (station text, day date, ts timestamp, temp double, '
                    '"Wd" int, wd int, PRIMARY KEY ((station, day), ts))')
        self.ingest("station,ts,temp,Wd,wd\na,1,2.5,1,7\n")
        rows = self.rows("aggregate", "--table", "air", "--entity", "a", "--step", "1d", "--of",
                         "TEMP:min", "--of", "Wd:max", "--of", "wd:max")
        self.assertEqual([(r["temp_min"], r["Wd_max"], r["wd_max"]) for r in rows],
                         [("2.5", "1", "7")])
        rows = self.rows("scan", "--table", "air", "--entity", "a", "--where",
                         "Temp > 2 and wd = 7", "--columns", "Temp, Wd")
        self.assertEqual(rows, [{"temp": "2.5", "Wd": "1"}])
        for command in (("scan", "--columns", "WD"), ("scan", "--where", "WD = 7"),
                        ("aggregate", "--step", "1d", "--of", "WD:max")):
            done = self.run_tool(command[0], "--store", self.store, "--table", "air", "--entity",
                                 "a", *command[1:], expect=2)
            self.assertIn("no column 'WD'", done.err)

    # --- calendars and zones

    def test_steps_of_the_calendar_and_of_zones(self):
        self.create()
        first = datetime.datetime(2023, 12, 28, tzinfo=UTC)
        times = [first + datetime.timedelta(minutes=45 * i) for i in range(370 * 32)]
        self.ingest("station,ts,n\n" + "".join(f"a,{t.isoformat()},{i}\n"
                                               for i, t in enumerate(times)))
        for zone in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Beirut"):
            clock = zoneinfo.ZoneInfo(zone)
            for step in ("1d", "1w", "1mo", "1q", "1y"):
                want = collections.Counter()
                for t in times:
                    start = step_start(t.astimezone(clock).date(), step)
                    want[datetime.datetime.combine(start, datetime.time(), clock)] += 1
                got = self.rows("aggregate", "--table", "air", "--entity", "a", "--step", step,
                                "--time-zone", zone, "--of", "ts:count")
                self.assertEqual(
                    [(datetime.datetime.fromisoformat(r["ts"]).astimezone(UTC), r["ts_count"])
                     for r in got],
                    [(start.astimezone(UTC), str(n)) for start, n in sorted(want.items())],
                    (zone, step))
        plain = self.rows("aggregate", "--table", "air", "--entity", "a", "--step", "1mo", "--of",
                          "n:min")
        self.assertEqual([r["ts"] for r in plain[:3]],
                         ["2023-12-01T00:00:00.000Z", "2024-01-01T00:00:00.000Z",
                          "2024-02-01T00:00:00.000Z"])

    def test_a_zone_reads_bounds_and_writes_starts(self):
        self.create(TICKS)
        hours = [1_717_192_800_000 + i * HOUR for i in range(48)]  # from midnight in Berlin on
        self.ingest("station,ts\n" + "".join(f"a,{t}\n" for t in hours))
        options = ("--table", "air", "--entity", "a", "--step", "1d", "--of", "ts:count",
                   "--time-zone", "Europe/Berlin")
        self.assertEqual([(r["ts"], r["ts_count"]) for r in self.rows("aggregate", *options)],
                         [(str(hours[0]), "24"), (str(hours[24]), "24")])
        shown = self.text("aggregate", *options, "--from", "2024-06-01T06:00", fmt="table")
        self.assertEqual([line.split() for line in shown.splitlines()[2:]],
                         [["a", "2024-06-01T00:00:00.000+02:00", "18"],
                          ["a", "2024-06-02T00:00:00.000+02:00", "24"]])
        exact = self.rows("aggregate", *options, "--to", "2024-06-01T06:00Z")
        self.assertEqual([r["ts_count"] for r in exact], ["8"])

    # --- aggregate --where, --group-by

    def test_aggregates_of_chosen_rows(self):
        self.fill()
        for text, meets in (("temp > 30", lambda r: r["temp"] and float(r["temp"]) > 30),
                            ("wd = NW and N >= 25",
                             lambda r: r["wd"] == "NW" and r["n"] and int(r["n"]) >= 25)):
            want = collections.Counter()
            for row in self.rows("scan", "--table", "air", "--entity", "a"):
                want[int(row["ts"]) // HOUR * HOUR] += bool(meets(row))
            got = self.rows("aggregate", "--table", "air", "--entity", "a", "--step", "1h", "--of",
                            "ts:count", "--where", text)
            self.assertEqual([(int(r["ts"]), int(r["ts_count"])) for r in got],
                             sorted((t, n) for t, n in want.items() if n))
        none = self.run_tool("aggregate", "--store", self.store, "--table", "air", "--entity", "a",
                             "--step", "1h", "--of", "ts:count", "--where", "temp > 1e9")
        self.assertEqual(none.err, "")

    def test_groups_of_regular_columns(self):
        self.fill()
        want = collections.defaultdict(list)
        for row in self.rows("scan", "--table", "air", "--entity", "a"):
            if row["temp"]:
                want[int(row["ts"]) // (24 * HOUR) * 24 * HOUR, row["wd"]].append(
                    float(row["temp"]))
        got = self.rows("aggregate", "--table", "air", "--entity", "a", "--step", "1d", "--of",
                        "temp:count,avg", "--group-by", "WD", "--where", "temp >= -1000")
        self.assertEqual([(int(r["ts"]), r["wd"]) for r in got], sorted(want))
        for row in got:
            values = want[int(row["ts"]), row["wd"]]
            self.assertEqual(int(row["temp_count"]), len(values))
            self.assertEqual(float(row["temp_avg"]), math.fsum(values) / len(values))

    def test_rows_of_two_metrics_are_not_mixed_in_silence(self):
        self.create(METRICS)
        self.ingest("station,ts,metric,value\na,1,temp,20\na,1,pressure,1000\na,2,temp,22\n")
        options = ("--table", "air", "--entity", "a", "--step", "1d", "--of")
        for of in ("value:avg", "value:count,max", "n:last"):
            done = self.run_tool("aggregate", "--store", self.store, *options, of, expect=2)
            self.assertIn("would mix rows that 'metric' tells apart: --group-by metric prints a "
                          "line for each, --where \"metric = ...\" takes one, --across metric",
                          done.err)
            self.assertEqual(done.out, b"")
        self.assertEqual([(r["metric"], float(r["value_avg"])) for r in self.rows(
            "aggregate", *options, "value:avg", "--group-by", "metric")],
            [("pressure", 1000), ("temp", 21)])
        self.assertEqual([float(r["value_avg"]) for r in self.rows(
            "aggregate", *options, "value:avg", "--where", "metric = temp")], [21])
        self.assertEqual([float(r["value_sum"]) for r in self.rows(
            "aggregate", *options, "value:sum", "--across", "metric")], [1042])
        # How many there are, and the metrics themselves, mix nothing.
        row = self.rows("aggregate", *options, "value:count", "--of", "metric:min,max")[0]
        self.assertEqual((row["value_count"], row["metric_min"], row["metric_max"]),
                         ("3", "pressure", "temp"))
        for choice in (("--group-by", "metric"), ("--where", "metric = temp")):
            done = self.run_tool("aggregate", "--store", self.store, *options, "value:avg",
                                 "--across", "metric", *choice, expect=2)
            self.assertIn("--across metric does nothing", done.err)
        # Two metrics are left, and conditions that leave one by chance are no choice either.
        for text, total in (("metric != pressure", 42), ("metric >= 'pressure'", 1042)):
            words = ("aggregate", "--store", self.store, *options, "value:sum", "--where", text)
            self.assertIn("would mix rows that 'metric'", self.run_tool(*words, expect=2).err)
            [row] = self.rows("aggregate", *words[3:], "--across", "metric")
            self.assertEqual(float(row["value_sum"]), total)

    # --- scan --where

    def test_where_gives_the_rows_that_meet_it(self):
        self.fill()
        every = self.rows("scan", "--table", "air", "--entity", "a")
        for text, meets in (
                ("temp > 30", lambda r: r["temp"] and float(r["temp"]) > 30),
                ("temp<=-5.5 AND n != 7",
                 lambda r: r["temp"] and float(r["temp"]) <= -5.5 and r["n"] and int(r["n"]) != 7),
                ("wd = 'NW' and \"n\" >= 25",
                 lambda r: r["wd"] == "NW" and r["n"] and int(r["n"]) >= 25),
                (f"ts < {5 * HOUR}", lambda r: int(r["ts"]) < 5 * HOUR),
                ("temp > 1e9", lambda r: False)):
            got = self.rows("scan", "--table", "air", "--entity", "a", "--where", text)
            self.assertEqual(got, [r for r in every if meets(r)], text)
        two = self.rows("scan", "--table", "air", "--entity", "a", "--where", "temp > 0", "--where",
                        "temp < 1", "--columns", "n")
        self.assertEqual(len(two), sum(bool(r["temp"]) and 0 < float(r["temp"]) < 1 for r in every))

    def test_what_tells_mixed_rows_apart_can_be_pasted(self):
        self.create(METRICS.replace("metric text", '"It\'s" text').replace(
            "ts, metric)", 'ts, "It\'s")'))
        self.ingest("station,ts,It's,value\na,1,temp,20\na,1,pressure,1000\n")
        words = ("aggregate", "--store", self.store, "--table", "air", "--entity", "a", "--step",
                 "1d", "--of", "value:sum", "--format", "csv")
        told = self.run_tool(*words, expect=2).err
        advice = re.search(r"apart: (--group-by .*) prints a line for each, (--where .*) takes "
                           r"one, (--across .*) takes all", told)
        self.assertIsNotNone(advice, told)
        for number, sums in ((1, [1000, 20]), (2, [20]), (3, [1020])):
            pasted = shlex.split(advice[number].replace("...", "temp"))
            lines = self.run_tool(*words, *pasted).out.decode().splitlines()[1:]
            self.assertEqual([float(line.split(",")[-1]) for line in lines], sums, pasted)

    def test_what_needs_more_memory_names_the_option_that_gives_it(self):
        self.create()
        draw = random.Random(1)
        self.ingest("station,ts,wd,n\n" + "".join(
            f"a,{i},{draw.randbytes(30_000).hex()},1\n" for i in range(150)))
        words = ("aggregate", "--store", self.store, "--table", "air", "--entity", "a", "--step",
                 "1d", "--of", "n:sum", "--group-by", "wd", "--format", "csv")
        little = ("--memory-budget", "8MiB")
        self.assertIn("does not fit into memory_budget_bytes: raise it (cistern --memory-budget)",
                      self.run_tool(*words, *little, expect=4).err)
        self.run_tool("seal", "--store", self.store, "--all")
        self.assertIn("needs more than the memory budget leaves: raise memory_budget_bytes "
                      "(cistern --memory-budget)", self.run_tool(*words, *little, expect=4).err)
        lines = self.run_tool(*words, "--memory-budget", "128MiB").out.splitlines()
        self.assertEqual(len(lines), 1 + 150)

    def test_where_with_a_limit_goes_on_by_its_token(self):
        self.fill()
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", "--where",
                "temp > 90", "--format", "csv")
        all_rows = self.run_tool(*scan).out.decode().splitlines()[1:]
        self.assertGreater(len(all_rows), 7)
        first = self.run_tool(*scan, "--limit", 5)
        token = first.err.split()[-1]
        rest = self.run_tool(*scan, "--token", token)
        self.assertEqual(first.out.decode().splitlines()[1:] + rest.out.decode().splitlines()[1:],
                         all_rows)
        other = [x if x != "temp > 90" else "temp > 91" for x in scan]
        self.assertIn("conditions must be the same", self.run_tool(*other, "--token", token,
                                                                   expect=2).err)

    def test_where_that_cannot_be_says_why(self):
        self.create(AIR + PUMPS)
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", "--where")
        for text, words in (("temp", "= != < <= > >="), ("temp >", "a value"), ("> 3", "a column"),
                            ("temp > 3 or n = 1", "AND"), ("temp > 3 and", "a column"),
                            ("wd = 'N", "the quote"), ("none = 1", "no column 'none'"),
                            ("station = a", "partition key"), ("n > 1.5", "column 'n'"),
                            ("wd = null", "null meets no condition; the text of that name is "
                                          "'null') at character 6;"),
                            ("n != NULL", "null meets no condition")):
            self.assertIn(words, self.run_tool(*scan, text, expect=2).err, text)
        done = self.run_tool("scan", "--store", self.store, "--table", "pumps", "--entity",
                             "site=1,pump=p", "--where", "tags = x", expect=2)
        self.assertIn("not compared", done.err)


if __name__ == "__main__":
    unittest.main()
