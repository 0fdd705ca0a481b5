#!/usr/bin/env python3
"""What is sent arrives the same over every version of the protocol, with and without compression,
over TLS and with a password; who is not who he says is sent nothing.

Environment: see sync_case.py.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
from cluster import USER, Cluster  # noqa: E402
from patience import patience_s  # noqa: E402
from small_store import SmallStore  # noqa: E402
from sync_case import (AWAY, BIN, HOLD, PARKED_OR_DIFFERENT, SyncCase,  # noqa: E402
                       temporary_directory)

LATE_S = 3  # of an expiry on v4, beside the time that the sync took
CONNECT_TIMEOUT = "2s"  # where nobody will take us
SEEN_S = patience_s(300)
LAST_SECOND_OF_4 = 2**31 - 2  # that a storage compatible with Cassandra 4 can keep
TWENTY_YEARS_S = 630_000_000
CLIENTS = ("SELECT driver_name, protocol_version, ssl_enabled, username, client_options "
           "FROM system_views.clients")


class TransportCase(SyncCase):
    def check_arrives(self, small, late_s=0):
        """Sends the store, and compares what is there then."""
        began = time.monotonic()
        connections = self.followed()
        if late_s:
            late_s += int(time.monotonic() - began) + 1
        now_s = int(time.time())
        count = small.model.check(self.read("air", now_s), now_s, late_s)
        self.assertGreater(count, 100)
        self.assertIn("nothing waits", self.sync())
        return connections

    def followed(self):
        """Sends all by `sync --follow`; the connections that the server saw meanwhile."""
        words = [BIN, "sync", "--follow", *self.way_to_cluster(), "--keyspace", self.keyspace,
                 "--hold", HOLD]
        with open(self.directory / "messages", "w+b") as messages, subprocess.Popen(
                list(map(str, words)), stdin=subprocess.DEVNULL, stderr=messages) as process:
            try:
                deadline = time.monotonic() + SEEN_S
                while True:
                    status = self.status()
                    if status["seals_waiting"] == 0 and status["versions_confirmed"] > 0:
                        break
                    self.assertIsNone(process.poll(), Path(messages.name).read_text("utf-8"))
                    self.assertLess(time.monotonic(), deadline, status)
                    time.sleep(0.1)
                with self.cluster.connect() as client:
                    return [row | {"client_options": dict(row["client_options"])}
                            for row in client.query(CLIENTS) if row["driver_name"] == "Cistern"]
            finally:
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(SEEN_S), 0)


class ProtocolTest(TransportCase):
    """One store over every version and compression; each time to an empty keyspace."""

    def check(self, *access, version, compression, late_s=0):
        small = SmallStore(self)
        small.fill()
        self.apply_schema()
        self.access = list(access)
        connections = self.check_arrives(small, late_s)
        self.assertTrue(connections)
        for row in connections:
            self.assertEqual(row["protocol_version"], version, row)
            self.assertEqual(row["client_options"].get("COMPRESSION"), compression, row)
            self.assertFalse(row["ssl_enabled"])

    def test_what_it_chooses(self):
        self.check(version=5, compression="lz4")

    def test_v5_without_compression(self):
        self.check("--protocol", "v5", "--compression", "none", version=5, compression=None)

    def test_v4_with_lz4(self):
        self.check("--protocol", "v4", version=4, compression="lz4", late_s=LATE_S)

    def test_v4_without_compression(self):
        """As a file has it."""
        config = self.directory / "sync.toml"
        config.write_text('protocol = "v4"\ncompression = "none"\n', encoding="utf-8")
        self.check("--config", config, version=4, compression=None, late_s=LATE_S)


class SecuredTest(TransportCase):
    """A server that takes TLS with a password alone, and no TTL that ends after 2038."""

    @classmethod
    def setUpClass(cls):
        scratch = temporary_directory()
        cls.addClassCleanup(shutil.rmtree, scratch, ignore_errors=True)
        cls.secured = Cluster.create(scratch / "cluster", tied=True, tls=True, password=True,
                                     compatibility="cassandra_4")
        cls.addClassCleanup(cls.secured.remove)
        cls.secured.start()

    def cluster_of_test(self):
        return self.secured

    def setUp(self):
        super().setUp()
        self.access = self.access_with()

    def access_with(self, ca=None, password_file=None):
        return ["--tls", "--ca", ca or self.cluster.ca, "--user", USER, "--password-file",
                password_file or self.cluster.password_file]

    def test_tls_and_password(self):
        small = SmallStore(self)
        small.fill()
        self.apply_schema()
        connections = self.check_arrives(small)
        self.assertTrue(connections)
        for row in connections:
            self.assertTrue(row["ssl_enabled"], row)
            self.assertEqual(row["username"], USER)
            self.assertEqual(row["protocol_version"], 5)

    def test_who_is_not_trusted_gets_nothing(self):
        small = SmallStore(self)
        small.fill()
        self.apply_schema()
        waiting = self.status()["seals_waiting"]
        other_ca = self.directory / "ca.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=somebody else",
                        "-keyout", os.devnull, "-out", other_ca], check=True, capture_output=True)
        wrong = self.directory / "wrong"
        wrong.write_text("not the password\n", encoding="utf-8")
        wrong.chmod(0o600)
        contact = self.cluster.contact
        port = contact.rsplit(":", 1)[1]
        for access, host, words in (
                (self.access_with(ca=other_ca), contact, "certificate"),
                # The same server by a name that its certificate does not have.
                (self.access_with(), f"127.1:{port}", "certificate"),
                (self.access_with(password_file=wrong), contact, "password"),
                (["--tls", "--ca", self.cluster.ca], contact, "password"),
                ([], contact, "")):
            with self.subTest(access=access, host=host):
                _, messages = self.tool("sync", "--store", self.store, "--contact", host, *access,
                                        "--keyspace", self.keyspace, "--connect-timeout",
                                        CONNECT_TIMEOUT, expect=AWAY)
                self.assertIn(words, messages)
                self.assertNotIn("not the password", messages)
                self.assertEqual(self.status()["seals_waiting"], waiting)
        self.assertEqual(list(self.read("air", int(time.time()))), [])

    def test_a_row_that_ends_shortly_before_2038_is_taken_late(self):
        """A server of that mode judges a TTL by its own now, whatever now a request names."""
        small = SmallStore(self)
        ttl_s = LAST_SECOND_OF_4 - 5 - int(time.time())
        places = [("west", "2024-05-01", row) for row in range(5)]
        small.put(places, lambda row: {"n": str(row)}, ttl_s=ttl_s)
        small.seal()
        self.apply_schema()
        time.sleep(10)
        self.assertIn("1 seal confirmed", self.sync())
        now_s = int(time.time())
        small.model.check(self.read("air", now_s), now_s)

    def test_refused_ttl_is_parked_until_the_cluster_takes_it(self):
        small = SmallStore(self)
        small.fill()
        places = [("west", "2024-05-01", row) for row in range(5)]
        small.put(places, lambda row: {"n": str(row)}, ttl_s=TWENTY_YEARS_S)
        small.seal()
        self.apply_schema()
        messages = self.sync(expect=PARKED_OR_DIFFERENT)
        self.assertIn("west", messages)
        status = self.status(expect=PARKED_OR_DIFFERENT)
        self.assertEqual((status["seals_waiting"], status["seals_parked"],
                          status["versions_parked"]), (0, 1, len(places)))
        parked, = status["parked"]
        self.assertIn("exceeds maximum supported expiration date", parked["words"])
        # All others are there.
        model = small.model
        rows = dict(model.rows)
        now_s = int(time.time())
        model.delete(lambda entity, _: entity == ("west",))
        model.check(self.read("air", now_s), now_s)
        # As long as the reason stays it is parked again, and nothing is lost.
        self.outbox("retry")
        self.sync(expect=PARKED_OR_DIFFERENT)
        self.assertEqual(self.status(expect=PARKED_OR_DIFFERENT)["seals_parked"], 1)
        self.cluster.change(compatibility="none")
        self.cluster.restart()
        self.sync(expect=PARKED_OR_DIFFERENT)
        self.assertEqual(self.status(expect=PARKED_OR_DIFFERENT)["seals_parked"], 1)
        self.outbox("retry", "--table", "air")
        self.assertIn("1 seal confirmed", self.sync())
        self.assertEqual(self.status()["seals_parked"], 0)
        model.rows = rows
        now_s = int(time.time())
        model.check(self.read("air", now_s), now_s)

    def outbox(self, command, *options):
        return self.tool("sync", command, "--store", self.store, *options)[0]


class ThreeNodesTest(TransportCase):
    """QUORUM goes on while one node of three is down, and what it was sent is on the others."""

    replicas = 3

    @classmethod
    def setUpClass(cls):
        scratch = temporary_directory()
        cls.addClassCleanup(shutil.rmtree, scratch, ignore_errors=True)
        cls.three = Cluster.create(scratch / "cluster", tied=True, nodes=3, password=True)
        cls.addClassCleanup(cls.three.remove)
        cls.three.start()

    def cluster_of_test(self):
        return self.three

    def test_quorum_with_one_node_stopped(self):
        self.access = ["--user", USER, "--password-file", self.cluster.password_file,
                       "--allow-cleartext-password"]
        small = SmallStore(self)
        small.fill()
        self.apply_schema()
        self.sync("--consistency", "QUORUM")
        self.check_each_node(small, (1, 2, 3))
        self.cluster.stop(3)
        late = [("south", "2024-05-02", row) for row in range(10)]
        small.put(late, lambda row: {"n": str(row + 100)})
        small.seal()
        self.assertIn("1 seal confirmed", self.sync("--consistency", "QUORUM"))
        self.check_each_node(small, (1, 2))
        small.put(late, lambda row: {"n": str(row + 200)})
        small.seal()
        self.check_all_is_not_reached()

    def check_all_is_not_reached(self):
        """Not all replicas are there: the seal waits, and goes by QUORUM later."""
        self.sync("--consistency", "ALL", "--away-after", "3s", expect=AWAY)
        self.assertEqual(self.status()["seals_waiting"], 1)
        self.assertIn("1 seal confirmed", self.sync("--consistency", "QUORUM"))

    def check_each_node(self, small, numbers):
        """A QUORUM of reads gives all; so does each node alone that ran meanwhile."""
        for number in numbers:
            now_s = int(time.time())
            contact = self.cluster.contact.split(",")[number - 1]
            small.model.check(self.read("air", now_s, "--contact", contact), now_s)


if __name__ == "__main__":
    unittest.main()
