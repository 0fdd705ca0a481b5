#!/usr/bin/env python3
"""Proves the server for tests: what README.md beside this file promises. Starts about ten nodes."""

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
from certificates import make_authority  # noqa: E402
from cluster import FIRST_USER, USER, Cluster  # noqa: E402
from cql_client import BAD_CREDENTIALS, INVALID, OVERLOADED, UNAVAILABLE, CqlError  # noqa: E402
from patience import patience_s  # noqa: E402
from process import stat_fields  # noqa: E402

HERE = Path(__file__).resolve().parent
SERVER = str(HERE / "server")
TWENTY_YEARS_S = 630720000    # the largest TTL that Cassandra's grammar takes
TIMEOUT_S = patience_s(1000)  # of what starts a node, on a busy machine
SUSPENDED_S = 2               # no reply may come meanwhile


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {TIMEOUT_S:.0f} s for {what}")
        time.sleep(0.05)


def is_listening(node):
    with contextlib.suppress(OSError):
        socket.create_connection((node.address, node.port), timeout=5).close()
        return True
    return False


def server(*arguments, expect=0, **options):
    done = subprocess.run([SERVER, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=TIMEOUT_S, **options)
    if done.returncode != expect:
        raise AssertionError(f"server {arguments}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done


class ServerCase(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="cistern-cassandra-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.directory = self.scratch / "cluster"

    def start(self, **options):
        cluster = Cluster.create(self.directory, tied=True, **options)
        self.addCleanup(cluster.remove)
        cluster.start()
        return cluster

    def assert_refused(self, code, action, *arguments, **options):
        with self.assertRaises(CqlError) as caught:
            action(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception.message

    def make_table(self, cluster, client, replicas=1):
        client.query("CREATE KEYSPACE k WITH replication = "
                     f"{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}")
        client.query("CREATE TABLE k.t (e text, b int, ts int, v double, "
                     "PRIMARY KEY ((e, b), ts)) WITH CLUSTERING ORDER BY (ts DESC)")
        cluster.wait_schema_agreement()

    def insert(self, client, first, count, consistency="ONE"):
        for ts in range(first, first + count):
            client.query(f"INSERT INTO k.t (e, b, ts, v) VALUES ('gw', 1, {ts}, {ts}.5)",
                         consistency)

    def rows(self, client, consistency="ONE"):
        return [row["ts"] for row in client.query("SELECT ts FROM k.t", consistency)]

    def read_partitions(self, cluster, *arguments):
        done = subprocess.run([str(HERE / "read_partitions.py"), *arguments], capture_output=True,
                              text=True, check=False, timeout=TIMEOUT_S,
                              env={**os.environ, **cluster.environment()})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


class OneNodeTest(ServerCase):
    """Compatibility mode NONE; all through the command line as far as it goes."""

    def test_life_of_a_node(self):
        self.addCleanup(lambda: Cluster(self.directory).remove())
        contact = server("start", "--dir", self.directory).stdout.strip()
        cluster = Cluster(self.directory)
        node, = cluster.nodes
        self.assertEqual(contact, f"127.0.0.1:{node.port}")
        self.assertIn("running", server("status", "--dir", self.directory).stdout)
        self.assertIn("holds a cluster already",
                      server("start", "--dir", self.directory, expect=1).stderr)
        row = json.loads(server("cql", "--dir", self.directory,
                                "SELECT release_version FROM system.local").stdout)
        self.assertEqual(row, {"release_version": "5.0.8"})
        with cluster.connect() as client:
            self.make_table(cluster, client)
            self.check_twenty_years(client)
            self.check_crash(cluster, client)
        with cluster.connect() as client:
            self.check_suspension(cluster, client)
        self.check_oracle(cluster)
        self.check_stop(cluster)

    def check_twenty_years(self, client):
        client.query("INSERT INTO k.t (e, b, ts, v) VALUES ('old', 1, 1, 1) "
                     f"USING TTL {TWENTY_YEARS_S}")
        row, = client.query("SELECT ttl(v) AS ttl FROM k.t WHERE e = 'old' AND b = 1")
        self.assertGreater(row["ttl"], TWENTY_YEARS_S - 86400)

    def check_crash(self, cluster, client):
        """Rows that only the commit log holds outlive a kill -9."""
        self.insert(client, 0, 500)
        server("kill", "--dir", self.directory)
        self.assertEqual(cluster.nodes[0].process.state(), "stopped")
        self.assertIn("stopped", server("status", "--dir", self.directory, expect=1).stdout)
        server("restart", "--dir", self.directory)
        with cluster.connect() as again:
            rows = again.query("SELECT ts FROM k.t WHERE e = 'gw' AND b = 1")
        self.assertEqual([row["ts"] for row in rows], list(range(499, -1, -1)))

    def check_suspension(self, cluster, client):
        server("suspend", "--dir", self.directory)
        self.assertEqual(cluster.nodes[0].process.state(), "suspended")
        with self.assertRaises(TimeoutError):
            cluster.connect(timeout_s=SUSPENDED_S)
        server("resume", "--dir", self.directory)
        self.assertEqual(len(client.query("SELECT ts FROM k.t WHERE e = 'gw' AND b = 1")), 500)

    def check_oracle(self, cluster):
        with cluster.connect() as client:
            client.query("CREATE TABLE k.types (e text, day date, ts timestamp, f float, d double, "
                         "bl blob, t time, ip inet, v varint, de decimal, x int, "
                         "l frozen<list<double>>, s frozen<set<inet>>, m frozen<map<text, int>>, "
                         "PRIMARY KEY ((e, day), ts)) WITH CLUSTERING ORDER BY (ts DESC)")
            client.query("INSERT INTO k.types (e, day, ts, f, d, bl, t, ip, v, de, l, s, m) VALUES "
                         "('O''Neil', '2024-01-15', 1705327530123, 0.1, -0.0, 0x00ff, "
                         "'14:05:30.000000001', '2001:db8::1', -123, 1.20E+4, [1, 1e5, 0.1], "
                         "{'10.0.0.1', '9.0.0.1'}, {'it''s': 1}) USING TIMESTAMP 42")
            client.query("INSERT INTO k.types (e, day, ts, d) VALUES ('O''Neil', '2024-01-15', "
                         "253402300800000, NaN) USING TIMESTAMP 43 AND TTL 1000000")
        now = int(time.time())
        newest, oldest = self.read_partitions(cluster, "--table", "k.types", "--now", str(now))
        partition = {"e": "O'Neil", "day": "2024-01-15"}
        self.assertEqual(newest["partition"], partition)
        self.assertEqual(newest["clustering"], {"ts": "253402300800000"})
        self.assertEqual(newest["cells"]["d"][:2], ["NaN", 43])
        self.assertEqual(oldest["clustering"], {"ts": "2024-01-15T14:05:30.123Z"})
        self.assertEqual(oldest["cells"], {name: [value, 42, None] for name, value in {
            "bl": "0x00ff", "d": -0.0, "de": "1.20E+4", "f": 0.1, "ip": "2001:db8::1",
            "l": "[1, 1e+05, 0.1]", "m": "{'it''s': 1}", "s": "{'9.0.0.1', '10.0.0.1'}",
            "t": "14:05:30.000000001", "v": "-123"}.items()})
        # One now: a ttl counts from it, whenever it is read; past it the row is gone.
        ttl = newest["cells"]["d"][2]
        later, _ = self.read_partitions(cluster, "--table", "k.types", "--now", str(now + 1000),
                                        "--key", json.dumps(partition))
        self.assertEqual(later["cells"]["d"], ["NaN", 43, ttl - 1000])
        self.assertEqual(self.read_partitions(cluster, "--table", "k.types", "--now",
                                              str(now + ttl)), [oldest])
        self.assertEqual(self.read_partitions(cluster, "--table", "k.types", "--list"),
                         [{"partition": partition}])

    def check_stop(self, cluster):
        node, = cluster.nodes
        pid = node.process.pid()
        server("stop", "--dir", self.directory)
        wait_until(lambda: stat_fields(pid) is None, "the process to be gone")
        self.assertFalse(is_listening(node))
        server("stop", "--dir", self.directory)  # nothing to do


class SecuredTest(ServerCase):
    """Compatibility mode CASSANDRA_4 with passwords and TLS."""

    def test_secured_node(self):
        cluster = self.start(compatibility="cassandra_4", password=True, tls=True)
        with cluster.connect() as client:
            self.make_table(cluster, client)
            self.insert(client, 0, 1)
            refusal = self.assert_refused(
                INVALID, client.query,
                f"INSERT INTO k.t (e, b, ts, v) VALUES ('gw', 1, 1, 1) USING TTL {TWENTY_YEARS_S}")
            self.assertIn("2038-01-19", refusal)
        self.check_passwords(cluster)
        self.check_certificates(cluster)
        rows = self.read_partitions(cluster, "--table", "k.t")
        self.assertEqual([row["cells"]["v"][0] for row in rows], [0.5])
        self.check_secrets(cluster)

    def check_passwords(self, cluster):
        self.assert_refused(BAD_CREDENTIALS, cluster.connect, user=USER, password="wrong")
        self.assert_refused(BAD_CREDENTIALS, cluster.connect, user=FIRST_USER,
                            password=FIRST_USER)
        self.assert_refused(BAD_CREDENTIALS, cluster.connect, user=None)

    def check_certificates(self, cluster):
        other = make_authority(self.scratch, "other")
        with self.assertRaises(ssl.SSLCertVerificationError):
            cluster.connect(ca=other)
        with self.assertRaises(OSError):
            cluster.connect(ca=None)

    def check_secrets(self, cluster):
        """Neither secret on the command line or in the log."""
        node, = cluster.nodes
        command = Path(f"/proc/{node.process.pid()}/cmdline").read_bytes().decode()
        log = node.log.read_text(encoding="utf-8")
        for file in (cluster.password_file, self.directory / "tls" / "server.p12.password"):
            secret = file.read_text(encoding="utf-8").strip()
            self.assertGreaterEqual(len(secret), 20)
            self.assertEqual(file.stat().st_mode & 0o077, 0)
            self.assertNotIn(secret, command)
            self.assertNotIn(secret, log)


class RateLimitTest(ServerCase):
    def test_too_many_requests_are_refused(self):
        cluster = self.start(rate_limit=2)
        with cluster.connect(throw_on_overload=True) as client:
            def hurry():
                deadline = time.monotonic() + TIMEOUT_S
                while time.monotonic() < deadline:
                    client.query("SELECT key FROM system.local")
            self.assert_refused(OVERLOADED, hurry)


class ThreeNodesTest(ServerCase):
    def test_quorum_with_one_node_stopped(self):
        cluster = self.start(nodes=3, password=True)
        with cluster.connect(1) as client:
            self.make_table(cluster, client, replicas=3)
            self.insert(client, 0, 5, "ALL")
            cluster.stop(3)
            self.assertFalse(is_listening(cluster.nodes[2]))
            self.wait_for_refusal(client)
            self.insert(client, 5, 5, "QUORUM")
        with cluster.connect(2) as client:
            self.wait_for_refusal(client)
            self.assertEqual(self.rows(client, "QUORUM"), list(range(9, -1, -1)))
        cluster.restart(3)
        with cluster.connect(3) as client:
            self.assertEqual(self.rows(client, "ALL"), list(range(9, -1, -1)))
            self.insert(client, 10, 1, "ALL")
        rows = self.read_partitions(cluster, "--table", "k.t")
        self.assertEqual([row["clustering"]["ts"] for row in rows], list(range(10, -1, -1)))
        pids = [node.process.pid() for node in cluster.nodes]
        cluster.stop()
        self.assertEqual([stat_fields(pid) for pid in pids], [None] * 3)
        self.assertFalse(any(map(is_listening, cluster.nodes)))

    def wait_for_refusal(self, client):
        """Until the other nodes know that one is down."""
        def is_refused():
            try:
                self.insert(client, 0, 1, "ALL")
            except CqlError as error:
                return error.code == UNAVAILABLE
            return False
        wait_until(is_refused, "the stopped node to be known as down")


class WithTest(ServerCase):
    """`server with`: several at a time, and nothing left of them however they end."""

    COMMAND = ["sh", "-c", 'echo "$CISTERN_CASSANDRA_CONTACT $CISTERN_CASSANDRA_DIR"; read -r code;'
                           ' exit "${code:-1}"']

    def begin(self):
        """(the running `with`, its contact, its node)."""
        process = subprocess.Popen([SERVER, "with", "--", *self.COMMAND], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        contact, directory = process.stdout.readline().split()
        self.addCleanup(shutil.rmtree, Path(directory).parent, ignore_errors=True)
        return process, contact, Cluster(directory).nodes[0]

    def assert_gone(self, node, pid):
        wait_until(lambda: stat_fields(pid) is None, "the process to be gone")
        self.assertFalse(is_listening(node))

    def test_every_end(self):
        first, first_contact, first_node = self.begin()
        second, second_contact, second_node = self.begin()
        self.assertNotEqual(first_contact, second_contact)
        pids = [first_node.process.pid(), second_node.process.pid()]
        first.stdin.write("7\n")
        first.stdin.close()
        self.assertEqual(first.wait(TIMEOUT_S), 7)
        self.assert_gone(first_node, pids[0])
        self.assertFalse(first_node.cluster_directory.exists())
        second.send_signal(signal.SIGTERM)
        second.stdin.close()
        self.assertEqual(second.wait(TIMEOUT_S), 128 + signal.SIGTERM)
        self.assert_gone(second_node, pids[1])
        third, _, third_node = self.begin()
        pid = third_node.process.pid()
        third.kill()  # it cannot clean up: the kernel ends the node
        third.stdin.close()
        self.assert_gone(third_node, pid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
