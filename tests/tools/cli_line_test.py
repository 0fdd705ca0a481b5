"""Line protocol through the tool, and what a number counts that is a time.

Environment: CISTERN_BIN.
"""

import time
import unittest

from cli_case import CliCase

BOILER = """CREATE TABLE heat (
    sensor text, day date, ts timestamp, temp double, note text, ok boolean,
    PRIMARY KEY ((sensor, day), ts)
);
"""
BY_KIND = """CREATE TABLE heat (
    sensor text, kind text, day date, ts timestamp, temp double, label text,
    PRIMARY KEY ((sensor, kind, day), ts)
);
"""
T = 1772524800  # 2026-03-03T08:00:00Z
NS = T * 10**9


class LineProtocol(CliCase):
    def lines(self, text, *options, expect=0):
        return self.ingest(text, "--format", "line", *options, table="heat", expect=expect)

    def rows(self, entity="gw1", columns=("ts", "temp")):
        return [tuple(row[name] for name in columns)
                for row in self.scan(table="heat", entity=entity)]

    def test_a_tag_value_with_a_backslash_before_its_end(self):
        self.create(BOILER)
        done = self.lines(f"m,sensor=C:\\,ok=true temp=1 {NS}\nm,sensor=a=b temp=2 {NS}\n"
                          f"m,sensor=a\\=b temp=3 {NS}\n", expect=1)
        self.assertIn("standard input:1: column 16: the value of tag 'sensor' holds a bare '='",
                      done.err)
        self.assertIn("1 row stored in heat, 2 lines rejected", done.err)
        self.assertEqual(self.rows("a=b"), [("2026-03-03T08:00:00.000Z", "3")])

    def test_a_line_end_within_a_string(self):
        self.create(BOILER)
        self.lines(f'm,sensor=gw1 note="one\n\ntwo, # 3",temp=1 {NS}\n'
                   f'm,sensor=gw1 note="four" {NS + 10**9}\n')
        self.assertEqual(self.rows(columns=("note", "temp")),
                         [("one\n\ntwo, # 3", "1"), ("four", "")])
        # A line of it that is rejected is kept whole, and is read again.
        self.lines(f'm,sensor=gw2 note="x\ny",temp=w {NS}\n', expect=1)
        kept = (self.directory / "stdin.reject").read_text()
        self.assertEqual(kept, f'm,sensor=gw2 note="x\ny",temp=w {NS}\n')
        self.lines(kept.replace("temp=w", "temp=5"))
        self.assertEqual(self.rows("gw2", ("note", "temp")), [("x\ny", "5")])

    def test_a_run_takes_one_measurement(self):
        self.create(BOILER)
        text = f"boiler,sensor=gw1 temp=61.5 {NS}\nroom,sensor=gw1 temp=17 {NS}\n"
        done = self.lines(text, expect=1)
        self.assertIn("standard input:2: measurement 'room', where this run takes 'boiler': in one "
                      "table rows of two measurements may overwrite one another; --measurement "
                      "'boiler' leaves all others out, --map 'measurement()=COLUMN' keeps them "
                      "apart by a key column", done.err)
        self.assertEqual(self.rows(), [("2026-03-03T08:00:00.000Z", "61.5")])
        self.assertEqual((self.directory / "stdin.reject").read_text(),
                         f"room,sensor=gw1 temp=17 {NS}\n")
        done = self.lines(text, "--measurement", "room")
        self.assertIn("1 row stored in heat, 1 line of other measurements left out", done.err)
        self.assertEqual(self.rows(), [("2026-03-03T08:00:00.000Z", "17")])

    def test_one_measurement_for_all_files_of_a_run(self):
        self.create(BOILER)
        # A line that cannot be stored does not choose the measurement.
        one = self.write("one", f"other,sensor=gw1 pressure=1 {NS}\n"
                                f"boiler,sensor=gw1 temp=1 {NS}\n")
        two = self.write("two", f"room,sensor=gw1 temp=2 {NS}\nboiler,sensor=gw2 temp=3 {NS}\n")
        done = self.run_tool("ingest", "--store", self.store, "--table", "heat", "--format", "line",
                             one, two, expect=1)
        self.assertIn("2 rows stored in heat, 2 lines rejected to one.reject, two.reject", done.err)
        self.assertIn(f"{two}:1: measurement 'room'", done.err)

    def test_the_measurement_as_a_key_column(self):
        self.create(BY_KIND)
        text = f"boiler,sensor=gw1 temp=61.5 {NS}\nroom,sensor=gw1 temp=17 {NS}\n"
        self.lines(text, "--map", "measurement()=kind")
        at = "2026-03-03T08:00:00.000Z"
        self.assertEqual(self.rows("sensor=gw1,kind=boiler"), [(at, "61.5")])
        self.assertEqual(self.rows("sensor=gw1,kind=room"), [(at, "17")])
        self.lines(text, "--map", "{sensor}/{measurement()}=kind")
        self.assertEqual(len(self.rows("sensor=gw1,kind=gw1/room")), 1)
        self.lines(text + f"attic,sensor=gw1 temp=1 {NS}\n", "--map", "measurement()=kind",
                   "--measurement", "room", "--measurement", "attic")
        self.assertEqual(len(self.rows("sensor=gw1,kind=attic")), 1)
        # A column that is no part of the key does not keep rows apart.
        done = self.lines(text, "--map", "measurement()=label", "--set", "kind=x", expect=1)
        self.assertIn("measurement 'room', where this run takes 'boiler'", done.err)

    def test_a_measurement_that_is_not_there(self):
        self.create(BOILER)
        done = self.lines(f"boiler,sensor=gw1 temp=1 {NS}\n", "--measurement", "boilr")
        self.assertIn("no line is of the measurement 'boilr' that --measurement asks for; there "
                      "are boiler", done.err)
        done = self.ingest("sensor,ts\na,1\n", "--measurement", "x", table="heat", expect=2)
        self.assertIn("--measurement is of --format line, not of csv", done.err)

    def test_seconds_are_not_nanoseconds(self):
        self.create(BOILER)
        text = "".join(f"m,sensor=gw1 temp={i} {T + i}\n" for i in range(5))
        told = (f"standard input:1: event time {T} looks like seconds, 2026-03-03T08:00:00Z, and "
                "would be taken for nanoseconds, 1970-01-01T00:00:01.772524800Z; say --time-unit s")
        for options in ((), ("--truncate-times",)):
            done = self.lines(text, *options, expect=2)
            self.assertIn(told, done.err)
            self.assertEqual(self.rows(), [])
        self.lines(text, "--time-unit", "s")
        self.assertEqual([temp for _, temp in self.rows()], ["0", "1", "2", "3", "4"])

    def test_a_field_that_is_a_time_counts_what_its_column_counts(self):
        self.create(BOILER.replace("note text", "seen timestamp"))
        self.lines(f"m,sensor=gw1 seen={T}000i {NS}\n")
        self.lines(f"m,sensor=gw1 seen={T}i {T + 1}\n", "--time-unit", "s")
        rows = self.scan("--columns", "ts,seen", table="heat", entity="gw1")
        self.assertEqual([row["seen"] for row in rows], ["2026-03-03T08:00:00.000Z"] * 2)

    def test_units_of_every_format(self):
        self.create()
        line = '{{"station":"a","ts":{}}}\n'
        for number, option in ((T, "s"), (f"{T}.25", "s"), (T * 10**6, "us"), (NS, "ns")):
            for text, form in ((f"station,ts\na,{number}\n", "csv"),
                               (line.format(number), "jsonl")):
                done = self.ingest(text, "--format", form, "--truncate-times", expect=2)
                self.assertIn(f"event time {number} looks like", done.err)
                self.assertIn(f"say --time-unit {option}, or --time-unit ms if", done.err)
                self.assertEqual(self.scan(), [])
        self.ingest(f"station,ts\na,{T}\n", "--time-unit", "s")
        self.ingest(f"station,ts\na,{T}001\n")
        self.assertEqual([row["ts"] for row in self.scan()],
                         ["2026-03-03T08:00:00.000Z", "2026-03-03T08:00:00.001Z"])

    def test_lines_without_a_time(self):
        self.create(BOILER)
        done = self.lines("m,sensor=gw1 temp=1\n", expect=1)
        self.assertIn("standard input:1: there is no event time for column 'ts'; --arrival-time "
                      "gives lines without one the time at which they are read", done.err)
        before = time.time()
        self.lines(f"m,sensor=gw1 temp=1\nm,sensor=gw1 temp=2 {NS}\n", "--arrival-time")
        after = time.time()
        rows = self.rows()
        self.assertIn(("2026-03-03T08:00:00.000Z", "2"), rows)
        taken = [stamp for stamp, temp in rows if temp == "1"]
        self.assertEqual(len(taken), 1)
        stamps = [time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
                  for moment in (before - 1, after + 1)]
        self.assertTrue(stamps[0] <= taken[0][:19] <= stamps[1], (stamps, taken))

    def test_rows_of_other_formats_without_a_time(self):
        self.create()
        done = self.ingest("station,n\na,1\n", expect=2)
        self.assertIn("nothing gives the key column 'ts'", done.err)
        self.assertIn("--arrival-time", done.err)
        self.ingest("station,n\na,1\n", "--arrival-time")
        self.ingest('{"station":"a","n":2}\n', "--format", "jsonl", "--arrival-time")
        self.assertEqual([row["n"] for row in self.scan()], ["1", "2"])

    def test_a_time_that_is_given_twice(self):
        self.create(BOILER)
        done = self.lines(f"m,sensor=gw1 temp=1,ts=5000000i {NS}\n", expect=1)
        self.assertIn(f"the event time is given twice, as '5000000' and as '{NS}'", done.err)


class Duplicates(CliCase):
    TEXT = "station,ts,temp,n\na,1,1.5,\na,2,2,\na,1,,7\na,1,9,\na,2,2,\n"

    def test_they_are_told(self):
        self.create()
        told = ("5 rows stored in air, 2 of them replaced values of an earlier row with the same "
                "key (the first is standard input:5)")
        self.assertIn(told, self.ingest(self.TEXT).err)
        self.assertIn(told, self.ingest(self.TEXT, "--duplicates", "warn", "--quiet").err)
        self.assertEqual([(row["temp"], row["n"]) for row in self.scan()], [("9", "7"), ("2", "")])

    def test_they_are_allowed(self):
        self.create()
        done = self.ingest(self.TEXT, "--duplicates", "allow")
        self.assertNotIn("replaced", done.err)

    def test_they_are_refused(self):
        self.create()
        done = self.ingest(self.TEXT, "--duplicates", "refuse", expect=1)
        self.assertIn("standard input:5: a value of an earlier line of this run would be replaced",
                      done.err)
        self.assertIn("3 rows stored in air, 2 lines rejected to stdin.reject", done.err)
        self.assertEqual([(row["temp"], row["n"]) for row in self.scan()],
                         [("1.5", "7"), ("2", "")])
        self.assertEqual((self.directory / "stdin.reject").read_text(),
                         "station,ts,temp,n\na,1,9,\na,2,2,\n")

    def test_over_files_of_a_run_and_not_over_runs(self):
        self.create()
        one = self.write("one", "station,ts,temp\na,1,1\n")
        done = self.run_tool("ingest", "--store", self.store, "--table", "air", one, one)
        self.assertIn(f"1 of them replaced values of an earlier row with the same key (the first "
                      f"is {one}:2)", done.err)
        done = self.run_tool("ingest", "--store", self.store, "--table", "air", one)
        self.assertNotIn("replaced", done.err)

    def test_what_the_option_may_be(self):
        self.create()
        done = self.ingest(self.TEXT, "--duplicates", "drop", expect=2)
        self.assertIn("--duplicates 'drop' is not one of warn, refuse, allow", done.err)


if __name__ == "__main__":
    unittest.main()
