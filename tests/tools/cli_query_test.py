"""What scan, entities and tables print, and how an entity is named.

Environment: CISTERN_BIN.
"""

import csv
import io
import json
import unittest

from cli_case import AIR, PUMPS, CliCase

TRACE = """CREATE TABLE trace (
    unit text, hour timestamp, ts bigint, v int,
    PRIMARY KEY ((unit, hour), ts)
) WITH comment = 'cistern: time ts = ns';
"""


class QueryTest(CliCase):
    def lines(self, command, *options, fmt="csv", expect=0):
        form = ("--json",) if fmt == "json" else ("--format", fmt)
        return self.run_tool(command, "--store", self.store, *form, *options,
                             expect=expect).out.decode().splitlines()

    # --- whose rows

    def test_an_entity_of_one_column_may_be_named_by_it(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\nx=y,2,2\nstation=a,3,3\n")
        for entity, number in (("a", "1"), ("station=a", "1"), ("x=y", "2"), ("station=x=y", "2"),
                               ("station=station=a", "3")):
            self.assertEqual([r["n"] for r in self.scan(entity=entity)], [number], entity)
        self.assertEqual(self.scan(entity="STATION=a"), [])
        self.run_tool("delete", "--store", self.store, "--table", "air", "--entity", "station=a",
                      "--at", "1")
        self.assertEqual(self.scan(), [])

    def test_an_unknown_entity_is_told(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        scan = ("scan", "--store", self.store, "--table", "air", "--format", "csv")
        done = self.run_tool(*scan, "--entity", "b")
        self.assertEqual(done.err, "cistern: table air has no rows of entity b\n")
        self.assertEqual(done.out, b"station,day,ts,temp,wd,n\n")
        self.assertEqual(self.run_tool(*scan, "--entity", "a", "--from", "5").err, "")

    def test_entities(self):
        self.create(AIR + PUMPS)
        self.ingest("station,ts,n\nb,1,1\na,1,2\n\"c,d\",1,3\na,86400000,4\n")
        self.ingest("site,pump,ts,part\n7,q,5,x\n-3,p,5,x\n", table="pumps")
        self.assertEqual(sorted(self.lines("entities", "--table", "air")),
                         ['"c,d"', "a", "b", "station"])
        rows = [json.loads(line) for line in self.lines("entities", "--table", "plant.pumps",
                                                        fmt="json")]
        self.assertEqual(sorted((r["site"], r["pump"]) for r in rows), [(-3, "p"), (7, "q")])
        self.assertEqual(self.lines("entities", "--table", "pumps", fmt="table")[0], "site  pump")
        self.lines("entities", "--table", "none", expect=2)

    def test_scan_of_all_entities(self):
        self.create()
        names = ["b", "a", "c", "d"]
        self.ingest("station,ts,n\n" + "".join(
            f"{e},{t * 40000000},{t}\n" for t in range(5) for e in names))
        every = ("--table", "air", "--all-entities")
        order = self.lines("entities", "--table", "air")[1:]

        def rows(*options):
            text = self.lines("scan", *every, *options)
            return [(r["station"], int(r["n"])) for r in csv.DictReader(text)]

        self.assertEqual(rows(), [(e, n) for e in order for n in range(5)])
        self.assertEqual(rows("--desc", "--from", "40000000", "--to", "120000000"),
                         [(e, n) for e in order for n in (2, 1)])
        for limit in (1, 5, 7, 19):
            done = self.run_tool("scan", "--store", self.store, *every, "--limit", limit,
                                 "--format", "csv")
            self.assertEqual(len(done.out.splitlines()), 1 + limit)
            self.assertIn(f"stopped after --limit {limit}", done.err)
        self.assertEqual(len(rows("--limit", "21")), 20)
        self.assertEqual(self.lines("scan", *every, "--from", "999999999999"),
                         ["station,day,ts,temp,wd,n"])
        for wrong in (("--entity", "a"), ("--token", "1.00")):
            self.lines("scan", *every, *wrong, expect=2)
        self.lines("scan", "--table", "air", expect=2)

    # --- how values are shown

    def test_a_table_shows_event_times_that_are_integers_as_iso(self):
        self.create(TRACE + PUMPS)
        self.ingest("unit,ts,v\na,1700000000123456789,1\na,-1,2\n", table="trace")
        self.ingest("site,pump,ts,part\n1,p,1700000000123456,x\n", table="pumps")
        scan = ("--table", "trace", "--entity", "a", "--columns", "ts, v")
        self.assertEqual(self.lines("scan", *scan, fmt="table"),
                         ["ts                              v",
                          "------------------------------  -",
                          "1969-12-31T23:59:59.999999999Z  2",
                          "2023-11-14T22:13:20.123456789Z  1"])
        self.assertEqual(self.lines("scan", *scan), ["ts,v", "-1,2", "1700000000123456789,1"])
        self.assertEqual(json.loads(self.lines("scan", *scan, fmt="json")[1]),
                         {"ts": 1700000000123456789, "v": 1})
        self.assertEqual(self.lines("scan", "--table", "pumps", "--entity", "site=1,pump=p",
                                    "--columns", "ts", fmt="table")[2],
                         "2023-11-14T22:13:20.123456Z")

    # --- tables

    def test_tables_show_how_they_are_declared(self):
        self.create(AIR.replace(");", ") WITH default_time_to_live = 86400;") + """
            CREATE TABLE m.shards (a text, b int, shard int, q text, ts timestamp, v int,
                PRIMARY KEY ((a, q, b, shard), ts))
                WITH comment = 'cistern: bucket q = 15 minutes; split shard = hash 8';""")
        rows = {r["table"]: r for r in csv.DictReader(self.lines("tables"))}
        air, shards = rows["air"], rows["m.shards"]
        names = ("entity", "time", "bucket", "split", "columns", "ttl_s")
        self.assertEqual([air[c] for c in names],
                         ["station", "ts = ms", "day = 1 day", "", "6", "86400"])
        self.assertEqual([shards[c] for c in ("entity", "bucket", "split", "columns")],
                         ["a, b", "q = 15 minutes", "shard = hash 8", "6"])
        self.assertIn("CREATE TABLE air", rows["air"]["cql"])
        text = self.lines("tables", fmt="table")
        self.assertEqual(text[0].split(),
                         ["table", "entity", "time", "bucket", "split", "columns", "ttl_s"])
        self.assertEqual(len(self.lines("tables", "--table", "shards", fmt="table")), 3)
        self.lines("tables", "--table", "none", expect=2)
        self.lines("tables", "--cql", expect=2)

    def test_what_tables_prints_create_takes(self):
        self.create(AIR + "-- the pumps;\n;" + PUMPS + TRACE.rstrip(";\n"))
        cql = self.run_tool("tables", "--store", self.store, "--cql").out
        first = self.store
        self.store = self.directory / "second"
        done = self.create(cql.decode())
        self.assertEqual(len(done.out.splitlines()), 3)
        self.assertEqual(self.run_tool("tables", "--store", self.store, "--cql").out, cql)
        one = self.run_tool("tables", "--store", first, "--table", "trace", "--cql").out.decode()
        self.assertEqual(one.count("CREATE TABLE"), 1)
        self.create(one)

    def test_all_statements_are_checked_before_the_first_is_created(self):
        done = self.create(AIR + "/* é */ " + PUMPS.replace("int, pump", "itn, pump"), expect=2)
        self.assertRegex(done.err, r"schema\.cql: line 6, column 10: .*itn")
        self.assertFalse(self.store.exists())
        self.assertIn("twice", self.create(AIR + AIR, expect=2).err)
        self.assertIn("expected CREATE", self.create(";", expect=2).err)
        self.assertIn("expected CREATE", self.create("-- nothing", expect=2).err)
        self.assertFalse(self.store.exists())
        self.create(TRACE)
        self.create(PUMPS + TRACE.replace("v int", "v text"), expect=2)
        self.assertEqual(len(self.lines("tables", fmt="table")), 3)

    def test_buckets_without_rows_have_no_times_and_no_percentile(self):
        self.create(AIR)
        day = 86400000
        self.ingest("station,ts,n\n" + "".join(f"a,{i},{i}\n" for i in range(9)))
        self.run_tool("delete", "--store", self.store, "--table", "air", "--entity", "a",
                      "--from", day, "--to", 4 * day)

        def buckets(*options):
            text = self.run_tool("buckets", "--store", self.store, "--format", "csv",
                                 *options).out.decode()
            return list(csv.DictReader(io.StringIO(text)))

        def histograms(*options):
            return self.run_tool("histograms", "--store", self.store, *options).out.decode()

        for _ in ("in the journal", "sealed"):
            rows = buckets()
            self.assertEqual([bool(r["first"]) for r in rows], [True, False, False, False])
            self.assertEqual([bool(r["last"]) for r in rows], [True, False, False, False])
            self.assertEqual(len(buckets("--from", "1970-01-02")), 3)
            self.assertEqual(len(buckets("--from", "1970-01-04T23:59:59.999Z")), 1)
            self.assertEqual(len(buckets("--from", "1970-01-05")), 0)
            self.assertEqual(len(buckets("--to", "1970-01-02")), 1)
            self.assertEqual(len(buckets("--to", str(day + 1))), 2)
            sizes = json.loads(histograms("--json"))
            self.assertEqual((sizes["buckets"], sizes["buckets_without_rows"]), (1, 3))
            self.assertEqual(sizes["rows"]["min"], 9)
            self.assertIn("air: not counted, as they have no rows but deletes: 3 buckets\n",
                          histograms())
            self.run_tool("seal", "--store", self.store, "--all")

    def test_the_rows_of_a_bucket(self):
        self.create()
        hour = 3_600_000
        self.ingest("station,ts,n\n" + "".join(f"{entity},{i * hour},{i}\n"
                                               for i in range(72) for entity in "ab"))
        rows = lambda *options: [int(row["n"]) for row in self.scan("--bucket", *options)]
        self.assertEqual(rows("1970-01-02"), list(range(24, 48)))
        self.assertEqual(rows("1970-01-02", "--desc", "--limit", "2"), [47, 46])
        self.assertEqual(rows("1970-02-02"), [])
        both = self.run_tool("scan", "--store", self.store, "--table", "air", "--all-entities",
                             "--bucket", "1970-01-03", "--format", "csv").out.decode()
        self.assertEqual(both.count("\n"), 1 + 2 * 24)
        # As buckets prints it, of any rule.
        self.create(PUMPS)
        self.ingest("site,pump,ts,part,value\n1,x,1000000,a,1\n1,x,3600000000,a,2\n",
                    table="plant.pumps")
        names = [line["bucket"] for line in map(json.loads, self.run_tool(
            "buckets", "--store", self.store, "--table", "plant.pumps", "--json"
            ).out.splitlines())]
        self.assertEqual(len(names), 2)
        for name, value in zip(names, ("1", "2")):
            found = self.scan("--bucket", name, table="plant.pumps", entity="site=1,pump=x")
            self.assertEqual([row["value"] for row in found], [value])
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", "--bucket")
        self.assertIn("--bucket 'never'", self.run_tool(*scan, "never", expect=2).err)
        for bound in ("--from", "--to"):
            self.assertIn("leave --from and --to out",
                          self.run_tool(*scan, "1970-01-02", bound, "0", expect=2).err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
