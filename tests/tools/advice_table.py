"""Every message that recommends an option or a command: what brings it, and the advice as run.

`literal` is a part of the literal in the sources, which tests/tools/advice_test.py finds there.
What is recommended and stands in no row fails that test, and so does a row whose literal is gone.
"""

from typing import NamedTuple

MILLIS = 1716534230000  # 2024-05-24T07:03:50Z
ZONE = ("--time-zone", "Europe/Berlin")
LINE = ("--format", "line")


class Ingest(NamedTuple):
    """Ingesting `text` into table air brings the message; as it advises the text is taken."""
    literal: str
    text: str | bytes
    options: tuple = ()
    advice: str = ""  # a part of the message, as a shell takes it; a command in `...` filters
    fill: dict = {}   # what stands for a name or a number in it
    drop: tuple = ()  # of the options: left out, as is advised
    extra: tuple = ()  # behind the advice: the value of an option that is named alone
    rows: int | None = 1  # stored then
    code: int = 0     # then
    words: tuple = ()  # to run instead of the advice, where it names a choice
    env: dict = {}


class Command(NamedTuple):
    """The words bring the message; as it advises they are taken. S is a store with a row of air."""
    literal: str
    words: tuple
    advice: str = ""
    fill: dict = {}
    drop: tuple = ()
    extra: tuple = ()
    before: int = 2  # the code
    code: int = 0    # then


class Method(NamedTuple):
    """A method of advice_test.py brings the message and follows it."""
    literal: str
    name: str


class Elsewhere(NamedTuple):
    """Another test does: its file, and words in it that do."""
    literal: str
    path: str
    words: str


class NoAdvice(NamedTuple):
    """An option, command or file is named, and nothing recommended."""
    literal: str
    is_whole: bool = False  # it is all of the literal


def row(*cells, name="n"):
    return f"station,ts,{name}\na,{MILLIS},{','.join(cells)}\n"


NESTED = '{"station":"a","ts":1716534230000,"o":{"n":5}}\n'
BOILER = ("boiler,station=a n=1i 1716534230000000000\n"
          "room,station=a n=2i 1716534231000000000\n")
FEED = "of numbers, and --time-format says that times are dates"
LATE = "station,ts\na,2024-10-27T02:30:00\n"
SYNC = ("sync", "--store", "NOWHERE", "--contact", "127.0.0.1:1")  # 3: the options are taken
LOGIN = ("--user", "u", "--allow-cleartext-password")

INGEST = [
    Ingest("{}; --null {} takes it for missing", row("  "), advice="--null '  '"),
    Ingest("{}; --null {} takes it for missing", '{"station":"a","ts":1,"n":""}\n',
           ("--format", "jsonl"), "--null ''"),
    Ingest("; are its cells apart by --delimiter '{}'?", row("1").replace(",", ";"),
           advice="--delimiter ';'"),
    Ingest("; are its cells apart by --delimiter '{}'?", row("1").replace(",", "\t"),
           advice="--delimiter '\\t'"),
    Ingest("; if this is UTF-16 without its mark", row("1").encode("utf-16-le"),
           advice="`iconv -f UTF-16LE -t UTF-8`"),
    Ingest("; if this is UTF-16 without its mark", row("1").encode("utf-16-be"),
           advice="`iconv -f UTF-16BE -t UTF-8`"),
    Ingest("; its lines end with CR alone", row("1").replace("\n", "\r"),
           advice="`tr '\\r' '\\n'`"),
    Ingest("; if rows begin at the first line", f"a,{MILLIS},1\nb,{MILLIS},2\n",
           advice="--header a,b,c", fill={"a,b,c": "station,ts,n"}, rows=2),
    Ingest("days ahead of the clock; check its unit", "station,ts\na,2099-01-01\n",
           advice=r"--future-max \d+d"),
    Ingest("--escape '\"' is what csv has without it", row('"say ""hi"""', name="wd"),
           ("--escape", '"'), drop=("--escape", '"')),
    Ingest("the input says sep={}", "sep=;\n" + row("1").replace(",", ";"), ("--delimiter", ","),
           drop=("--delimiter", ",")),
    Ingest("the input says sep={}", "sep=;\n" + row("1"), ("--delimiter", ","),
           "--skip-lines 1"),
    Ingest("; where a backslash stands before quotes", row('"say \\"hi\\""', name="wd"),
           advice="--escape '\\'"),
    Ingest("; where a backslash stands before quotes", row('say \\"hi\\"', name="wd"),
           advice="--escape cqlsh"),
    Ingest("; --truncate-times cuts times off", "station,ts\na,2024-05-24T00:00:00.0001Z\n",
           advice="--truncate-times"),
    Ingest("--time-start and --time-step go together", "station,n\na,1\n",
           ("--time-start", "2024-05-24"), "--time-step", extra=("20ms",)),
    Ingest("--arrival-time is of rows without an event time", "station,n\na,1\n",
           ("--time-start", "2024-05-24", "--time-step", "20ms", "--arrival-time"),
           drop=("--arrival-time",)),
    Ingest("--time-base is of numbers, and --time-start", "station,n\na,1\n",
           ("--time-start", "2024-05-24", "--time-step", "20ms", "--time-base", "2024-01-01"),
           drop=("--time-base", "2024-01-01")),
    Ingest("is of --format csv, not of {}", NESTED, ("--format", "jsonl", "--map", "o.n=n",
                                                     "--delimiter", ";"),
           drop=("--delimiter", ";")),
    Ingest("is of --format line, not of {}", row("1"), ("--measurement", "x"),
           drop=("--measurement", "x")),
    Ingest(FEED, "station,ts\na,24.05.2024\n", ("--time-format", "%d.%m.%Y", "--time-unit", "s"),
           drop=("--time-unit", "s")),
    Ingest(FEED, "station,ts\na,24.05.2024\n",
           ("--time-format", "%d.%m.%Y", "--time-base", "2024-01-01"),
           drop=("--time-base", "2024-01-01")),
    Ingest("is of clocks that stay as they are", "station,ts\na,2024-05-24T00:00:00\n",
           (*ZONE, "--utc-offset", "+01:00"), drop=("--utc-offset", "+01:00")),
    Ingest("is of --time-zone or of %Z in --time-format", row("1"), ("--ambiguous-times", "later"),
           drop=("--ambiguous-times", "later")),
    Ingest("says what {stem} is, and no --map or --set has that", row("1"), ("--stem", "x"),
           drop=("--stem", "x")),
    Ingest("further lines go to the reject file unnamed", "station,ts\n" + "a,x\n" * 25,
           advice="--reasons N", fill={"N": "30"}, rows=None, code=1),
    Ingest("if it counts seconds, say --time-unit s", "station,ts\na,86400\n",
           advice="--time-unit s"),
    Ingest("a value of an earlier line of this run would be replaced",
           f"station,ts,n\na,{MILLIS},1\na,{MILLIS},2\n", ("--duplicates", "refuse"),
           "--duplicates allow", drop=("--duplicates", "refuse"), rows=2),
    Ingest("begins with the byte order mark of {}", row("1").encode("utf-16"),
           ("--encoding", "latin-1"), drop=("--encoding", "latin-1")),
    Ingest("; --format json reads arrays of objects", f"[{NESTED.strip()}]\n",
           ("--format", "jsonl", "--map", "o.n=n"), "--format json", drop=("--format", "jsonl")),
    Ingest("does not exist in {}: clocks were put forward", "station,ts\na,2024-03-31T02:30:00\n",
           ZONE, "--utc-offset", drop=ZONE, extra=("+01:00",)),
    Ingest("is there twice in {}", LATE, ZONE, "--ambiguous-times earlier"),
    Ingest("is there twice in {}", LATE, ZONE, "--ambiguous-times earlier or later",
           words=("--ambiguous-times", "later")),
    Ingest("is no zone of the tz database{}", "station,ts\na,2024-07-15 12:00 CEST\n",
           ("--time-format", "%Y-%m-%d %H:%M %Z"), "--time-zone", extra=("Europe/Berlin",)),
    Ingest(", or give the offset by --utc-offset", "station,ts\na,2024-07-15\n",
           ZONE, "--utc-offset", drop=ZONE, extra=("+02:00",), env={"TZDIR": "/nowhere"}),
    Ingest("measurement '{}', where this run takes '{}'", BOILER, LINE, "--measurement 'boiler'"),
    Ingest("measurement '{}', where this run takes '{}'", BOILER, LINE,
           "--map 'measurement()=COLUMN'", fill={"COLUMN": "station"},
           extra=("--ignore", "station"), rows=2),
    Ingest("{stem} is the file's name, and standard input has none", f"ts,n\n{MILLIS},2\n",
           ("--set", "station={stem}"), "--stem NAME", fill={"NAME": "a"}),
    Ingest("--set knows {{stem}} alone", f"x,ts\na,{MILLIS}\n", ("--set", "station={x}"), "--map",
           drop=("--set", "station={x}"), extra=("{x}=station",)),
    Ingest("is derived from the row and cannot be set; leave it out", row("2024-05-24", name="day"),
           advice="--ignore 'day'"),
    Ingest("is fed by {}, so leave the cell '{}' out", row("2"), ("--set", "n=5"),
           "--ignore 'n'"),
    Ingest("rename with --map {} or ", row("2", name="x"), advice="--map 'x=COLUMN'",
           fill={"COLUMN": "n"}),
    Ingest("it has {}; {}leave it out with {}", row("2", name="x"), advice="--ignore 'x'"),
    Ingest("it has {}; {}leave it out with {}", row("2", name="it's"),
           advice="--ignore 'it'\\''s'"),
    Ingest("it has {}; {}leave it out with {}", row("2", name='"a,b"'), advice="--ignore 'a,b'"),
    Ingest("it has {}; {}leave it out with {}", row("2", name="{x}"), advice="--ignore '{x}'"),
    Ingest("it has {}; {}leave it out with {}", row("2", name="x" * 150),
           advice=f"--ignore '{'x' * 150}'"),
    Ingest("it has {}; {}leave it out with {}", '{"station":"a","ts":1716534230000,"":5}\n',
           ("--format", "jsonl"), "--ignore ''"),
    Ingest("take a member of it with --map {}", NESTED, ("--format", "jsonl"),
           "--map 'o.MEMBER=COLUMN'", fill={"MEMBER": "n", "COLUMN": "n"}),
    Ingest("; {}leave it out with {}", NESTED, ("--format", "jsonl"), "--ignore 'o'"),
    Ingest("; {}leave it out with {}", NESTED.replace('"o"', '"{o}"'), ("--format", "jsonl"),
           "--ignore '{o}'"),
    Ingest("; where a comma stands before decimals", row("2,5", name="temp").replace(",", ";", 2)
           .replace(f"a,{MILLIS},", f"a;{MILLIS};"), ("--delimiter", ";"), "--decimal ,"),
    Ingest("is not finite; --non-finite missing or store", row("NaN", name="temp"),
           ("--non-finite", "refuse"), "--non-finite missing", drop=("--non-finite", "refuse")),
    Ingest("is not finite; --non-finite missing or store", row("NaN", name="temp"),
           ("--non-finite", "refuse"), "--non-finite missing or store",
           drop=("--non-finite", "refuse"), words=("--non-finite", "store")),
    Ingest("the cell '{}' of the header has no name", f",station,ts\n7,a,{MILLIS}\n",
           advice="--map '#1=COLUMN'", fill={"COLUMN": "n"}),
    Ingest("the cell '{}' of the header has no name", f",station,ts\n7,a,{MILLIS}\n",
           advice="--ignore '#1'"),
    Ingest("nothing gives the key column '{}'", f"ts,n\n{MILLIS},2\n", advice="--set",
           extra=("station=a",)),
    Ingest("nothing gives the key column '{}'", f"ts,n\n{MILLIS},2\n", advice="--map",
           extra=("n=station",)),
    Ingest(", or --arrival-time for the time at which", "station,n\na,1\n",
           advice="--arrival-time"),
    Ingest("and the header gives it no name; --ignore", f"station,ts,\na,{MILLIS},7\n",
           advice="--ignore '#3'"),
    Ingest("and the header gives it no name; --ignore", f"station,ts,\na,{MILLIS},7\n",
           advice="--map '#3=COLUMN'", fill={"COLUMN": "n"}),
    Ingest("; if every line ends with a delimiter", row("3", ""), advice="--trailing-delimiter"),
    Ingest("there is no event time for column '{}'", "m,station=a n=1i\n", LINE, "--arrival-time"),
    Ingest("which is of 1970 or so; --time-base says", "station,h\na,5\n",
           ("--time-sum", "h*3600"), "--time-base", extra=("2024-05-24",)),
    Ingest("--ttl-from takes the cell '{}', and --ignore", row("1000000", name="life"),
           ("--ttl-from", "life", "--ignore", "life"), drop=("--ignore", "life")),
    Ingest("a file of one byte a character is read by", "station,ts,wd\na,1716534230000,gr\xfcn\n"
           .encode("latin-1"), advice="--encoding latin-1"),
    Ingest("a file of one byte a character is read by", "station,ts,wd\na,1716534230000,5€\n"
           .encode("cp1252"), advice="--encoding latin-1 or windows-1252",
           words=("--encoding", "windows-1252")),
    Ingest("is finer than a nanosecond; --truncate-times", "station,t\na,1700000000.0000000001\n",
           ("--time-sum", "t"), "--truncate-times"),
    Ingest("is a date, and --time-base is for numbers", "station,ts\na,2024-05-24\n",
           ("--time-base", "2024-01-01"), drop=("--time-base", "2024-01-01")),
    Ingest("say --time-unit {}, or --time-unit {}", "station,ts\na,1716534230\n",
           advice="--time-unit s"),
    Ingest("say --time-unit {}, or --time-unit {}", "station,ts\na,1716534230\n",
           advice="--time-unit ms"),
    Ingest("looks like a date, and would be taken for", "station,ts\na,20240524\n",
           advice="--time-format %Y%m%d"),
    Ingest("looks like a date, and would be taken for", "station,ts\na,20240524\n",
           advice="--time-unit ms"),
    Ingest("or a zone by --time-zone", "station,ts\na,2024-05-24T00:00:00\n",
           ("--utc-offset", "CET"), "--time-zone", drop=("--utc-offset", "CET"),
           extra=("Europe/Berlin",)),
    Ingest("it looks like milliseconds: --time-unit ms",
           f"station,seen,ts\na,{MILLIS},2024-05-24\n", ("--time-unit", "s"), "--time-unit ms",
           drop=("--time-unit", "s")),
    Ingest("it looks like microseconds: --time-unit us",
           f"station,seen,ts\na,{MILLIS}000,2024-05-24\n", ("--time-unit", "s"), "--time-unit us",
           drop=("--time-unit", "s")),
    Ingest("it looks like nanoseconds: --time-unit ns",
           f"station,seen,ts\na,{MILLIS}000000,2024-05-24\n", ("--time-unit", "s"),
           "--time-unit ns", drop=("--time-unit", "s")),
]

AGGREGATE = ("aggregate", "--store", "S", "--table", "air", "--step", "1h", "--of", "n:sum")
SCAN = ("scan", "--store", "S", "--table", "air")
FOLLOW = (*SCAN, "--limit", "1", "--follow")  # ends behind the row of air
PUMP_MEANS = ("aggregate", "--store", "S", "--table", "plant.pumps", "--all-entities", "--step",
              "1h", "--of", "value:avg")
DELETE = ("delete", "--store", "S", "--table", "air", "--entity", "a")
COMMANDS = [
    *(Command("say whose rows by --entity, or --all-entities", words, advice, extra=extra)
      for words in (AGGREGATE, SCAN)
      for advice, extra in (("--entity", ("a",)), ("--all-entities", ()))),
    *(Command("--entity and --all-entities are both given", (*words, "--entity", "a",
                                                             "--all-entities"), drop=drop)
      for words in (AGGREGATE, SCAN) for drop in (("--entity", "a"), ("--all-entities",))),
    *(Command("say what to delete by one of --at", DELETE, advice, extra=extra)
      for advice, extra in (("--at", ("5",)), ("--from", ("1", "--to", "2")),
                            ("--bucket", ("2024-05-24",)), ("--bucket-of", ("2024-05-24",)))),
    Command("--key goes with --at alone", ("delete", "--store", "S", "--table", "plant.pumps",
                                           "--entity", "site=1,pump=x", "--bucket-of", "5",
                                           "--key", "part=a"),
            "--at", drop=("--bucket-of", "5"), extra=("5",)),
    Command("--bucket says which event times are meant", (*SCAN, "--all-entities", "--bucket",
                                                          "2024-05-24", "--from", "5"),
            drop=("--from", "5")),
    Command("declared without a keyspace: say by --keyspace NAME",
            ("schema", "print", "--store", "S", "--table", "air", "--keyspace-replication",
             "{'class': 'SimpleStrategy', 'replication_factor': 1}"), "--keyspace NAME",
            fill={"NAME": "plant"}),
    *(Command("say what to seal by one of --due, --all", ("seal", "--store", "S"), advice,
              extra=extra)
      for advice, extra in (("--due", ()), ("--all", ()),
                            ("--table", ("air", "--entity", "a", "--bucket", "2024-05-24")))),
    Command("not due: {}; --all seals {} too", ("seal", "--store", "S", "--due"), "--all",
            drop=("--due",), before=0),
    Command("{} says which buckets are --due", ("seal", "--store", "S", "--all", "--seal-grace",
                                                "1m"), drop=("--seal-grace", "1m")),
    Command(", which `cistern seal` seals: with --due", ("sync", "--store", "S", "--contact",
                                                         "127.0.0.1:1"), "--due",
            drop=("sync", "--contact", "127.0.0.1:1"), extra=("SUBCOMMAND", "seal"), before=0),
    Command("says when buckets are due, and --no-seal{} seals none",
            (*SYNC, "--no-seal", "--seal-grace", "1m"), drop=("--seal-grace", "1m"), code=3),
    Command("says when buckets are due, and --no-seal{} seals none",
            (*SYNC, "--no-seal", "--seal-grace", "1m"), drop=("--no-seal",), code=3),
    *(Command("prints CQL, whatever {} says", ("tables", "--store", "S", "--cql", *other),
              drop=drop)
      for other in (("--format", "csv"), ("--json",)) for drop in (other, ("--cql",))),
    Command("--format '{}' is not one of table, csv; --json prints JSON",
            (*SCAN, "--entity", "a", "--format", "jsonl"), "--json", drop=("--format", "jsonl")),
    *(Command("would mix rows that '{}' tells apart: --group-by {}", PUMP_MEANS, advice,
              fill={"...": "a"})
      for advice in ("--group-by part", '--where "part = ..."', "--across part")),
    Command("--across {} does nothing: it names", (*AGGREGATE, "--all-entities", "--across", "n"),
            drop=("--across", "n")),
    Command("--across {} does nothing: it names",
            (*PUMP_MEANS, "--where", "part = a", "--across", "part"), drop=("--across", "part")),
    Command("--follow prints what comes of one --entity", (*FOLLOW, "--all-entities"),
            drop=("--all-entities",), extra=("--entity", "a")),
    *(Command("--follow prints what comes of one --entity", (*FOLLOW, "--entity", "a", *useless),
              drop=useless)
      for useless in (("--desc",), ("--to", "now"), ("--bucket", "2024-05-24"))),
    Command(" goes with ", (*SYNC, "--password-file", "pw"), "--user NAME", fill={"NAME": "u"},
            extra=("--allow-cleartext-password",), code=3),
    Command(" would go over the network in clear: add ",
            (*SYNC, "--user", "u", "--password-file", "pw"), "--allow-cleartext-password", code=3),
    Command(" needs a password: name its file by ", (*SYNC, *LOGIN), "--password-file",
            extra=("pw",), code=3),
    Command("; leave it out", (*SYNC, "--allow-cleartext-password"),
            drop=("--allow-cleartext-password",), code=3),
    Command("--credentials-dir goes with --user or --client-key",
            (*SYNC, "--credentials-dir", "x"), drop=("--credentials-dir", "x"), code=3),
    Command("--entity: {}; table {} needs --entity {}{}",
            ("scan", "--store", "S", "--table", "plant.pumps", "--entity", "x"),
            "--entity site=...,pump=...", fill={"site=...,pump=...": "site=1,pump=x"},
            drop=("--entity", "x")),
    Command("; or, if values hold commas, --entity {}",
            ("scan", "--store", "S", "--table", "plant.pumps", "--entity", "site=1,pump=x,y"),
            "--entity site=... --entity pump=...",
            fill={"site=...": "site=1", "pump=...": "pump=x,y"},
            drop=("--entity", "site=1,pump=x,y")),
    Command("see cistern {}--help", (*SCAN, "--quite", "x"), "see cistern scan --help",
            fill={"see cistern scan": ""}, drop=("--store", "S", "--table", "air", "--quite", "x")),
    Command("take LOCAL_QUORUM or another one", (*SYNC, "--proof", "rows", "--consistency", "ANY"),
            "LOCAL_QUORUM", drop=("--consistency", "ANY"), fill={"LOCAL_QUORUM":
                                                                 "--consistency LOCAL_QUORUM"},
            code=3),
    Command("is of --drain live-first", (*SYNC, "--drain", "oldest", "--live-span", "1h"),
            drop=("--live-span", "1h"), code=3),
    Command("does nothing beside --follow, which never", (*SYNC, "--follow", "--away-after", "1m"),
            drop=("--away-after", "1m"), code=3),
    *(Command("is of the summary, which --quiet leaves out", (*SYNC, "--quiet", "--json"),
              drop=drop, code=3)
      for drop in (("--json",), ("--quiet",))),
    Command("which store? --store DIR says it", ("sync", "--contact", "127.0.0.1:1"),
            "--store DIR", fill={"DIR": "NOWHERE"}, code=3),
    Command("which cluster? --contact HOST[:PORT]", ("sync", "--store", "NOWHERE"),
            "--contact HOST[:PORT]", fill={"HOST[:PORT]": "127.0.0.1:1"}, code=3),
]

METHODS = [
    Method("{} is compressed; unpack it on the way", "test_compressed_files"),
    Method("--time-start is of one file", "test_two_files_with_a_start"),
    Method("more rows may follow; continue with --token {}", "test_a_token_continues"),
    Method("more rows may follow; continue with --token {}",
           "test_a_token_continues_a_scan_from_now"),
    Method("continue with --token {}", "test_a_token_continues_what_was_followed"),
    Method("is no subcommand{}{}{}; see cistern {}--help", "test_help_of_what_is_mistyped"),
    Method("a password is not taken from the command line", "test_a_password_in_a_file"),
    Method(": chmod 600 ", "test_a_password_that_others_can_read"),
    Method("; these are backups: cistern restore --from {}", "test_a_directory_of_backups"),
    Method(", cistern create --store {} --schema FILE.cql", "test_where_there_is_no_store"),
    Method("cannot write rejected lines to {}: {}; name", "test_a_reject_file_that_cannot_be"),
    Method("files of that name have other headers", "test_reject_files_with_other_headers"),
    Method("`iconv -t UTF-8` makes UTF-8 of others", "test_an_encoding_that_is_not_known"),
    Method("--keyspace is for tables that were declared", "test_a_keyspace_that_nothing_needs"),
    Method("it begins or ends with a blank, and blanks", "test_a_pattern_with_a_blank"),
    Method(" is empty; leave it out", "test_an_empty_setting"),
    Method("{} {}; leave it out", "test_what_is_useless_is_left_out"),
    Method("AlterTable (cistern alter) changes a table", "test_a_table_that_is_there_and_differs"),
    Method("USE is not needed: leave it out", "test_statements_that_are_not_needed"),
    Method("CREATE KEYSPACE is not needed: leave it out", "test_statements_that_are_not_needed"),
    Method("a timeuuid has its own unit; leave", "test_a_unit_of_a_timeuuid"),
    Method("such a column, leave it out here", "test_a_list_that_is_not_frozen"),
    Method("' needs timestamps = event in the comment",
           "test_a_static_column_without_timestamps_of_events"),
    Method("(ListBackups in the library) shows those", "test_a_backup_that_is_not_there"),
]

CLI_TEST = "tests/tools/cli_test.py"
SYNC_TEST = "tests/tools/cli_sync_test.py"
SCHEMA_TEST = "tests/tools/cli_schema_test.py"
CLUSTER_TEST = "tests/tools/advice_cluster_test.py"
BACKUP_TEST = "tests/tools/cli_backup_test.py"
CLOCK_TEST = "tests/tools/cli_clock_test.py"
DAMAGE_TEST = "tests/tools/cli_damage_test.py"
ELSEWHERE = [
    *(Elsewhere(literal, SYNC_TEST, words) for literal, words in (
        ("{} more are parked: `cistern sync status`", "are parked: `cistern (sync status)`"),
        ("`cistern sync retry` lets parked ones be sent again", '"retry"'),
        ("what is left waits for a person, see `cistern sync status`", 'self.outbox("status"'),
        ("; grant this user MODIFY on the table", "grant this user MODIFY"),
        ("; `cistern sync status` names them", 'self.outbox("status"'))),
    *(Elsewhere(literal, SYNC_TEST, words) for literal, words in (
        ("Agree that nobody sees these values there", "--accept-hidden\", drop)"),
        ("have the rows read back (`cistern sync --proof rows`)", '"rows", expect=7'),
        (" us: let it wait again by `cistern sync retry`, then agree",
         "(sync --accept-hidden [^`]+)"))),
    *(Elsewhere(literal, CLI_TEST, '("verify", "--store"') for literal in (
        "that the outbox does not name", "; `cistern verify` tells more")),
    *(Elsewhere(literal, CLUSTER_TEST, words) for literal, words in (
        (", by --keyspace NAME, or keyspace in the file", "by (--keyspace NAME), or"),
        ("(--keyspace-replication), or create it", "(--keyspace-replication), or create it"),
        ("alter the table here too (`cistern alter`)", "alter the table here too"),
        ("The rows of a bucket would overwrite one another's: use", "overwrite one another's: {AN"),
        ("Columns cannot become static: use another name here", "become static: {ANOTHER}"),
        ("as it was only: use another name here", "as it was only: {ANOTHER}"),
        ("add one of another name (`cistern alter`)", "add one of another name (`cistern alter`)"),
        ("otherwise use another name here", "otherwise use another name here"),
        ("`cistern schema apply` alters it", '"default_ttl"'),
        ("`cistern schema apply` writes it", '"rule_missing"'),
        ("`cistern schema apply` tells the cluster", "schema apply` tells the cluster"),
        ("`cistern schema apply` creates it", '"table_missing"'),
        ("`cistern schema apply` adds it", '"column_missing"'))),
    *(Elsewhere(literal, SCHEMA_TEST, words) for literal, words in (
        ("look at more by --partitions {}, or ask", "look at more by (--partitions"),
        ("nothing was altered; --table T applies one", '"--table"'),
        ("of tables that differ, see `cistern schema diff`", '"diff"'),
        ("; `cistern schema diff` compares it with", '"diff"'))),
    *(Elsewhere(literal, "tests/engine/cql/transport_tls_test.cc", words) for literal, words in (
        ("; name a file with the cluster's authority", "ca_file"),
        ("; name a file of them (ca_file, --ca)", "ca_file"),
        ("give certificate_file and key_file (cistern", "certificate_file"),
        (": give both files", "certificate_file"),
        (": add that", "ca_file"),
        ("check certificate_file (cistern --client-cert)", "certificate_file"))),
    *(Elsewhere(literal, CLOCK_TEST, words) for literal, words in (
        ("confirm it (cistern clock --confirm", '"--confirm"'),
        ("it is confirmed (a synchronised system clock", '"--confirm"'),
        ("see what cistern clock (Engine::GetClock) says", '"clock"'),
        ("until it is: see what cistern clock says", '"clock"'),
        ("so it goes when room is short (cistern clock)", '"clock"'))),
    *(Elsewhere(literal, "tests/tools/cli_aggregate_test.py", '"--memory-budget", "8MiB"')
      for literal in ("needs more than the memory budget leaves: raise",
                      "memory_budget_bytes: raise it (cistern --memory-budget)",
                      "close cursors, or raise memory_budget_bytes (cistern")),
    Elsewhere("(cistern --disk-budget), or let windows go", "tests/tools/cli_engine_option_test.py",
              "raise disk_budget_bytes (cistern --disk-budget)"),
    Elsewhere("call Engine::Seal, or cistern seal", "tests/tools/cli_windows_test.py", '"seal"'),
    *(Elsewhere(literal, DAMAGE_TEST, 'told_command(told, "salvage")')
      for literal in ("; `cistern salvage --store ", " --to NEW` (Salvage in the library) reads")),
    *(Elsewhere(literal, DAMAGE_TEST, 'told_command(told, "backup")')
      for literal in (": `cistern backup --store ", " --to BACKUPS` does that and changes")),
    *(Elsewhere(literal, DAMAGE_TEST, '"are quarantined; put the files back from a backup')
      for literal in (", or save what is left by `cistern salvage",
                      " --to NEW`. Where these rows do not matter")),
    Elsewhere(", or what is left of this one by damaged_too", BACKUP_TEST,
              "what is left of this one by damaged_too"),
    Elsewhere("raise the limit of open files (ulimit -n)", "tests/tools/cli_message_test.py",
              "(limit, limit)"),
    Elsewhere("run as the owner of the store, as `ls -ld ", "tests/tools/cli_message_test.py",
              "run as the owner of the "),
    Elsewhere("is this user's, and closed to it: `chmod u+", "tests/tools/cli_message_test.py",
              "`(chmod .+)`"),
    Elsewhere("` names where, and `mount -o remount,rw` of that takes", CLI_TEST,
              "`findmnt -T "),
    Elsewhere("the file system has no inode left", "tests/storage/small_parts_test.cc",
              "no inode left"),
]

NO_ADVICE = [NoAdvice(literal) for literal in (
    "--from must be before --to", "--from {} is later than --to {}", "--from {} is not before --to",
    "that --ignore leaves out", "--all-entities gives none", "stopped after --limit {}",
    "that --measurement asks for", "says that a comma stands before decimals", "of --time-start",
    "it looks like seconds: --time-unit s",  # of units coarser than seconds, which there are none
    "its first line is not 'cistern store'",
    "(nodetool describecluster)",  # where to look, and no cure
)]
# First lines of files.
NO_ADVICE += [NoAdvice(literal, True) for literal in (
    "cistern backup", "cistern backups", "cistern catalog\n", "cistern restored\nformat 1\n",
    "cistern store",
    " --entity ")]  # a part of the advice beside it

TABLE = [*INGEST, *COMMANDS, *METHODS, *ELSEWHERE, *NO_ADVICE]
