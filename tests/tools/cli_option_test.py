"""Options that say nothing, or what cannot be, are refused before anything is done.

Environment: CISTERN_BIN.
"""

import os
import subprocess
import time
import unittest
from pathlib import Path

from cli_case import PUMPS, CliCase

ROOT = Path(__file__).resolve().parents[2]


class OptionTest(CliCase):
    def refused(self, text, *options, **kwargs):
        """What is said of an ingest that must store nothing and reject nothing."""
        done = self.ingest(text, *options, expect=2, **kwargs)
        self.assertEqual(self.scan(), [])
        self.assertFalse(list(self.directory.glob("*.reject")))
        return done.err

    # --- delete

    def test_a_key_narrows_the_delete_of_a_row_alone(self):
        self.create(PUMPS)
        pumps = {"table": "pumps", "entity": "site=1,pump=p"}
        self.ingest("site,pump,ts,part\n1,p,5,x\n1,p,5,y\n1,p,6,x\n", table="pumps")
        before = self.scan(**pumps)
        delete = ("delete", "--store", self.store, "--table", "pumps", "--entity", pumps["entity"])
        for what in (("--from", "5", "--to", "7"), ("--bucket", "1970-01-01T00"),
                     ("--bucket-of", "5")):
            done = self.run_tool(*delete, *what, "--key", "part=z", expect=2)
            self.assertIn("--key goes with --at alone", done.err)
            self.assertEqual(done.out, b"")
        done = self.run_tool(*delete, "--at", "5", "--key", "part=x", "--key", "part=y", expect=2)
        self.assertIn("--key: 'part' is given twice", done.err)
        self.assertEqual(self.scan(**pumps), before)
        self.run_tool(*delete, "--at", "5", "--key", "part=x")
        self.assertEqual([(row["ts"], row["part"]) for row in self.scan(**pumps)],
                         [("5", "y"), ("6", "x")])

    # --- ingest: options that the others leave without effect

    def test_options_of_csv_are_not_of_other_formats(self):
        self.create()
        for options in (("--header", "a,b"), ("--delimiter", ";")):
            for form in ("jsonl", "line"):
                told = self.refused("", "--format", form, *options)
                self.assertEqual(told, f"cistern: {options[0]} is of --format csv, not of {form}; "
                                       "leave it out\n")

    def test_options_without_effect_are_refused(self):
        self.create()
        pattern = ("--time-format", "%Y")
        for options, told in ((("--stem", "x"), "no --map or --set has that"),
                              ((*pattern, "--time-unit", "s"), "--time-unit is of numbers"),
                              ((*pattern, "--time-base", "2024-01-01"), "--time-base is of n")):
            self.assertIn(told, self.refused("station,ts\na,1\n", *options))

    def test_a_cell_to_ignore_has_to_be_there(self):
        self.create()
        told = self.refused("station,ts,temp\na,1,5\n", "--ignore", "tmep")
        self.assertIn("standard input: --ignore: the header has no cell 'tmep'; it has station, "
                      "ts, temp", told)
        self.refused("station,ts,temp\na,1,5\n", "--ignore", "temp,x")
        self.refused("station,ts,temp\na,1,5\n", "--ignore", "Temp")
        self.ingest('station,ts,"x,y"\na,1,5\n', "--ignore", "x,y")
        # A line of another format may have the cell or not.
        done = self.ingest('{"station":"a","ts":2,"x":1}\n{"station":"a","ts":3}\n', "--format",
                           "jsonl", "--ignore", "x,y")
        self.assertIn("no line has the cell 'y' that --ignore leaves out", done.err)
        self.assertNotIn("'x'", done.err)

    def test_a_cell_beside_the_option_that_feeds_its_column(self):
        self.create()
        text = "station,ts,pm,n\na,1,2,3\n"
        for options, told in (
                (("--set", "n=5", "--ignore", "pm"),
                 "column 'n' is fed by --set, so leave the cell 'n' out with --ignore 'n'"),
                (("--map", "pm=n"),
                 "column 'n' is fed by --map, so leave the cell 'n' out with --ignore 'n'"),
                (("--map", "px=n"), "--map: the header has no cell 'px'; it has station, ts, pm"),
                (("--map", "{tss}=ts"), "--map: the header has no cell 'tss'; it has station, ts"),
                (("--set", "n=abc"), "--set: column 'n': 'abc' is not an integer, as int needs")):
            self.assertIn(told, self.refused(text, *options))
        self.ingest(text, "--map", "pm=n", "--ignore", "n")
        self.assertEqual([row["n"] for row in self.scan()], ["2"])

    # --- ingest: what would cost every line

    def test_a_pattern_that_no_time_matches(self):
        self.create()
        for pattern in ("%Q", "%Y-%m-%d %Q", "%H:%M:%S", "%Y-%m", "day", "%Y-%m-%d %"):
            told = self.refused("station,ts\na,2024-05-24\n", "--time-format", pattern)
            self.assertIn(f"--time-format '{pattern}': ", told)
        for pattern, text, at in (
                ("%d.%m.%Y %H:%M:%S", "24.5.2024 7:03:50", "2024-05-24T07:03:50"),
                ("%e %b %y", "4 Jan 24", "2024-01-04T00:00:00"),
                ("%Y-%j", "2024-12", "2024-01-12T00:00:00"),
                ("%m/%d/%y %I:%M %p", "01/02/24 07:03 PM", "2024-01-02T19:03:00"),
                ("%FT%T%z", "2024-05-24T07:03:50+0200", "2024-05-24T05:03:50"),
                ("%FT%T %Z", "2024-05-24T08:03:50 UTC", "2024-05-24T08:03:50"),
                ("%D", "05/24/24", "2024-05-24T00:00:00")):
            self.ingest(f"station,ts,wd\na,{text},{at}.000Z\n", "--time-format", pattern)
        rows = self.scan()
        self.assertEqual([row["ts"] for row in rows], [row["wd"] for row in rows])
        self.assertEqual(len(rows), 7)

    def test_both_halves_of_a_day_are_kept(self):
        self.create()
        self.ingest("station,ts,n\n" + "".join(f"a,03/03/2026 {clock},{n}\n" for n, clock in (
            (1, "12:00:01 AM"), (2, "09:15:00 AM"), (3, "12:00:01 PM"), (4, "09:15:00 PM"))),
            "--time-format", "%m/%d/%Y %I:%M:%S %p")
        self.assertEqual([(row["ts"][11:19], row["n"]) for row in self.scan()],
                         [("00:00:01", "1"), ("09:15:00", "2"), ("12:00:01", "3"),
                          ("21:15:00", "4")])
        for pattern, text in (("%m/%d/%Y %H:%M %p", "03/03/2026 09:15 PM"),
                              ("%Y-%m-%d %H:%M %Z", "2026-03-03 09:15 BANANA"),
                              ("%Y-%m-%d %H:%M %Z", "2026-07-03 09:15 CEST"),
                              ("%a %Y-%m-%d", "Mon 2026-03-03")):
            self.ingest(f"station,ts\na,{text}\n", "--time-format", pattern, expect=1)
        told = self.ingest("station,ts\na,2026-03-03 09:15\n", "--time-format",
                           "%Y-%m-%d %I:%M", expect=2).err
        self.assertIn("%I is an hour of a 12-hour clock, and only %p says", told)

    def test_a_zone_has_summer_time(self):
        self.create()
        berlin = ("--time-zone", "Europe/Berlin")
        text = "station,ts\na,2024-01-15 12:00\na,2024-07-15 12:00\na,2024-07-15 12:00Z\n"
        self.ingest(text, *berlin)
        self.assertEqual([row["ts"] for row in self.scan()],
                         ["2024-01-15T11:00:00.000Z", "2024-07-15T10:00:00.000Z",
                          "2024-07-15T12:00:00.000Z"])
        night = "station,ts\nb,2024-03-31 02:30\nb,2024-10-27 02:30\n"
        told = self.ingest(night, *berlin, expect=1).err
        self.assertIn("'2024-03-31 02:30' does not exist in Europe/Berlin", told)
        self.assertIn("'2024-10-27 02:30' is there twice in Europe/Berlin", told)
        for which, hour in (("earlier", "00"), ("later", "01")):
            self.ingest(night, *berlin, "--ambiguous-times", which, expect=1)
            self.assertEqual([row["ts"] for row in self.scan(entity="b")][-1],
                             f"2024-10-27T{hour}:30:00.000Z")
        self.ingest("station,ts\nc,27.10.2024 02:30 CET\nc,27.10.2024 02:30 CEST\n", *berlin,
                    "--time-format", "%d.%m.%Y %H:%M %Z")
        self.assertEqual([row["ts"] for row in self.scan(entity="c")],
                         ["2024-10-27T00:30:00.000Z", "2024-10-27T01:30:00.000Z"])

    def test_zones_that_cannot_be_used_are_told(self):
        self.create()
        text = "station,ts\na,2024-01-15\n"
        for options, told in (
                (("--time-zone", "Europe/Berln"), "--time-zone 'Europe/Berln' is no zone of "),
                (("--time-zone", "UTC", "--utc-offset", "+01:00"), "--utc-offset is of clocks"),
                (("--time-zone", "UTC", "--ambiguous-times", "x"), "--ambiguous-times 'x' is not"),
                (("--ambiguous-times", "later"), "--ambiguous-times is of --time-zone or of %Z"),
                (("--time-zone", "Europe/Berlin", "--time-base", "2024-03-31T02:30"),
                 "--time-base '2024-03-31T02:30' does not exist in Europe/Berlin")):
            self.assertIn(told, self.refused(text, *options))

    def test_a_reject_file_that_cannot_be_written(self):
        self.create()
        (self.directory / "folder").mkdir()
        for path, why in (("nope/x", "No such file"), ("folder", "Is a directory")):
            told = self.refused("station,ts\na,1\n", "--reject", path)
            self.assertIn(f"--reject '{path}' cannot be written: {why}", told)
        self.ingest("station,ts\na,1\n", "--reject", "folder/x")
        self.assertFalse((self.directory / "folder" / "x").exists())

    # --- ingest: times

    def test_times_are_cut_off_where_it_is_asked_for(self):
        self.create()
        line = "air,station=a n=1i 1700000000123456789\n"
        told = self.ingest(line, "--format", "line", expect=1).err
        self.assertIn("is finer than a millisecond, the unit of its column; nothing is rounded; "
                      "--truncate-times cuts times off at the unit of their column", told)
        self.ingest(line, "--format", "line", "--truncate-times")
        self.ingest("station,ts\na,-0.0001\n", "--time-unit", "s", "--truncate-times")
        self.assertEqual([row["ts"] for row in self.scan()],
                         ["1969-12-31T23:59:59.999Z", "2023-11-14T22:13:20.123Z"])
        done = self.run_tool("delete", "--store", self.store, "--table", "air", "--entity", "a",
                             "--at", "2024-01-01T00:00:00.0001", expect=2)
        self.assertNotIn("--truncate-times", done.err)

    def test_a_date_does_not_count_from_another(self):
        self.create()
        for option in ("--time-base", "--time-unit", "--utc-offset"):
            self.assertIn(f"cistern: {option} 'yesterday' is ",
                          self.refused("station,ts\n", option, "yesterday"))
        told = self.ingest("station,ts\na,2024-05-24\n", "--time-base", "2024-01-01", expect=1).err
        self.assertIn("'2024-05-24' is a date, and --time-base is for numbers that count from it",
                      told)

    # --- words that a command does not have

    def test_what_is_not_expected_is_named(self):
        self.create()
        scan = ("scan", "--store", self.store, "--table", "air")
        for words, told in (
                ((*scan, "--entity", "a", "--last", "3"), "'--last' is no option of scan; it has "),
                (("expire", "--store", self.store, "--table", "air"),
                 "'--table' is no option of expire; it has --help, --store, --memory-budget, "
                 "--keep-confirmed, --keep-unconfirmed"),
                (("tables", "--store", self.store, "x"), "'x' is not expected: tables takes "),
                (scan, "cistern: say whose rows by --entity, or --all-entities\n"),
                ((*scan, "--entity", "a", "--all-entities"), "both given: leave one out"),
                ((*scan, "--all-entities", "--token", "x"), "--token continues the scan of one")):
            self.assertIn(told, self.run_tool(*words, expect=2).err)

    def test_times_are_told_with_their_option(self):
        self.create()
        delete = ("delete", "--store", self.store, "--table", "air", "--entity", "a")
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a")
        for words in ((*scan, "--from"), (*scan, "--to"), (*delete, "--to", "5", "--from"),
                      (*delete, "--bucket-of"), ("buckets", "--store", self.store, "--from")):
            for text in ("yesterday", "2026-09"):
                told = self.run_tool(*words, text, expect=2).err
                self.assertIn(f"cistern: {words[-1]} '{text}' is no time: expected ISO 8601", told)

    def test_times_count_from_now(self):
        self.create()
        now_s = int(time.time())
        for ago_s, n in ((600, 1), (3 * 3600, 2), (50 * 3600, 3)):
            self.ingest(f"station,ts,n\na,{now_s - ago_s},{n}\n", "--time-unit", "s")

        def rows(*bounds):
            return [row["n"] for row in self.scan(*bounds)]

        self.assertEqual(rows("--from", "-1h"), ["1"])
        self.assertEqual(rows("--from", "now-4h", "--to", "now"), ["2", "1"])
        self.assertEqual(rows("--from=-3d", "--to", "-2h"), ["3", "2"])
        self.assertEqual(rows("--to", "-1d"), ["3"])
        self.assertEqual(rows("--from", "now+1h"), [])
        words = ("--store", self.store, "--table", "air", "--entity", "a", "--from", "-4h")
        self.run_tool("delete", *words, "--to", "now")
        self.assertEqual(rows(), ["3"])
        steps = self.run_tool("aggregate", *words[:-1], "-3d", "--step", "1d", "--of", "n:count",
                              "--format", "csv").out.decode()
        self.assertEqual(len(steps.splitlines()), 2)
        buckets = ("buckets", "--store", self.store, "--json")
        self.assertEqual(self.run_tool(*buckets, "--from", "-3d", "--to", "now").out,
                         self.run_tool(*buckets).out)
        self.assertEqual(self.run_tool(*buckets, "--from", "now+2d").out, b"")

    def test_help_is_a_word_too(self):
        for words, same in ((("help",), ("--help",)), (("help", "scan"), ("scan", "--help"))):
            self.assertEqual(self.run_tool(*words).out, self.run_tool(*same).out)
        for command in ("histograms", "stats"):
            footer = self.run_tool("help", command).out.decode().split("Options:")[1]
            self.assertLessEqual(max(map(len, footer.splitlines())), 100)

    # --- the quickstart

    def test_quickstart_looks_at_its_options_first(self):
        for seconds in ("abc", "0", "1.5", "08", "10000"):
            done = subprocess.run([ROOT / "tools/quickstart", "--seconds", seconds, "--store",
                                   self.store], capture_output=True, text=True, check=False,
                                  timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"quickstart: --seconds {seconds} is not a whole number "
                                          "from 1 to 9999\n")
            self.assertFalse(self.store.exists())


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    unittest.main(verbosity=1)
