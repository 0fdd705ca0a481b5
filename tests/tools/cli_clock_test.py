"""What a store believes of the time, and how a person puts that right.

Environment: CISTERN_BIN, CISTERN_EVENT_CLOCK_INGEST.
"""

import json
import os
import subprocess
import time
import unittest

from cli_case import AIR, CliCase

INGEST = os.environ.get("CISTERN_EVENT_CLOCK_INGEST", "event_clock_ingest")
YEAR_S = 365 * 86400


class ClockTest(CliCase):
    def clock(self, *options, expect=0):
        done = self.run_tool("clock", "--store", self.store, "--json", *options,
                             expect=expect)
        return json.loads(done.out)

    def live_ahead(self):
        """The store of a machine whose clock was believed six years ahead of this one."""
        self.create(AIR)
        floor = int(time.time())
        ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(floor + 6 * YEAR_S))
        rows = self.write("rows.csv", f"station,ts\na,{ahead}\n")
        subprocess.run([INGEST, self.store, "air", rows, "1000", str(floor)], check=True,
                       capture_output=True, timeout=120)

    def test_a_new_store_believes_the_clock(self):
        self.create(AIR)
        report = self.clock()
        self.assertTrue(report["trusted"])
        self.assertFalse(report["rows_wait"])
        self.assertEqual(report["dwell_left_s"], 0)
        self.assertEqual(report["believed"], report["wall"])
        text = self.run_tool("clock", "--store", self.store).out.decode()
        for name in report:
            self.assertIn(name, text)

    def test_a_person_takes_a_false_time_back(self):
        self.live_ahead()
        if self.clock(expect=None)["synchronised"] != "yes":
            report = self.clock(expect=7)
            self.assertFalse(report["trusted"])
            self.assertGreater(report["believed"], report["wall"])
            # The look before began the dwelling.
            self.assertGreater(report["dwell_left_s"], 5 * 3600)
            self.assertLessEqual(report["dwell_left_s"], 6 * 3600)
            self.assertIn("days behind the time that was believed last", report["why"])
            refused = self.run_tool("seal", "--store", self.store, "--all", expect=None)
            self.assertNotEqual(refused.code, 0)
            self.assertIn("cistern clock", refused.err)
        confirmed = self.clock("--confirm")
        self.assertTrue(confirmed["trusted"])
        self.assertEqual(confirmed["certain"], confirmed["wall"])
        self.assertTrue(self.clock()["trusted"], "it is kept")
        self.run_tool("seal", "--store", self.store, "--all")
        self.assertIn(b'"a"', self.run_tool("scan", "--store", self.store, "--table", "air",
                                            "--entity", "a", "--json", "--from",
                                            "2000-01-01", "--to", "2100-01-01").out)

    def test_bad_options_are_refused(self):
        self.create(AIR)
        self.assertIn("'xml'", self.run_tool("clock", "--store", self.store, "--format", "xml",
                                             expect=2).err)
        self.run_tool("clock", "--store", "nope", expect=3)


if __name__ == "__main__":
    unittest.main(verbosity=1)
