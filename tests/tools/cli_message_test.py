"""What the tool says when something is not as meant, and the exit code that goes with it.

Environment: CISTERN_BIN.
"""

import bz2
import gzip
import lzma
import os
import re
import resource
import shutil
import subprocess
import time
import unittest

from cli_case import AIR, BIN, PUMPS, CliCase


class MessageTest(CliCase):
    # --- the command line

    def test_mistyped_names_get_a_suggestion(self):
        self.create()
        scan = ("scan", "--store", self.store, "--table", "air")
        for words, meant in (((*scan, "--entity", "a", "--fromat", "csv"), "--format"),
                             ((*scan, "--entty", "a"), "--entity"),
                             ((*scan, "--entity", "a", "--formt=csv"), "--format"),
                             (("ingest", "--store", self.store, "--tabel", "air", "x"), "--table"),
                             (("sacn", "--store", "x"), "scan"),
                             (("buckts",), "buckets")):
            self.assertIn(f"did you mean {meant}?; see", self.run_tool(*words, expect=2).err)
        done = self.run_tool(*scan, "--entity", "a", "--quite-another", expect=2)
        self.assertNotIn("did you mean", done.err)
        self.assertIn("--quite-another", done.err)

    def test_a_store_without_a_name_is_a_usage_error(self):
        for command in ("create", "ingest", "scan", "delete", "seal", "tables", "entities",
                        "buckets", "stats", "verify"):
            done = self.run_tool(command, "--store", "", expect=2)
            self.assertIn("--store: is empty", done.err)

    # --- the store

    def test_where_there_is_no_store(self):
        for command in (("tables",), ("ingest", "--table", "air", "-")):
            done = self.run_tool(command[0], "--store", "nope", *command[1:], expect=3)
            self.assertIn("there is no store in nope; check the path, and whether its file system "
                          "is mounted; where there never was one, cistern create --store nope "
                          "--schema", done.err)
        told = self.run_tool("salvage", "--store", "nope", "--to", "new", expect=3).err
        self.assertEqual(told, "cistern: there is no store in nope; check the path, and whether "
                               "its file system is mounted\n")
        self.assertFalse((self.directory / "new").exists())
        (self.directory / "photos").mkdir()
        self.assertIn("cistern create", self.run_tool("stats", "--store", "photos", expect=3).err)
        self.write("photos/1.jpg", "x")
        for command in (("stats",), ("ingest", "--table", "air", "-")):
            done = self.run_tool(command[0], "--store", "photos", *command[1:], expect=3)
            self.assertIn("there is no store in photos: it holds other things (1.jpg)", done.err)
            self.assertNotIn("choose", done.err)
            self.assertNotIn("cistern create", done.err)
        done = self.run_tool("create", "--store", "photos", "--schema", self.write("a.cql", AIR),
                             expect=3)
        self.assertIn("choose an empty or new directory", done.err)

    def test_a_store_of_another_user_says_whom_to_run_as(self):
        self.create()
        refused = ("this user has no right to it: run as the owner of the store, as `ls -ld "
                   if os.geteuid() == 0 else "is this user's, and closed to it: `chmod u+rwx ")
        for closed, told in ((self.store, f"{refused}{self.store}`"),
                             (self.directory, "a directory above it is closed to this user")):
            mode = closed.stat().st_mode
            self.directory.chmod(0o755)
            closed.chmod(0o700 if os.geteuid() == 0 else 0)
            stranger = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
            done = subprocess.run([BIN, "stats", "--store", self.store], capture_output=True,
                                  check=False, cwd="/", **stranger)
            closed.chmod(mode)
            self.assertEqual(done.returncode, 3)
            self.assertIn(told, done.stderr.decode())
            self.assertNotIn("cistern create", done.stderr.decode())

    def test_a_store_that_its_owner_closed_says_how_to_open_it(self):
        self.store = self.directory / "it's mine"
        self.create()
        stranger = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        self.directory.chmod(0o755)
        if stranger:
            for path in (self.store, *self.store.rglob("*")):
                os.chown(path, 65534, 65534)
        seal = (BIN, "seal", "--store", self.store, "--all")

        def run(words):
            return subprocess.run(words, capture_output=True, check=False, cwd="/", **stranger)

        for mode in (0o555, 0o000):
            self.store.chmod(mode)
            told = run(seal)
            self.assertEqual(told.returncode, 3, told)
            advice = re.search(r"is this user's, and closed to it: `(chmod .+)` opens it",
                               told.stderr.decode())
            self.assertIsNotNone(advice, told)
            self.assertEqual(run(["sh", "-c", advice.group(1)]).returncode, 0)
            self.assertEqual(run(seal).returncode, 0)

    def test_two_forms_of_tables_at_once(self):
        self.create()
        done = self.run_tool("tables", "--store", self.store, "--cql", "--format", "csv", expect=2)
        self.assertIn("leave one out", done.err)

    def test_a_locked_store_names_its_holder(self):
        with self.holder_of_store() as holder:
            done = self.ingest("station,ts\n", expect=3)
            self.assertEqual(done.err, f"cistern: the store {self.store} is open in process "
                                       f"{holder.pid} (cistern); close it there, while scan and "
                                       "the other commands that only read work beside it\n")
            self.assertNotIn("open it read-only", done.err)
            holder.communicate(timeout=30)

    def test_rows_that_are_known_to_be_missing_have_their_own_exit_code(self):
        self.make_journal()
        self.lose_rows()
        damaged = self.directory / "damaged"
        shutil.copytree(self.store, damaged)

        def lossy(*words, stdin=b""):
            done = self.run_tool(*words, stdin=stdin, expect=6)
            self.assertEqual(done.err.count("acknowledged rows are missing from"), 1, done.err)
            self.assertNotIn("acknowledged and are missing", done.err)
            return done

        writers = (("ingest", "--table", "air", "--time-unit", "ms", "-"),
                   ("create", "--schema", self.write("b.cql", PUMPS)),
                   ("delete", "--table", "air", "--entity", "s1", "--at", "1000"),
                   ("seal", "--all"))
        for writer in writers:
            shutil.rmtree(self.store)
            shutil.copytree(damaged, self.store)
            for reader in (("scan", "--table", "air", "--entity", "s1"), ("tables",), ("buckets",),
                           ("scan", "--table", "air", "--all-entities"), ("stats",),
                           ("entities", "--table", "air")) if writer == writers[0] else ():
                lossy(reader[0], "--store", self.store, *reader[1:])
            lossy(writer[0], "--store", self.store, *writer[1:], stdin=b"station,ts\na,1\n")
            # Told once, by the opening that finds it.
            self.run_tool("stats", "--store", self.store)
        shutil.rmtree(self.store)
        shutil.copytree(damaged, self.store)
        self.run_tool("verify", "--store", self.store, expect=1)
        # Lines that are rejected besides change nothing about it.
        self.assertIn("1 line rejected", self.ingest("station,ts\nx\n", expect=6).err)
        # A damaged ACK beside the log hides no loss: only its end is not known.
        shutil.rmtree(self.store)
        shutil.copytree(damaged, self.store)
        ack = self.store / "ACK"
        ack.write_bytes(bytes(len(ack.read_bytes())))
        for command in (("scan", "--table", "air", "--entity", "s1"), ("seal", "--all")):
            done = lossy(command[0], "--store", self.store, *command[1:])
            self.assertIn("to one which is not known", done.err)
            self.assertIn("the file ACK is damaged", done.err)

    def test_a_loss_has_its_code_whatever_else_is_wrong(self):
        self.create()
        created = self.directory / "created"
        shutil.copytree(self.store, created)
        self.ingest("station,ts\na,1\n")
        ack = (self.store / "ACK").read_bytes()
        for log in self.store.glob("*.log"):
            log.unlink()
        self.assertIn("1 row stored", self.ingest("station,ts\na,2\n", expect=6).err)
        # One process declared the table and took rows, and its log is gone.
        (created / "ACK").write_bytes(ack)
        for gone in [*created.glob("*.log"), *created.glob("CATALOG-*")]:
            gone.unlink()
        scan = ("scan", "--table", "air", "--entity", "a")
        for command in (scan, ("ingest", "--table", "air", "-")):
            shutil.rmtree(self.store)
            shutil.copytree(created, self.store)
            done = self.run_tool(command[0], "--store", self.store, *command[1:], expect=6)
            self.assertIn("no table 'air'; the store has no tables, and this opening of it found "
                          "that acknowledged records are gone", done.err)
            self.assertNotIn("create one first", done.err)
        self.assertRegex((self.store / "LOG").read_text(),
                         r"error acknowledged rows are missing: journal sequences 1 to \d+\n")
        self.assertIn("create one first", self.ingest("station,ts\n", expect=2).err)

    def test_a_salvage_does_not_write_into_what_it_reads(self):
        self.create()
        before = sorted(self.store.iterdir())
        (self.directory / "link").symlink_to(self.store)
        for to in (self.store / "sub", self.store / "a/../b/c", "link/x", "./store/sub", "store"):
            done = self.run_tool("salvage", "--store", self.store, "--to", to, expect=2)
            self.assertIn("is within the damaged store", done.err)
        self.assertEqual(sorted(self.store.iterdir()), before)
        self.run_tool("salvage", "--store", self.store, "--to", "storeroom")

    def test_the_damaged_file_of_the_format_says_what_to_do(self):
        self.create()
        (self.store / "CISTERN").write_text("other\n")
        told = self.run_tool("stats", "--store", self.store).err
        self.assertIn("the file CISTERN is missing or damaged", told)
        for copy in self.store.glob("CATALOG-*"):
            copy.unlink()
        told = self.run_tool("stats", "--store", self.store, expect=3).err
        self.assertIn("the file CISTERN is damaged: its first line is not 'cistern store'; put it "
                      "back from a backup of this very store", told)

    def test_too_few_descriptors_are_said_and_are_no_damage(self):
        self.create()
        for part in range(4):
            self.ingest("station,ts,n\n" + "".join(
                f"s{part},20{year}-{month:02}-01T0{part}:00:00Z,{month}\n"
                for year in (20, 21, 22, 23) for month in range(1, 13)))
            self.run_tool("seal", "--store", self.store, "--all")

        def verify(limit):
            return subprocess.run(
                [BIN, "verify", "--store", self.store], capture_output=True, check=False,
                timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                  (limit, limit)))

        met = set()  # before the store was open, behind it
        for limit in range(5, 400):
            done = verify(limit)
            told = done.stderr.decode()
            if done.returncode == 0:
                break
            self.assertEqual(done.returncode, 4, f"{limit}: {done.stdout} {told}")
            self.assertIn("Too many open files; raise the limit of open files (ulimit -n)", told)
            self.assertEqual((done.stdout, told.count("\n")), (b"", 1))
            met.add("cannot open the store" in told)
        self.assertIn(b", 0 problems", done.stdout)
        self.assertEqual(met, {True, False})

    def test_a_cluster_is_not_away_where_descriptors_lack(self):
        # Who looks for leaks needs descriptors too.
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(
            [BIN, "schema", "import", "--contact", "127.0.0.1:1", "--keyspace", "k", "--table",
             "t"], capture_output=True, check=False, timeout=60, env=env,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)))
        told = done.stderr.decode()
        self.assertEqual(done.returncode, 4, told)
        self.assertIn("; raise the limit of open files (ulimit -n)\n", told)

    # --- schemas

    def test_a_mistyped_option_of_a_table_is_refused(self):
        told = self.create(AIR.replace(");\n", ") WITH deflaut_time_to_live = 4;\n"), expect=2).err
        self.assertIn("line 4, column 8: 'deflaut_time_to_live' is no option of a table, here or "
                      "in Cassandra; did you mean default_time_to_live?", told)
        self.assertFalse(self.store.exists())
        told = self.create(AIR.replace(");\n", ") WITH quite_another = 4;\n"), expect=2).err
        self.assertIn("or in Cassandra\n", told)
        self.create(AIR.replace(");\n", ") WITH bloom_filter_fp_chance = 0.01 AND cdc = true "
                                        "AND memtable = 'default' AND crc_check_chance = 1.0;\n"))

    def test_what_a_schema_file_need_not_have(self):
        for text, told in (("CREATE KEYSPACE k WITH x = 1;\n", "CREATE KEYSPACE"),
                           ("USE k;\n", "USE")):
            done = self.create(text + AIR, expect=2)
            self.assertIn(f"{told} is not needed: leave it out, and name tables keyspace.table",
                          done.err)
        done = self.run_tool("create", "--store", self.store, "--schema", self.directory, expect=2)
        self.assertIn(f"cannot read the schema {self.directory}: it is a directory", done.err)

    def test_create_says_what_was_there(self):
        self.assertIn(b"table air in ", self.create().out)
        done = self.create(AIR + PUMPS).out.decode().splitlines()
        self.assertTrue(done[0].endswith(": there already, buckets by day"), done)
        self.assertTrue(done[1].endswith(": buckets by hour"), done)
        told = self.create(AIR.replace(");\n", ") WITH cdc = true;\n"), expect=2).err
        self.assertIn('it says nothing more where this says "AND cdc = true"; ', told)

    def test_a_lost_file_is_one_problem(self):
        self.create(PUMPS)
        self.ingest("site,pump,ts,part\n1,p,5,x\n1,q,5,x\n", table="pumps")
        self.run_tool("alter", "--store", self.store, "--table", "pumps", "--schema",
                      self.write("x.cql", PUMPS.replace("raw blob,", "raw blob, more int,")))
        (spilled,) = (f for f in self.store.glob("*.sst") if b"spill-" in f.read_bytes())
        spilled.unlink()
        done = self.run_tool("verify", "--store", self.store, expect=1)
        self.assertIn(b" 1 problem\n", done.out)
        self.assertEqual(done.err.count(spilled.name), 1, done.err)
        self.assertEqual(len(done.err.splitlines()), 1, done.err)
        done = self.run_tool("scan", "--store", self.store, "--table", "pumps", "--entity",
                             "site=1,pump=p", expect=6)
        self.assertIn("2 row versions", done.err)

    # --- inputs

    def test_compressed_input_is_recognised(self):
        self.create()
        text = b"station,ts\na,1\n"
        for name, packed, tool in (("x.csv.gz", gzip.compress(text), "zcat"),
                                   ("x.bz2", bz2.compress(text), "bzcat"),
                                   ("x", lzma.compress(text), "xzcat"),
                                   ("x.zst", b"\x28\xb5\x2f\xfd" + bytes(9), "zstdcat")):
            self.write(name, packed)
            for options in ((), ("--header", "station,ts"), ("--format", "jsonl")):
                done = self.run_tool("ingest", "--store", self.store, "--table", "air", *options,
                                     name, expect=2)
                self.assertIn(f"{tool} {name} | cistern ingest ... -", done.err)
                self.assertFalse(list(self.directory.glob("*.reject")))

    def test_another_delimiter_is_suggested(self):
        self.create()
        self.assertIn("--delimiter ';'", self.ingest("station;ts;n\na;1;1\n", expect=2).err)
        self.assertIn("--delimiter '\\t'", self.ingest("station\tts\na\t1\n", expect=2).err)
        self.assertIn("--delimiter '|'", self.ingest("station|ts\na|1\n", expect=2).err)
        for delimiter in (";", "|"):
            done = self.ingest("station,ts\na,1\n", "--delimiter", delimiter, expect=2)
            self.assertIn("--delimiter ','", done.err)
        self.assertNotIn("--delimiter", self.ingest("statoin,ts\na,1\n", expect=2).err)

    def test_what_no_header_can_be_is_told(self):
        self.create()
        good = "station,ts\na,1\n"
        for text, told in ((good.encode("utf-16-le"), "`iconv -f UTF-16LE -t UTF-8`"),
                           (good.encode("utf-16-be"), "`iconv -f UTF-16BE -t UTF-8`"),
                           ("station,note\ra,1\rb,2\r", "tr '\\r' '\\n'"),
                           ("a,1\nb,2\n", "name their cells by --header a,b,c"),
                           ("a,-1\n", "name their cells by --header a,b,c")):
            self.assertIn(told, self.ingest(text, expect=2).err)
        for told in ("iconv", "tr '", "--header"):
            self.assertNotIn(told, self.ingest("statoin,ts\r\na,1\r\n", expect=2).err)

    def test_an_empty_input_is_told(self):
        self.create()
        self.assertIn("standard input is empty", self.ingest("").err)
        self.assertNotIn("is empty", self.ingest("station,ts\n").err)
        self.assertNotIn("is empty", self.ingest("", "--header", "station,ts").err)

    def test_inputs_after_a_failure_are_named(self):
        self.create()
        self.write("a.csv", "station,nonsense\n")
        for name in ("b.csv", "c.csv"):
            self.write(name, "station,ts\na,1\n")
        ingest = ("ingest", "--store", self.store, "--table", "air")
        done = self.run_tool(*ingest, "a.csv", "b.csv", expect=2)
        self.assertIn("cistern: b.csv was not read\n", done.err)
        done = self.run_tool(*ingest, "a.csv", "b.csv", "c.csv", expect=2)
        self.assertIn("cistern: b.csv, c.csv were not read\n", done.err)
        self.assertNotIn("not read", self.run_tool(*ingest, "b.csv", "a.csv", expect=2).err)

    def test_numbers_agree_with_their_nouns(self):
        self.create()
        self.assertIn("1 row stored in air\n", self.ingest("station,ts\na,1\n").err)
        done = self.ingest("station,ts\na,1\nb,2\nc\n", expect=1)
        self.assertIn("2 rows stored in air, 1 line rejected to", done.err)
        self.assertIn("1 cell where the header has 2", done.err)
        seal = ("seal", "--store", self.store)
        one = self.run_tool(*seal, "--table", "air", "--entity", "a", "--bucket", "1970-01-01")
        self.assertIn(b"1 bucket sealed (0 amendments)", one.out)
        self.assertIn(b": 2 segments of 2 buckets, 2 pages, 2 row versions ",
                      self.run_tool("verify", "--store", self.store).out)
        self.ingest("station,ts\nc,3\n")
        self.assertIn(b"2 buckets sealed (0 amendments)", self.run_tool(*seal, "--all").out)

    # --- times

    def test_a_time_in_1970_may_be_in_another_unit(self):
        self.create()
        # One that looks like seconds of this century is not stored (cli_line_test.py).
        done = self.ingest("station,ts\na,700000000\nb,700000001\n")
        self.assertEqual(done.err.count("--time-unit s"), 1)
        self.assertIn("standard input:2: event time 700000000 is taken for milliseconds, "
                      "1970-01-09T02:26:40.000Z", done.err)
        for text, options in (("1700000000000", ()), ("1700000000", ("--time-unit", "s")),
                              ("1970-01-20", ()), ("1700000000", ("--time-unit", "ms")),
                              ("-5", ()), ("5", ("--time-base", "2024-01-01"))):
            done = self.ingest(f"station,ts\na,{text}\n", *options)
            self.assertNotIn("--time-unit", done.err)

    def test_times_ahead_of_the_clock(self):
        self.create()
        now = time.time()

        def day(days):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + days * 86400))

        done = self.ingest(f"station,ts\na,{day(10.01)}\n", expect=1)
        self.assertRegex(done.err, rf"column 'ts': {day(10.01)[:-1]}\.000Z is 10\.0 days ahead of "
                                   r"the clock; .*--future-max")
        self.assertNotIn("event_future_s_max", done.err)
        self.assertNotIn("of the batch", done.err)
        self.ingest(f"station,ts\na,{day(10)}\n", "--future-max", "11d")
        self.ingest(f"station,ts\na,{day(0.5)}\n", "--future-max", "1h", expect=1)
        for text in ("", "soon", "-1d", "5 d", "1y", "99999999999999999999d"):
            done = self.ingest("", "--future-max", text, expect=2)
            self.assertIn("--future-max", done.err)

    # --- delete, seal, buckets

    def test_tables_are_named_with_their_keyspace(self):
        self.create(PUMPS)
        done = self.ingest("site,pump,ts,part\n1,p,5,x\n", table="pumps")
        self.assertIn("1 row stored in plant.pumps\n", done.err)
        pump = ("--store", self.store, "--table", "pumps", "--entity", "site=1,pump=p")
        done = self.run_tool("delete", *pump, "--at", "5", "--key", "part=x")
        self.assertIn("deleted in plant.pumps: ", done.out.decode())
        done = self.run_tool("scan", "--store", self.store, "--table", "pumps", "--entity",
                             "site=2,pump=p")
        self.assertIn("table plant.pumps has no rows of", done.err)
        new = self.directory / "new"
        done = self.run_tool("salvage", "--store", self.store, "--to", new)
        self.assertEqual(done.out, b"plant.pumps: 1 bucket, 1 row version saved, 0 lost\n")
        done = self.run_tool("alter", "--store", self.store, "--table", "pumps", "--schema",
                             self.write("x.cql", PUMPS.replace("ts DESC", "ts ASC")), expect=2)
        self.assertIn("table plant.pumps cannot be altered so: ", done.err)
        done = self.run_tool("delete", *pump, "--at", "5", "--key", "prat=x", expect=2)
        self.assertIn("--key: 'prat' is no clustering column of table plant.pumps; beside the "
                      "event time it has part\n", done.err)

    def test_an_entity_that_is_not_as_it_should_be(self):
        self.create(AIR + PUMPS)
        form = "table plant.pumps needs --entity site=...,pump=..."
        for texts, told in (
                (("p",), f"--entity: 'p' is not NAME=VALUE; {form}; or, if values hold commas, "
                         "--entity site=... --entity pump=..."),
                (("site=1,pump=a,b",), f"--entity: 'b' is not NAME=VALUE; {form}; or, if "),
                (("site=1",), f"--entity: 'pump' is not given; {form}\n"),
                (("site=1", "pmup=p"), f"--entity: 'pmup' is no entity column; {form}; did you "
                                       "mean pump?\n"),
                (("site=1,pump=p,part=x",), f"--entity: 'part' is no entity column; {form}\n"),
                (("site=1,pump=p,site=2",), f"--entity: 'site' is given twice; {form}\n"),
                (("site=one,pump=p",), "--entity of table plant.pumps: column 'site': expected "
                                       "int such as 42, got 'one'\n")):
            entity = [word for text in texts for word in ("--entity", text)]
            for command in (("scan",), ("delete", "--bucket-of", "5")):
                done = self.run_tool(command[0], "--store", self.store, "--table", "pumps",
                                     *command[1:], *entity, expect=2)
                self.assertIn(told, done.err)
        done = self.run_tool("scan", "--store", self.store, "--table", "air", "--entity", "a",
                             "--entity", "b", expect=2)
        self.assertEqual(done.err, "cistern: --entity: 2 values are given; table air has one "
                                   "entity column, station: give one\n")

    def test_columns_that_cannot_be_printed(self):
        self.create(PUMPS)
        scan = ("scan", "--store", self.store, "--table", "pumps", "--entity", "site=1,pump=p",
                "--columns")
        has = "site, pump, hour, ts, part, value, on_, tags, raw"
        for columns, told in (
                ("ts,valeu", f"--columns: table plant.pumps has no column 'valeu'; it has {has}; "
                             "did you mean value?"),
                ("ts, x", f"--columns: table plant.pumps has no column 'x'; it has {has}"),
                ("ts,,n", f"--columns 'ts,,n' leaves out a name; table plant.pumps has {has}"),
                ("ts,", f"--columns 'ts,' leaves out a name; table plant.pumps has {has}")):
            self.assertEqual(self.run_tool(*scan, columns, expect=2).err, f"cistern: {told}\n")
        self.assertEqual(self.run_tool(*scan, " ts , part", "--format", "csv").out, b"ts,part\n")

    def test_seal_says_why_it_did_not(self):
        self.create()
        self.ingest(f"station,ts\na,1\nb,1\nb,{int(time.time()) * 1000}\n")

        def seal(*options):
            return self.run_tool("seal", "--store", self.store, *options).out.decode()

        def one(entity, bucket):
            return seal("--table", "air", "--entity", entity, "--bucket", bucket)

        self.assertIn("0 buckets sealed (0 amendments), 0 bytes; 3 open buckets are not due: rows "
                      "came less than 5 minutes ago (2), or the bucket's end is not 5 minutes "
                      "past (1); --all seals them too\n", seal("--due"))
        self.assertIn("; table air has no rows of entity z\n", one("z", "1970-01-01"))
        self.assertIn("; entity a of table air has no bucket 1970-01-02\n", one("a", "1970-01-02"))
        self.assertRegex(one("a", "1970-01-01"), r"^1 bucket sealed \(0 amendments\), \d+ bytes\n$")
        self.assertIn("; it is sealed already, and nothing came since\n", one("a", "1970-01-01"))
        self.assertIn("; 2 open buckets are not due: ", seal("--due", "--table", "air"))
        self.assertRegex(seal("--all"), r"^2 buckets sealed \(0 amendments\), \d+ bytes\n$")
        for which in ("--due", "--all"):
            self.assertEqual(seal(which), "0 buckets sealed (0 amendments), 0 bytes; no bucket is "
                                          "open\n")

    def test_a_delete_of_nothing_is_told(self):
        self.create(AIR + PUMPS)
        self.ingest("station,ts,n\na,0,1\na,86400000,2\n")
        self.ingest("site,pump,ts,part\n1,p,5,x\n", table="pumps")
        note = "a tombstone was written"

        def delete(*options, table="air", entity="a"):
            return self.run_tool("delete", "--store", self.store, "--table", table, "--entity",
                                 entity, *options).out.decode()

        self.assertIn(note, delete("--at", "7"))
        self.assertNotIn(note, delete("--at", "0"))
        self.assertIn(note, delete("--at", "0"))
        self.assertIn(note, delete("--from", "5", "--to", "86400000"))
        self.assertIn(note, delete("--bucket", "1970-01-03"))
        self.assertIn(note, delete("--bucket-of", "5", entity="b"))
        self.assertNotIn(note, delete("--bucket", "1970-01-02"))
        self.assertIn(note, delete("--bucket", "1970-01-02"))
        pump = {"table": "pumps", "entity": "site=1,pump=p"}
        self.assertIn(note, delete("--at", "5", "--key", "part=y", **pump))
        self.assertNotIn(note, delete("--at", "5", "--key", "part=x", **pump))

    def test_buckets_for_people_leave_out_what_tells_nothing(self):
        self.create(AIR)
        self.ingest("station,ts,n\na,0,1\na,1,1\na,86400000,1\nb,5,1\n")

        def buckets(*options):
            done = self.run_tool("buckets", "--store", self.store, *options)
            return done.out.decode().split("\n")

        lines = buckets()
        self.assertEqual(lines[0].split(), ["table", "entity", "bucket", "state", "versions",
                                            "segments", "bytes", "seals", "first", "last"])
        self.assertRegex(lines[-2], r"^total: 3 buckets, 4 versions, \d+ segments?, \d+ bytes$")
        self.assertEqual(buckets("--table", "air", "--entity", "station=b")[0].split()[0], "bucket")
        self.assertRegex(buckets("--limit", "1")[-2], r"^there are more; of these: 1 bucket, 2 ver")
        self.assertRegex(buckets("--limit", "3")[-2], r"^total: 3 buckets, ")
        self.assertEqual(re.split(", |: ", buckets("--entity", "b")[-2])[1:3],
                         ["1 bucket", "1 version"])
        for options in (("--format", "csv"), ("--format", "csv", "--table", "air")):
            self.assertEqual(buckets(*options)[0], "table,entity,bucket,split,state,versions,"
                                                   "segments,bytes,seals,seal,start,first,last")
        self.create("""CREATE TABLE other.air (a text, k int, shard int, ts timestamp,
            PRIMARY KEY ((a, k, shard), ts))
            WITH comment = 'cistern: bucket k = 1 day as epoch; split shard = hash 4';""")
        self.assertEqual(buckets()[0].split()[3], "split")
        self.assertIn("start", buckets()[0].split())
        self.ingest("a,ts\nx,1\n", table="other.air")
        self.assertIn("total: 1 bucket,", buckets("--table", "other.air")[-2])
        self.assertIn("other.air,x,", "\n".join(buckets("--format", "csv")))


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    unittest.main(verbosity=1)
