#!/usr/bin/env python3
"""A person with a damaged store: what the tool says, what it advises, and what comes of that.

Environment: CISTERN_BIN.
"""

import os
import re
import shlex
import shutil
import unittest

from cli_case import CliCase


class DamageTest(CliCase):
    def fill(self):
        """The store, with a row in its journal."""
        self.create()
        self.ingest("station,ts,n\na,1,1\n")

    # --- a store that cannot be opened

    def test_the_advice_to_salvage_names_the_store(self):
        """It is pasted beside a healthy store of the name that an example would have."""
        self.store = self.directory / "S"
        self.create()
        self.ingest("station,ts,n\nhealthy,1,2\n")
        for name in ("plain", "it's mine"):
            self.store = self.directory / name
            self.fill()
            for manifest in self.store.glob("MANIFEST-*"):
                manifest.unlink()
            told = self.run_tool("stats", "--store", name, expect=3).err
            advice = re.search(r"`cistern (salvage --store .+ --to NEW)` \(Salvage", told)
            self.assertIsNotNone(advice, told)
            saved = self.run_tool(*shlex.split(advice.group(1)), expect=6)
            self.assertNotIn("cistern salvage", saved.err)
            self.store = self.directory / "NEW"
            self.assertEqual([row["n"] for row in self.scan()], ["1"])
            shutil.rmtree(self.store)

    def test_what_cannot_be_opened_is_said_once(self):
        self.fill()
        for manifest in self.store.glob("MANIFEST-*"):
            data = bytearray(manifest.read_bytes())
            data[len(data) // 2] ^= 0x55
            manifest.write_bytes(data)
        for command in (("stats",), ("seal", "--due")):
            told = self.run_tool(command[0], "--store", self.store, *command[1:], expect=3).err
            self.assertIn(f"cannot open the store {self.store}: ", told)
            self.assertNotIn("cannot be opened", told)


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    unittest.main(verbosity=1)
