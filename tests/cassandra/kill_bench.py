"""What every point of kill_points_test.py stands on: a server, a store, the check at the end."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from cluster import USER
from fault_proxy import Act, Fault, FaultProxy
from patience import patience_s

HERE = Path(__file__).resolve().parent
BINARY = Path(os.environ.get("CISTERN_BIN", HERE.parent.parent / "build" / "tools" / "cistern"))
KILLED = -signal.SIGKILL
PASSWORD_PAUSE_S = 5.5  # Cassandra takes a new one of a user in five seconds
AUTH_VALIDITY_MS = 200  # in which the server may go by what was
TIMEOUT_S = patience_s(600)  # of one run of the tool, on a busy machine
# Small batches, some of them in flight at a time: a push is many frames, and at each of them
# something is sent, answered, confirmed and still waiting.
PACE = {"--batch-rows": "25", "--batch-bytes": "4KiB", "--in-flight": "64KiB",
        "--bandwidth": "64KiB/s", "--hold": "0s", "--connect-timeout": "60s",
        "--away-after": "600s"}


class Sync:
    """A run of `cistern sync` that goes on beside us."""

    def __init__(self, words, log):
        self.log = log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output)

    def kill(self):
        """kill -9; it is gone when this returns."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def wait(self):
        return self.process.wait(TIMEOUT_S)


class Bench:
    """A cluster with passwords, and the stores that were built. For several threads."""

    def __init__(self, cluster, long_seal, workload, scratch):
        self.cluster = cluster
        self.long_seal = long_seal
        self.workload = workload
        self.scratch = scratch
        self.reference = {}     # table -> lines of read_partitions.py after an undisturbed sync
        self.batch_count = 0    # that such a sync sends
        self.lock = threading.Lock()  # of statements of ours, which change the schema
        self.kill_of_server = threading.Barrier(1)
        self.server_is_back = threading.Event()

    def cql(self, *statements, **arguments):
        """Rows of the last one, as the superuser unless told otherwise."""
        with self.lock, self.cluster.connect(**arguments) as client:
            return [client.query(statement) for statement in statements][-1]

    def change_roles(self, statement):
        """It counts when this returns."""
        self.cql(statement)
        time.sleep(3 * AUTH_VALIDITY_MS / 1000)

    def create_tables(self, keyspace, tables):
        """tables: the CREATE TABLE texts, by name."""
        for table, text in tables.items():
            text = text.replace(f"TABLE {table} ", f"TABLE {keyspace}.{table} ")
            self.cql(text)

    # --- the server's death

    def await_pushes(self, count):
        """The server is killed once `count` pushes stand where they are to be."""
        self.kill_of_server = threading.Barrier(count, action=self.cluster.kill)
        self.server_is_back.clear()

    def restart_when_killed(self, rate_limit):
        """Returns when the server is back, also if it was never killed."""
        node, = self.cluster.nodes
        while node.process.pid() is not None and not self.kill_of_server.broken:
            time.sleep(0.1)
        self.restart_server(rate_limit)

    def wait_for_server(self):
        if not self.server_is_back.wait(TIMEOUT_S):
            raise AssertionError("the server did not come back")

    def restart_server(self, rate_limit):
        """rate_limit: requests a second that it takes from now on."""
        self.cluster.options["rate_limit"] = rate_limit
        self.cluster.restart()
        self.server_is_back.set()


class Site:
    """A gateway: a copy of a store and a keyspace of its own in the cluster."""

    def __init__(self, bench, name, is_long=False, has_own_user=False):
        """has_own_user: otherwise the superuser's password is used, which is not to be changed."""
        self.bench = bench
        self.workload = bench.long_seal if is_long else bench.workload
        self.keyspace = "p_" + name
        self.directory = bench.scratch / name
        self.directory.mkdir()
        self.store = self.directory / "store"
        shutil.copytree(self.workload.store, self.store)
        self.log = self.directory / "sync.log"
        self.user = USER
        self.password_file = bench.cluster.password_file
        self.runs = []
        bench.cql(f"CREATE KEYSPACE {self.keyspace} WITH replication = "
                  "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        bench.create_tables(self.keyspace, self.workload.tables)
        if has_own_user:
            self._create_user("u_" + name)

    def _create_user(self, name):
        self.user = name
        self.password_file = self.directory / "password"
        self.write_password("first")
        self.bench.cql(f"CREATE ROLE {name} WITH LOGIN = true AND PASSWORD = 'first'",
                       f"GRANT SELECT ON KEYSPACE {self.keyspace} TO {name}",
                       f"GRANT MODIFY ON KEYSPACE {self.keyspace} TO {name}")
        self.password_set_s = time.monotonic()

    def change_password(self, password):
        """In the cluster alone."""
        time.sleep(max(0, self.password_set_s + PASSWORD_PAUSE_S - time.monotonic()))
        self.bench.change_roles(f"ALTER ROLE {self.user} WITH PASSWORD = '{password}'")

    def write_password(self, password):
        with open(self.password_file, "w", encoding="utf-8",
                  opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(password + "\n")

    # --- the tool

    def start(self, contact, **pace):
        """A sync through `contact`; `pace` replaces options of PACE: hold="1s"."""
        options = PACE | {"--" + name.replace("_", "-"): text for name, text in pace.items()}
        words = [str(BINARY), "sync", "--store", str(self.store), "--contact", contact,
                 "--keyspace", self.keyspace, "--user", self.user,
                 "--password-file", str(self.password_file), "--allow-cleartext-password",
                 "--no-seal", "--quiet", *(word for pair in options.items() for word in pair)]
        run = Sync(words, self.log)
        self.runs.append(run)
        return run

    def tool(self, *words, expect=0):
        done = subprocess.run([str(BINARY), *map(str, words)], capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S)
        if done.returncode != expect:
            raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    # --- the end

    def finish(self, **pace):
        """Syncs to the end and checks that all is there and counted: how many batches it took."""
        node, = self.bench.cluster.nodes
        with FaultProxy(node.address, node.port) as proxy:
            code = self.start(proxy.contact, **pace).wait()
        if code != 0:
            raise AssertionError(f"the last sync ended with {code}:\n{self.said()}")
        self.check()
        return proxy.counts["request", "BATCH"]

    def check(self):
        lines = {table: self.read(table) for table in self.workload.tables}
        wrong = []
        for table, found in lines.items():
            wrong += self.workload.differences(table, found)
            if found != self.bench.reference.get(table, found):
                wrong.append(f"{table}: not to the byte what an undisturbed sync leaves")
        wrong += self.counter_differences()
        if wrong:
            raise AssertionError("\n".join(wrong) + f"\nsync said:\n{self.said()}")
        return lines

    def read(self, table):
        cluster = self.bench.cluster
        done = subprocess.run(
            [str(HERE / "read_partitions.py"), "--table", f"{self.keyspace}.{table}",
             "--now", str(self.workload.now_s)],
            capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
            env={**os.environ, **cluster.environment(), "CISTERN_CASSANDRA_USER": USER})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def counter_differences(self):
        """All is confirmed, and the counters of the store add up."""
        stats = json.loads(self.tool("stats", "--store", self.store, "--json"))
        status = json.loads(self.tool("sync", "status", "--store", self.store, "--json"))
        count = {name: stats["versions_" + name] for name in
                 ("written", "open", "sealed", "waiting", "parked", "confirmed", "superseded",
                  "expired", "shed", "quarantined")}
        held = [count[name] for name in
                ("open", "sealed", "superseded", "expired", "shed", "quarantined")]
        must_be = {
            "written is the sum": count["written"] == sum(held),
            "all sealed ones are confirmed": count["confirmed"] == count["sealed"] > 0,
            "nothing waits": count["waiting"] == count["parked"] == 0,
            "open ones stay": count["open"] == self.workload.open_count,
            "nothing is lost": count["shed"] == count["quarantined"] == 0,
            "status says so": status["versions_confirmed"] == count["confirmed"]
                              and status["seals_waiting"] == status["seals_parked"] == 0
                              and status["oldest_unconfirmed_end"] is None,
        }
        return [f"counters: not so: {what}: {count} {status}"
                for what, holds in must_be.items() if not holds]

    def close(self):
        for run in self.runs:
            if run.process.poll() is None:
                run.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Case:
    """One point: its site, its proxy, and the sync that is to meet the fault."""

    def __init__(self, site):
        self.bench = site.bench
        self.site = site
        self.proxy = None
        self.sync = None
        self.started = threading.Event()  # `sync` is set

    def kill(self):
        self.started.wait()
        self.sync.kill()

    def batch(self, part):
        """The number of the batch at this part of the push: 0 the first, 1 the last."""
        return 1 + round(part * (self.bench.batch_count - 1))

    def push(self, *faults, expect, plain=False, **pace):
        """A sync through the proxy; every fault must have come, and the end be as expected."""
        node, = self.bench.cluster.nodes
        self.proxy = FaultProxy(node.address, node.port, faults, plain)
        with self.proxy:
            self.sync = self.site.start(self.proxy.contact, **pace)
            self.started.set()
            code = self.sync.wait()
        missed = [str(fault) for fault in faults if not fault.happened.is_set()]
        if code != expect or missed or self.proxy.errors:
            raise AssertionError(f"sync ended with {code}, not {expect}; not reached: {missed}; "
                                 f"{self.proxy.errors}; {self.proxy.counts}\n{self.site.said()}")

    def reach_kill_of_server(self, kills_sync):
        """What a fault calls: waits until all pushes stand, and the server is gone."""
        def reach():
            self.bench.kill_of_server.wait(TIMEOUT_S)
            if kills_sync:
                self.kill()
        return reach

    def killed(self, side, kind, number, after=False, act=Act.PASS, **options):
        """kill -9 before or after the frame, then a sync to the end; its batches."""
        when = {"after" if after else "before": self.kill}
        self.push(Fault(side, kind, number, act, **when), expect=KILLED, **options)
        return self.site.finish()

    def endured(self, *faults, **options):
        """The sync that meets the faults ends with 0 by itself."""
        self.push(*faults, expect=0, **options)
        self.site.check()
