"""When space comes back: windows, and what expire says of those that it leaves.

Environment: CISTERN_BIN.
"""

import csv
import io
import json
import time
import unittest

from cli_case import AIR, PUMPS, CliCase

DAY_MS = 86400000


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class WindowsTest(CliCase):
    def windows(self, *options):
        text = self.run_tool("windows", "--store", self.store, "--format", "csv",
                             *options).out.decode()
        return list(csv.DictReader(io.StringIO(text)))

    def expire(self, *options):
        return self.run_tool("expire", "--store", self.store, *options).out.decode().splitlines()

    def fill(self):
        """Windows of a delete, of a row that stays, and of rows that live for a second; another of
        a table with shorter buckets. Near enough to now to be two days wide, and apart."""
        self.create(AIR + PUMPS)
        now = int(time.time()) * 1000
        self.run_tool("delete", "--store", self.store, "--table", "air", "--entity", "a",
                      "--bucket-of", now - 11 * DAY_MS)
        self.ingest(f"station,ts\na,{now - 6 * DAY_MS}\n")
        self.ingest(f"station,ts\na,{now - DAY_MS}\nb,{now - DAY_MS}\n", "--ttl", 1)
        self.ingest(f"site,pump,ts,part\n1,p,{(now - 6 * DAY_MS) * 1000},x\n", table="pumps")
        self.run_tool("seal", "--store", self.store, "--all")
        time.sleep(1.1)

    def test_windows_are_listed_with_their_end_and_its_reason(self):
        self.fill()
        sealed = [w for w in self.windows() if w["kind"] == "window"]
        self.assertEqual([w["tables"] for w in sealed],
                         ["plant.pumps", "air", "air", "air"])
        self.assertEqual([w["class_s"] for w in sealed],
                         ["108000", "172800", "172800", "172800"])
        pumps, deleted, stays, over = sealed
        unsent = "upstream has not confirmed 1 of 1 segments"
        self.assertEqual(pumps["why"], f"holds rows without TTL in 1 of 1 segments; {unsent}")
        self.assertEqual((over["buckets"], over["segments"], over["versions"]), ("2", "2", "2"))
        self.assertEqual(over["why"], "due to go: its rows have expired")
        self.assertLessEqual(over["ends_at"], iso(time.time()))
        self.assertLessEqual(over["from"], iso(time.time() - 86400))
        self.assertGreater(over["to"], iso(time.time() - 2 * 86400))
        self.assertEqual(stays["ends_at"], "")
        self.assertEqual(deleted["why"], f"holds deletes in 1 of 1 segments; {unsent}")
        given_up = self.windows("--table", "air", "--keep-unconfirmed", "36500d")
        self.assertEqual(len([w for w in given_up if w["kind"] == "window"]), 3)
        self.assertIn(f"{unsent}, given up at 21", given_up[1]["why"])
        self.assertTrue(given_up[1]["ends_at"])

    def test_windows_for_people(self):
        self.fill()
        lines = self.run_tool("windows", "--store", self.store).out.decode().splitlines()
        self.assertEqual(lines[0].split(), ["window", "class", "from", "to", "tables", "buckets",
                                            "segments", "versions", "bytes", "ends_at", "why"])
        self.assertRegex(lines[5], r"^window \d+ +2d +\d{4}-\d\d-\d\dT00:00:00Z .* air +2 +2 +2 ")
        self.assertRegex(lines[-1], r"^total: 4 windows, \d spill famil(y|ies), 5 versions, 5 "
                                    r"segments, \d+ bytes$")
        text = self.run_tool("windows", "--store", self.store, "--json").out.decode()
        over = json.loads(text.splitlines()[3])
        self.assertEqual((over["kind"], over["buckets"], over["versions"]), ("window", 2, 2))

    def test_the_class_of_months_is_told_in_months(self):
        self.create("""CREATE TABLE slow (a text, m text, ts timestamp, PRIMARY KEY ((a, m), ts))
            WITH comment = 'cistern: bucket m = 1 month';""")
        self.ingest("a,ts\nx,1\n", table="slow")
        self.run_tool("seal", "--store", self.store, "--all")
        line = self.run_tool("windows", "--store", self.store).out.decode().splitlines()[2]
        self.assertRegex(line, r"^window \d+ +\d+ months? ")

    def test_rows_that_are_not_sealed_are_in_spill_families(self):
        self.create()
        self.ingest("station,ts\na,1\nb,2\n")
        self.assertEqual(self.windows(), [], "they are in the journal")
        self.run_tool("alter", "--store", self.store, "--table", "air", "--schema",
                      self.write("x.cql", AIR.replace("n int,", "n int, more int,")))
        (spill,) = self.windows()
        self.assertEqual((spill["kind"], spill["buckets"], spill["from"], spill["to"]),
                         ("spill", "2", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"))
        self.assertEqual(spill["why"], "holds rows of buckets that are not sealed: 2 of 2 row "
                                       "versions")

    def test_expire_says_why_it_did_not(self):
        self.fill()
        reasons = {w["window"]: w["why"] for w in self.windows() if w["kind"] == "window"}
        told = self.expire()
        self.assertEqual(told[0], "1 window dropped, 2 row versions expired, 0 shed")
        self.assertEqual(len(told), 5)
        self.assertRegex(told[1], r"^window \d+ from \d{4}-\S+Z to \d{4}-\S+Z with 2 row versions "
                                  r"went: its rows have expired$")
        for line in told[2:]:
            self.assertRegex(line, r"^window \d+ from \d{4}-\S+Z to \d{4}-\S+Z with 1 row version "
                                   r"stays: ")
            window, why = line.split(" from ")[0], line.split(" stays: ")[1]
            self.assertEqual(why, reasons[window])
        shed = self.expire("--keep-unconfirmed", "60s")
        self.assertEqual(shed[0], "3 windows dropped, 0 row versions expired, 3 shed")
        self.assertEqual(len(shed), 4)
        for line in shed[1:]:
            self.assertRegex(line, r" with 1 row version was shed: it was not confirmed within "
                                   r"keep_unconfirmed_s$")
        self.assertEqual(self.expire(), ["0 windows dropped, 0 row versions expired, 0 shed"])

    def test_bad_options_are_refused(self):
        self.create()
        for options, told in ((("--table", "none"), "no table 'none'"),
                              (("--format", "xml"), "'xml' is not one of table, csv; --json"),
                              (("--keep-unconfirmed", "soon"), "--keep-unconfirmed 'soon'")):
            done = self.run_tool("windows", "--store", self.store, *options, expect=2)
            self.assertIn(told, done.err)
        self.run_tool("windows", "--store", "nope", expect=3)


if __name__ == "__main__":
    unittest.main(verbosity=1)
