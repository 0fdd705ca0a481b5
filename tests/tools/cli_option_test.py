"""Options that say nothing, or what cannot be, are refused before anything is done.

Environment: CISTERN_BIN.
"""

import os
import subprocess
import unittest
from pathlib import Path

from cli_case import PUMPS, CliCase

ROOT = Path(__file__).resolve().parents[2]


class OptionTest(CliCase):
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
