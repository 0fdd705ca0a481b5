"""cistern sync against a cluster: sent, refused, interrupted, followed.

Environment: CISTERN_BIN, CISTERN_FAKE_CLUSTER.
"""

import contextlib
import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

from cli_case import BIN, CliCase
from cli_cluster import KEYSPACE, PASSWORD, cluster

AIR = """CREATE TABLE plant.air (
    station text, day date, ts timestamp, temp double, note text,
    PRIMARY KEY ((station, day), ts)
);
"""
TWENTY_YEARS_S = 630_000_000


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come")
        time.sleep(0.02)


class SyncTest(CliCase):
    def fill(self, stations=("a", "b"), days=(1, 2), rows=3):
        """A store with a sealed bucket for each station and day."""
        self.create(AIR)
        text = "station,ts,temp\n"
        for station in stations:
            for day in days:
                for row in range(rows):
                    text += f"{station},2024-01-{day:02}T00:{row // 60:02}:{row % 60:02},{row}.5\n"
        self.ingest(text, table="plant.air")
        self.seal()

    def seal(self):
        self.run_tool("seal", "--store", self.store, "--all")

    def words(self, there, *options):
        words = ["sync", "--store", self.store, "--contact", there.contact, *options]
        for name, value in (("--hold", "0s"), ("--connect-timeout", "60s")):
            words += [] if name in options else [name, value]
        return words

    def sync(self, there, *options, expect=0):
        return self.run_tool(*self.words(there, *options), expect=expect)

    def outbox(self, command, *options, expect=0):
        return self.run_tool("sync", command, "--store", self.store, *options, expect=expect)

    def status(self, expect=0):
        return json.loads(self.outbox("status", "--json", expect=expect).out)

    def make_table(self, there):
        self.assertEqual(there.run(KEYSPACE), "ok")
        self.run_tool("schema", "apply", "--store", self.store, "--contact", there.contact)

    @contextlib.contextmanager
    def running(self, *words):
        with subprocess.Popen([BIN, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.directory) as process:
            try:
                yield process
            finally:
                process.kill()

    # --- what is sent

    def test_rows_arrive_and_are_confirmed(self):
        self.fill()
        self.assertEqual(self.status()["seals_waiting"], 4)
        bytes_waiting = self.status()["bytes_waiting"]
        buckets = self.run_tool("buckets", "--store", self.store, "--json").out
        self.assertEqual(bytes_waiting, sum(json.loads(line)["bytes"] for line in
                                            buckets.splitlines()))
        self.assertGreater(bytes_waiting, 0)
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there)
            self.assertRegex(done.out.decode(), r"^4 seals confirmed: 12 row versions sent in "
                                                r"[0-9.]+ (B|KiB), [0-9.]+ s\n$")
            self.assertEqual(done.err, "")
            self.assertEqual(len(there.rows("plant.air")), 12)
            writes = there.writes()
            self.assertEqual(self.sync(there).out, b"nothing waits\n")
            self.assertEqual(there.writes(), writes)
        text = self.outbox("status").out.decode()
        self.assertRegex(text, r"^all that is sealed is confirmed\nwaiting: 0 seals, 0 row "
                               r"versions, 0 B\nparked: 0 seals, 0 row versions, 0 B\nconfirmed: "
                               r"12 row versions, [0-9]+ B, 0 proved by count, 0 by rows\n")
        status = self.status()
        self.assertEqual((status["bytes_waiting"], status["bytes_confirmed"]), (0, bytes_waiting))
        self.assertIsNone(status["oldest_unconfirmed_end"])
        self.assertEqual((status["versions_confirmed"], status["versions_open"]), (12, 0))

    def expect_proved(self, level):
        """The store knows at which level its 12 row versions are confirmed."""
        stats = json.loads(self.run_tool("stats", "--store", self.store, "--json").out)
        for told in (self.status(), stats):
            proved = [told["versions_confirmed" + by] for by in ("", "_by_count", "_by_rows")]
            self.assertEqual(proved, [12, 12 * (level == "count"), 12 * (level == "rows")])

    def test_arrival_is_proved_as_far_as_is_asked(self):
        told = {"ack": "", "count": "; 4 seals proved by count",
                "rows": r"; 4 seals proved by rows, [0-9.]+ (B|KiB) read back"}
        self.fill()
        with cluster() as there:
            self.make_table(there)
            for level, words in told.items():
                config = self.write("sync.toml", f"proof = '{level}'\n")
                for options in (("--proof", level), ("--config", config)):
                    done = self.sync(there, *options)
                    self.assertRegex(done.out.decode(), "^4 seals confirmed: 12 row versions sent "
                                                        "in [0-9.]+ (B|KiB), [0-9.]+ s" + words +
                                                        "\n$")
                    self.expect_proved(level)
                    self.outbox("resend", "--table", "plant.air", "--from", "2024-01-01",
                                "--to", "2024-01-03")
            self.assertEqual(len(there.rows("plant.air")), 12)

    def test_a_table_without_a_keyspace_holds_up_no_other(self):
        self.fill(("a",), (1,))
        self.create(AIR.replace("plant.air", "lost"))
        self.ingest("station,ts,temp\na,2024-01-01T00:00:00,1\n", table="lost")
        self.seal()
        with cluster() as there:
            self.assertEqual(there.run(KEYSPACE), "ok")
            self.run_tool("schema", "apply", "--store", self.store, "--contact", there.contact,
                          "--table", "plant.air")
            done = self.sync(there, expect=7)
            self.assertIn(b"1 seal confirmed: 3 row versions sent", done.out)
            self.assertEqual(done.err, "cistern: table lost was declared without a keyspace: say "
                                       "in which keyspace of the cluster it is, by --keyspace "
                                       "NAME, or keyspace in the file of --config\n")

    def test_a_keyspace_that_no_table_needs(self):
        self.fill(("a",), (1,))
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there, "--keyspace", "plant", expect=2)
            self.assertIn("--keyspace is for tables that were declared without one", done.err)
            self.assertEqual(there.rows("plant.air"), [])
            self.sync(there, "--config", self.write("sync.toml", "keyspace = 'plant'\n"))
            self.assertEqual(len(there.rows("plant.air")), 3)

    def test_late_rows_follow_as_an_amendment(self):
        self.fill(("a",), (1,))
        with cluster() as there:
            self.make_table(there)
            self.sync(there)
            self.ingest("station,ts,temp\na,2024-01-01T09:00:00,9\n", table="plant.air")
            done = self.sync(there)
            self.assertEqual(done.out, b"nothing waits; 1 row version in open buckets, which "
                                       b"`cistern seal` seals: with --due it tells when\n")
            self.seal()
            self.assertIn(b"1 seal confirmed: 1 row version sent", self.sync(there).out)
            self.assertEqual(len(there.rows("plant.air")), 4)

    def test_what_is_due_is_sealed_before_unless_it_is_not_to_be(self):
        self.create(AIR)
        # Due by its bytes: so many of a bucket are spilled.
        notes = random.Random(1)
        lines = ["station,ts,note"]
        for row in range(1000):
            note = notes.randbytes(25_000).hex()
            lines.append(f"a,2024-01-01T00:{row // 60:02}:{row % 60:02},{note}")
        self.ingest("\n".join(lines) + "\n", "--memory-budget", "8MiB", table="plant.air")
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there, "--no-seal")
            self.assertEqual(done.out, b"nothing waits; 1000 row versions in open buckets, which "
                                       b"`cistern seal` seals: with --due it tells when\n")
            self.assertIn(b"1 seal confirmed", self.sync(there).out)
            self.assertTrue(there.rows("plant.air"))

    def test_a_bucket_that_was_confirmed_is_sent_again(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            self.sync(there)
            rows = there.rows("plant.air")
            self.assertEqual(there.run("DROP TABLE plant.air"), "ok")
            self.run_tool("schema", "apply", "--store", self.store, "--contact", there.contact)
            noon = ("--from", "2024-01-02T12:00", "--to", "2024-01-02T12:01")
            done = self.outbox("resend", "--table", "plant.air", *noon)
            self.assertEqual(done.out, b"2 seals wait again\n")
            self.assertEqual(self.status()["seals_waiting"], 2)
            self.assertIn(b"2 seals confirmed: 6 row versions", self.sync(there).out)
            done = self.outbox("resend", "--table", "air", "--from", "2023-01-01", "--to",
                               "2025-01-01")
            self.assertEqual(done.out, b"4 seals wait again\n")
            self.sync(there)
            self.assertEqual(there.rows("plant.air"), rows)
            done = self.outbox("resend", "--table", "air", "--from", "2024-01-03", "--to",
                               "2024-01-04")
            self.assertEqual(done.out, b"0 seals wait again\n")

    # --- what needs a person

    def test_a_table_that_the_cluster_does_not_have(self):
        self.fill()
        with cluster() as there:
            there.run(KEYSPACE)
            done = self.sync(there, expect=7)
            self.assertIn("no rows are sent to plant.air: the cluster has no table plant.air. "
                          "`cistern schema apply` creates it", done.err)
            self.assertEqual(done.err.count("no rows are sent"), 1)
            self.assertIn(b"0 seals confirmed", done.out)
            self.run_tool("schema", "apply", "--store", self.store, "--contact", there.contact)
            self.assertIn(b"4 seals confirmed", self.sync(there).out)

    def test_each_difference_of_a_table_is_told_apart(self):
        self.fill(("a",), (1,))
        with cluster() as there:
            there.run(KEYSPACE)
            theirs = AIR.replace("temp double", "temp int").replace("note text,", "").replace(
                ");", ") WITH comment = 'cistern: bucket day = 1 day';")
            self.assertEqual(there.run(theirs), "ok")
            done = self.sync(there, expect=7)
            self.assertRegex(done.err, r"^cistern: no rows are sent to plant\.air: "
                                       r"[^\n]*temp[^\n]*; [^\n]*note[^\n]*\n$")
            self.assertNotIn("sync retry", done.err)

    def test_one_seal_that_is_parked(self):
        self.create(AIR)
        self.ingest("station,ts,temp\nb,2024-01-01T00:00:00,1\n", "--ttl", TWENTY_YEARS_S,
                    table="plant.air")
        self.seal()
        with cluster() as there:
            self.make_table(there)
            self.sync(there, expect=7)
            self.assertEqual(self.sync(there, expect=7).out, b"nothing waits; 1 seal is parked\n")

    def test_a_warning_of_the_schema_is_told_once(self):
        self.fill()
        with cluster() as there:
            there.run(KEYSPACE)
            theirs = AIR.replace(");", ") WITH default_time_to_live = 86400;")
            self.assertEqual(there.run(theirs), "ok")
            done = self.sync(there)
            self.assertEqual(done.err.count("default_time_to_live is 0 here and 86400 in the"), 1)
            self.assertIn(b"4 seals confirmed", done.out)

    # --- columns that were dropped in the cluster and added again

    def revive(self, there):
        for statement in ("DROP temp", "ADD temp double"):
            self.assertEqual(there.run(f"ALTER TABLE plant.air {statement}"), "ok")

    def drop_told(self, text):
        """What a message tells to paste behind --accept-hidden."""
        return re.search(r"--accept-hidden (plant\.air\.temp@[0-9TZ:.-]+)", text)[1]

    def test_what_the_cluster_would_hide_is_held_until_somebody_agrees(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            self.revive(there)
            done = self.sync(there, expect=7)
            self.assertIn("some buckets are not sent to plant.air: the column 'temp' was dropped",
                          done.err)
            self.assertEqual((there.rows("plant.air"), self.status()["seals_waiting"]), ([], 4))
            self.assertIn("0 seals confirmed", done.out.decode())
            drop = self.drop_told(done.err)
            diff = self.run_tool("schema", "diff", "--store", self.store, "--contact",
                                 there.contact, expect=7)
            self.assertIn("; rows may be sent, but no bucket with rows that were written up to 2",
                          diff.out.decode())
            self.assertEqual(self.drop_told(diff.out.decode()), drop)

            # Another column, or a drop before this one, is not meant.
            for other in (drop.replace("temp", "note"), drop.replace("@2", "@1")):
                self.sync(there, "--accept-hidden", other, expect=7)
            config = self.write("sync.toml", f"accept_hidden = '{drop}'\n")
            places = ("--config", config, "--store", self.store, "--contact", there.contact)
            self.assertIn(b"plant.air: 1 difference; rows may be sent\nwarns: ",
                          self.run_tool("schema", "diff", *places).out)
            self.assertIn("It was agreed that nobody sees these values",
                          self.run_tool("schema", "apply", *places).err)
            self.assertIn(b"4 seals confirmed", self.sync(there, "--config", config).out)
            self.assertEqual(len(there.rows("plant.air")), 12)
            self.outbox("resend", "--table", "plant.air", "--from", "2024-01-01", "--to",
                        "2024-01-03")
            self.assertIn(b"4 seals confirmed", self.sync(there, "--accept-hidden", drop).out)

    def test_a_proof_by_rows_tells_what_is_hidden(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            self.revive(there)
            done = self.sync(there, "--proof", "rows", expect=7)
            self.assertEqual(self.status(expect=7)["seals_parked"], 4)
            told = re.search(r"let it wait again by `cistern (sync retry)`, then agree to that by "
                             r"`cistern (sync --accept-hidden [^`]+)`", done.err)
            self.assertIsNotNone(told, done.err)
            self.run_tool(*told[1].split(), "--store", self.store)
            agree = told[2].split()[1:]
            done = self.sync(there, "--proof", "rows", *agree)
            self.assertIn("; 12 rows with values that are hidden upstream, as agreed",
                          done.out.decode())

    def test_two_gateways_that_write_one_entity_are_told(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            self.sync(there, "--proof", "rows")
            first, self.store = self.store, self.directory / "other"
            self.fill(("b", "c"), (1,))
            done = self.sync(there, "--proof", "rows")  # nobody has written over these yet
            self.assertNotIn("another writer", done.err + done.out.decode())
            self.store = first
            self.outbox("resend", "--table", "plant.air", "--from", "2024-01-01", "--to",
                        "2024-01-03")
            done = self.sync(there, "--proof", "rows")
            self.assertIn("; 3 rows overwritten by another writer", done.out.decode())
            self.assertRegex(done.err, "table plant.air: another writer has the same entity as "
                                       "this store, .*: row ts = 2024-01-01[^:]*:00:00.*: column "
                                       "'temp' shows a write of [0-9]+ us over ours of [0-9]+ us")

    def test_rows_that_a_proof_finds_shadowed_are_no_full_success(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            self.sync(there)
            self.outbox("resend", "--table", "plant.air", "--from", "2024-01-01", "--to",
                        "2024-01-03")
            self.assertEqual(there.run("DELETE FROM plant.air USING TIMESTAMP 4000000000000000 "
                                       "WHERE station = 'a' AND day = '2024-01-01' AND ts = "
                                       "'2024-01-01T00:00:01Z'"), "ok")
            done = self.sync(there, "--proof", "rows", expect=6)
            self.assertIn("4 seals confirmed", done.out.decode())
            self.assertIn("; 1 row shadowed upstream", done.out.decode())
            self.assertIn("1 row is absent upstream, as a whole or with values, though sent twice",
                          done.err)
            self.assertEqual(self.status()["seals_waiting"], 0)

    def test_what_the_cluster_refuses_is_parked_with_its_words(self):
        self.fill(("a",), (1,))
        for station in ("b", "c"):
            self.ingest(f"station,ts,temp\n{station},2024-01-01T00:00:00,1\n", "--ttl",
                        TWENTY_YEARS_S, table="plant.air")
        self.seal()
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there, expect=7)
            self.assertRegex(done.err, r"parked: plant\.air, entity b, bucket '?2024-01-01'?, seal "
                                       r"\d+: .*2038")
            self.assertRegex(done.err, r"parked: plant\.air, entity c, ")
            self.assertIn("`cistern sync retry` lets parked ones be sent again", done.err)
            self.assertIn(b"1 seal confirmed: 3 row versions sent", done.out)
            self.assertEqual(len(there.rows("plant.air")), 3)
            # Nothing is asked of the cluster for those that are parked.
            done = self.run_tool("sync", "--store", self.store, "--contact", "127.0.0.1:1",
                                 expect=7)
            self.assertEqual(done.out, b"nothing waits; 2 seals are parked\n")
            self.assertIn("parked: plant.air, entity b", done.err)
        self.check_parked()
        for options, told in ((("--table", "air"), b"2 seals wait again\n"),
                              ((), b"0 seals wait again; 2 seals of the store wait already\n")):
            self.assertEqual(self.outbox("retry", *options).out, told)
        with cluster("--expiry-2106") as modern:
            self.make_table(modern)
            self.assertIn(b"2 seals confirmed", self.sync(modern).out)
            self.assertEqual(len(modern.rows("plant.air")), 2)
        self.assertEqual(self.status()["seals_parked"], 0)

    def test_more_parked_seals_than_are_told(self):
        self.create(AIR)
        self.ingest("station,ts,temp\n" + "".join(f"s{i},2024-01-01T00:00:00,1\n"
                                                  for i in range(12)),
                    "--ttl", TWENTY_YEARS_S, table="plant.air")
        self.seal()
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there, expect=7)
        told = re.search(r"2 more are parked: `cistern (sync status)` names them all", done.err)
        self.assertIsNotNone(told, done.err)
        names = self.run_tool(*told[1].split(), "--store", self.store, expect=7).out.decode()
        self.assertEqual(names.count("\nparked: plant.air, entity s"), 12, names)

    def check_parked(self):
        status = self.status(expect=7)
        self.assertEqual((status["seals_waiting"], status["seals_parked"]), (0, 2))
        self.assertEqual(status["versions_parked"], 2)
        self.assertEqual(status["oldest_unconfirmed_end"], "2024-01-02T00:00:00Z")
        self.assertAlmostEqual(status["oldest_unconfirmed_age_s"], time.time() - 1704153600,
                               delta=60)
        self.assertEqual({one["entity"] for one in status["parked"]}, {"b", "c"})
        self.assertIn("2038", status["parked"][0]["words"])
        text = self.outbox("status", expect=7).out.decode()
        self.assertRegex(text, r"^oldest unconfirmed bucket ended \d+ d( \d+ h)? ago\n")
        self.assertRegex(text, r"\nparked: plant\.air, entity b, bucket ")

    # --- a cluster that is away

    def test_nobody_listens(self):
        self.fill()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            contact = f"127.0.0.1:{taken.getsockname()[1]}"
        began = time.monotonic()
        done = self.run_tool("sync", "--store", self.store, "--contact", contact,
                             "--connect-timeout", "1s", expect=8)
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn("cistern: the cluster is away: ", done.err)
        self.assertIn("Connection refused", done.err)
        self.assertIn(b"0 seals confirmed", done.out)
        self.assertEqual(self.status()["seals_waiting"], 4)

    def test_the_cluster_goes_in_the_middle(self):
        self.fill(stations=[f"s{i}" for i in range(20)])
        with cluster() as there:
            self.make_table(there)
            there.run("delay 50")
            words = self.words(there, "--in-flight", "64KiB", "--away-after", "2s", "--batch-rows",
                               "1")
            with self.running(*words) as process:
                wait_until(lambda: there.writes() > 5)
                there.run("down")
                out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 8, err)
            self.assertIn(b"cistern: the cluster is away: ", err)
            there.run("up")
            there.run("delay 0")
            self.sync(there)
            self.assertEqual(len(there.rows("plant.air")), 120)

    def test_a_permission_that_is_missing(self):
        self.fill(("a",), (1,))
        with cluster() as there:
            self.make_table(there)
            there.run("deny")
            done = self.sync(there, expect=7)
            self.assertRegex(done.err, r"plant\.air is held back: [^\n]*unauthorized \(0x2100\): "
                                       r"[^\n]*; grant this user MODIFY on the table, and SELECT "
                                       r"where --proof reads\n")
            there.run("allow")
            self.assertIn(b"1 seal confirmed", self.sync(there).out)

    # --- interruptions

    def test_killed_in_the_middle_and_run_again(self):
        self.fill(stations=[f"s{i}" for i in range(10)], rows=200)
        copy = self.directory / "copy"
        shutil.copytree(self.store, copy)
        with cluster() as there, cluster() as other:
            self.make_table(there)
            self.make_table(other)
            there.run("delay 5")
            kills = 0
            for _ in range(4):
                before = there.writes()
                with self.running(*self.words(there, "--batch-rows", "10", "--in-flight",
                                              "64KiB")) as process:
                    wait_until(lambda: there.writes() > before + 20 or
                               process.poll() is not None)
                    kills += process.poll() is None
                    process.kill()
            self.assertGreater(kills, 0)
            there.run("delay 0")
            self.sync(there)
            self.store = copy
            self.sync(other)
            rows = there.rows("plant.air")
            self.assertEqual(len(rows), 4000)
            self.assertEqual(rows, other.rows("plant.air"))

    def test_a_signal_while_seals_are_held(self):
        self.fill(("a",), (1,))
        with cluster() as there:
            self.make_table(there)
            with self.running(*self.words(there, "--hold", "1h")) as process:
                wait_until(lambda: len(there.rows("plant.air")) == 3)
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (130, b""))
            self.assertRegex(out, rb"^0 seals confirmed: 3 row versions sent in .* s; interrupted; "
                                  rb"1 seal of 3 row versions acknowledged and not confirmed yet: "
                                  rb"the next run sends them again\n$")
            self.assertIn(b"1 seal confirmed", self.sync(there).out)

    # --- follow

    def test_follow_outlives_a_cluster_that_is_away(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            there.run("down")
            config = self.write("sync.toml", f"store = '{self.store}'\n"
                                             f"contact = '{there.contact}'\nhold = '0s'\n")
            with self.running("sync", "--follow", "--config", config) as process:
                lines = [process.stderr.readline().decode() for _ in range(2)]
                self.assertEqual(lines[0], f"cistern: following {self.store}: 4 seals of 12 row "
                                           "versions wait, 0 parked\n")
                self.assertRegex(lines[1], r"^cistern: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ the cluster "
                                           r"is away: .*Connection refused")
                there.run("up")
                self.assertRegex(process.stderr.readline().decode(),
                                 r"Z the cluster takes requests again, after \d+ s\n")
                self.assertRegex(process.stderr.readline().decode(),
                                 r"Z 4 seals confirmed, 12 row versions sent in .*; nothing waits")
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (0, b""))
            self.assertEqual(err, b"cistern: ended: 4 seals confirmed\n")
            self.assertEqual(len(there.rows("plant.air")), 12)

    def test_follow_tells_programs_in_json(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            with self.running(*self.words(there, "--follow", "--json")) as process:
                first = json.loads(process.stdout.readline())
                self.assertRegex(first["event"], "^following .*: 4 seals of 12 row versions wait")
                events = []
                while not events or "nothing waits" not in events[-1]["event"]:
                    events.append(json.loads(process.stdout.readline()))
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, b""))
            last = json.loads(out)
            for event in (first, *events, last):
                self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(last["event"], "ended: 4 seals confirmed")

    def test_one_run_tells_programs_in_json(self):
        self.fill()
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there, "--json")
            told = json.loads(done.out)
            self.assertEqual((told["end"], told["seals_confirmed"], told["versions_sent"],
                              told["versions_open"]), ("confirmed", 4, 12, 0))
            self.assertEqual(json.loads(self.sync(there, "--json").out)["end"], "nothing waits")

    # --- --check

    def test_a_file_is_checked_and_nothing_opened(self):
        config = self.write("sync.toml", "store = 'not there'\ncontact = 'db-1'\nhold = '20s'\n")
        check = ("sync", "--config", config, "--check")
        done = self.run_tool(*check, "--follow")
        self.assertEqual(done.out.decode(), f"{config} is right, as far as that shows before "
                                            "anything is opened\n")
        self.assertEqual(json.loads(self.run_tool(*check, "--json").out),
                         {"checked": str(config), "warnings": 0})
        self.assertEqual(list(self.directory.iterdir()), [config])
        for line, told in (("hold = '2h'", ":3: hold '2h' is not between 0s and 1h"),
                           ("hodl = '2s'", ":3: hodl is no setting; did you mean hold?"),
                           ("check = true", "--check is of the command line alone"),
                           ("user = 'edge'\ntls = true", "--user needs a password"),
                           ("ca = 'none.pem'\ntls = true", "none.pem")):
            self.write("sync.toml", f"store = 'not there'\ncontact = 'db-1'\n{line}\n")
            self.assertIn(told, self.run_tool(*check, expect=2).err)
        self.write("sync.toml", "store = 'not there'\n")
        self.assertIn("which cluster?", self.run_tool(*check, expect=2).err)

    # --- secrets

    def test_the_password_is_seen_nowhere(self):
        self.fill(stations=[f"s{i}" for i in range(10)])
        self.write("cistern-password", PASSWORD + "\n").chmod(0o600)
        self.write("wrong", "another\n").chmod(0o600)
        config = self.write("sync.toml", "user = 'edge'\nallow_cleartext_password = true\n"
                                         f"credentials_dir = '{self.directory}'\n"
                                         "password_file = 'cistern-password'\n")
        with cluster("edge", PASSWORD) as there:
            self.assertEqual(there.run(KEYSPACE), "ok")
            login = ("--user", "edge", "--allow-cleartext-password", "--password-file",
                     self.directory / "cistern-password")
            self.run_tool("schema", "apply", "--store", self.store, "--contact", there.contact,
                          *login)
            done = self.sync(there, "--config", config, "--password-file", "wrong",
                             "--connect-timeout", "2s", expect=8)
            self.assertIn("password", done.err)
            there.run("delay 100")
            with self.running(*self.words(there, "--config", config, "--in-flight",
                                          "64KiB")) as process:
                wait_until(lambda: there.writes() > 0)
                seen = Path(f"/proc/{process.pid}/cmdline").read_bytes()
                seen += Path(f"/proc/{process.pid}/environ").read_bytes()
                out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, err)
            seen += out + err + done.out + done.err.encode()
        for path in self.store.rglob("*"):
            seen += path.read_bytes() if path.is_file() else b""
        self.assertIn(b"sync.toml", seen)
        self.assertNotIn(PASSWORD.encode(), seen)

    def test_a_password_in_the_file_is_refused(self):
        self.fill()
        config = self.write("sync.toml", f"contact = 'db'\npassword = '{PASSWORD}'\n")
        done = self.run_tool("sync", "--store", self.store, "--config", config, expect=2)
        self.assertEqual(done.err, f"cistern: {config}:2: password is not taken from here, where "
                                   "others may read it: put it alone into a file of mode 600 and "
                                   "name that by password_file\n")

    # --- the command line

    def test_the_command_line_goes_before_the_file(self):
        self.fill()
        config = self.write("sync.toml", "store = 'nowhere'\ncontact = '127.0.0.1:1'\n"
                                         "hold = '0s'\n")
        with cluster() as there:
            self.make_table(there)
            self.run_tool("sync", "--config", config, expect=3)
            self.sync(there, "--config", config)

    def test_a_flag_that_is_false_goes_before_the_file_too(self):
        self.fill(("a",), (1,))
        config = self.write("sync.toml", "tls = true\nseal = false\n")
        self.ingest("station,ts,temp\na,2024-01-05T00:00:00,1\n", table="plant.air")
        with cluster() as there:
            self.make_table(there)
            done = self.sync(there, "--config", config, "--connect-timeout", "1s", expect=8)
            self.assertIn("TLS", done.err)
            self.assertIn(b"1 seal confirmed",
                          self.sync(there, "--config", config, "--tls=false").out)
        at = ("sync", "--store", self.store, "--contact", "db", "--config", config)
        self.write("sync.toml", "ca = 'nowhere'\ntls = true\n")  # with the flag, left aside as well
        self.assertIn("'nowhere' cannot be read", self.run_tool(*at, expect=2).err)
        self.assertIn(b"nothing waits", self.run_tool(*at, "--tls=false").out)
        self.write("sync.toml", "ca = '/dev/null'\n")
        done = self.run_tool(*at, expect=2)
        self.assertIn("--ca is of --tls: add that (with what ", done.err)

    def test_the_store_of_the_file(self):
        self.fill()
        config = self.write("sync.toml", f"store = '{self.store}'\ncontact = 'db'\nhold = '1s'\n")
        status = self.run_tool("sync", "status", "--config", config, "--json").out
        self.assertEqual(json.loads(status)["seals_waiting"], 4)
        self.assertEqual(self.run_tool("sync", "retry", "--config", config).out,
                         b"0 seals wait again; 4 seals of the store wait already\n")
        resend = ("resend", "--table", "air", "--from", "2024-01-01", "--to", "2024-01-02")
        self.assertEqual(self.run_tool("sync", *resend, "--config", config).out,
                         b"0 seals wait again; 4 seals of the store wait already\n")
        for words in (("status",), ("retry",), resend):
            done = self.run_tool("sync", *words, "--config", config, "--store", "nowhere", expect=3)
            self.assertIn("nowhere", done.err)
            done = self.run_tool("sync", *words, expect=2)
            self.assertIn("which store? --store DIR says it, or store = ", done.err)
        config.write_text("hodl = '1s'\n")
        done = self.run_tool("sync", "status", "--config", config, expect=2)
        self.assertIn(f"{config}:1: hodl is no setting; did you mean hold?", done.err)

    def test_what_cannot_be(self):
        self.create(AIR.replace("plant.air", "air"))
        store = ("--store", self.store)
        at = (*store, "--contact", "db")
        config = self.write("sync.toml", "hold = '1s'\nbatch_rows = 0\n")
        resend = ("resend", *store, "--table", "air")
        for words, told in (
                (("--contact", "db"), "which store? --store DIR says it, or store = "),
                (store, "which cluster? --contact HOST[:PORT] names a node of it"),
                ((*at, "--config", config),
                 f"{config}:2: batch_rows '0' is not a whole number from 1 to 65535"),
                ((*at, "--config", "nowhere"), "--config 'nowhere' cannot be read: No such file"),
                ((*at, "--keyspace", "a b"), "--keyspace 'a b' is no name of a keyspace: at most "),
                ((*at, "--keyspace", "k" * 49), "at most 48 letters, digits and underscores"),
                ((*at, "--password", "hunter2"), "into a file of mode 600 and name that by --pass"),
                ((*at, "--password=hunter2"), "a password is not taken from the command line"),
                ((*at, "--hold", "2h"), "--hold '2h' is not between 0s and 1h"),
                ((*at, "--proof", "all"), "--proof 'all' is not one of ack, count, rows"),
                ((*at, "--bandwidth", "1MiB"), "--bandwidth '1MiB' is not a rate such as"),
                ((*at, "--json", "--quiet"), "which --quiet leaves out"),
                ((*at, "--drain", "oldest", "--live-span", "1h"), "is of --drain live-first"),
                ((*at, "--credentials-dir", "c"), "--credentials-dir goes with --user or"),
                ((*at, "--user", "u"), "would go over the network in clear: add --tls"),
                (("statu", *store), "'statu' is no subcommand of sync; did you mean status?"),
                (("status", *store, "x"), "sync status takes options alone"),
                ((*store, "status"), "--store: belongs behind the subcommand: cistern sync statu"),
                (("retry", *store, "--table", "none"), "none"),
                ((*resend, "--from", "x", "--to", "5"), "--from 'x' is no time"),
                ((*resend, "--from", "5", "--to", "5"), "--from 5 is not before --to 5"),
                ((*resend, "--from", "5"), "--to is required")):
            done = self.run_tool("sync", *words, expect=2)
            self.assertIn(told, done.err)
            self.assertNotIn("hunter2", done.err)
            self.assertEqual(done.out, b"")
        self.assertIn(b"--json", self.run_tool("help", "sync", "status").out)

    def test_a_store_that_another_process_holds(self):
        with self.holder_of_store():
            done = self.run_tool("sync", "--store", self.store, "--contact", "db", expect=3)
            self.assertIn("is open in process", done.err)
            self.assertIn("waiting: 0 seals", self.outbox("status").out.decode())
            self.outbox("retry", expect=3)

    def test_a_bar_on_a_terminal(self):
        self.fill(stations=[f"s{i}" for i in range(10)])
        with cluster() as there:
            self.make_table(there)
            there.run("delay 100")
            ours, theirs = pty.openpty()
            with subprocess.Popen([BIN, *map(str, self.words(there, "--in-flight", "64KiB"))],
                                  stderr=theirs, stdout=subprocess.DEVNULL) as process:
                os.close(theirs)
                shown = b""
                with contextlib.suppress(OSError):  # the other end is closed
                    while piece := os.read(ours, 4096):
                        shown += piece
            os.close(ours)
            self.assertEqual(process.returncode, 0)
        self.assertRegex(shown, rb"\[#*\.+\] +\d+% \d+ of 60 rows, \d+ of 20 buckets, [0-9.]+ ")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-100:])


if __name__ == "__main__":
    unittest.main()
