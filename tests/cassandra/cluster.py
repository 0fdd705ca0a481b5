"""A cluster of one node, or of three on 127.0.0.1 to 127.0.0.3, in a directory.

    D/cluster.json          the options, so that every command finds the cluster by D alone
    D/tls/ca.pem            the authority of the server's certificate (with tls)
    D/secrets/password      of the superuser `cistern` (with password)
    D/node1/cassandra.log   and configuration, data, process.json of each node
"""

import contextlib
import json
import shutil
import ssl
import time
from pathlib import Path

import ports
from cache import SetupError
from certificates import make_authority, make_server_certificate, write_secret
from cql_client import CqlClient, CqlError
from node import Node
from patience import patience_s

# Seen: 5 s, and 450 s where more urgent work had both processors. That a node has ended is seen
# at once.
START_TIMEOUT_S = patience_s(900)
STOP_TIMEOUT_S = patience_s(300)
PROBE_TIMEOUT_S = patience_s(30)
POLL_S = 0.1
USER = "cistern"
FIRST_USER = "cassandra"  # what every Cassandra begins with, password and all
COMPATIBILITY_MODES = ("none", "cassandra_4")
# All replicas must answer: one read tells that a node knows every other as alive.
READ_OF_ALL = ("SELECT view_name FROM system_distributed.view_build_status "
               "WHERE keyspace_name = 'none' AND view_name = 'none'")


def deadline_of_start():
    return time.monotonic() + START_TIMEOUT_S


def default_options():
    return {"nodes": 1, "port": None, "password": False, "tls": False, "compatibility": "none",
            "rate_limit": None, "heap_mib": 512, "optimize": False,
            # How long a node believes what it has read of roles, with password. 0: it reads some of
            # it again for each statement of a batch.
            "auth_validity_ms": 0}


class Cluster:
    """The cluster in `directory`, made by create() or found there."""

    def __init__(self, directory, tied=False):
        """tied: nodes that this object starts die with this process, whatever becomes of it."""
        self.directory = Path(directory).resolve()
        self.tied = tied
        try:
            text = (self.directory / "cluster.json").read_text(encoding="utf-8")
        except OSError:
            raise SetupError(f"{directory} holds no cluster; `server start --dir {directory}` "
                             "makes one") from None
        self.options = json.loads(text)
        self.nodes = [Node(self.directory, number, self.options)
                      for number in range(1, self.options["nodes"] + 1)]

    @classmethod
    def create(cls, directory, tied=False, **options):
        """Lays the directory out: options, ports, certificates, passwords. Starts nothing."""
        directory = Path(directory)
        if (directory / "cluster.json").exists():
            raise SetupError(f"{directory} holds a cluster already; "
                             f"`server restart --dir {directory}` starts it again")
        options = default_options() | options
        if options["nodes"] not in (1, 3) or options["compatibility"] not in COMPATIBILITY_MODES:
            raise SetupError("a cluster has 1 or 3 nodes; its compatibility is one of "
                             + ", ".join(COMPATIBILITY_MODES))
        directory.mkdir(parents=True, exist_ok=True)
        addresses = [f"127.0.0.{number}" for number in range(1, options["nodes"] + 1)]
        options["port"], options["storage_port"] = ports.reserve(
            directory, addresses, count=2, wanted=options["port"])
        if options["tls"]:
            (directory / "tls").mkdir()
            make_authority(directory / "tls")
            make_server_certificate(directory / "tls")
        if options["password"]:
            (directory / "secrets").mkdir(mode=0o700)
            write_secret(directory / "secrets" / "password")
        (directory / "cluster.json").write_text(json.dumps(options, indent=1), encoding="utf-8")
        return cls(directory, tied)

    # --- what clients need

    @property
    def contact(self):
        """HOST:PORT of each node, with commas between."""
        return ",".join(f"{node.address}:{node.port}" for node in self.nodes)

    @property
    def ca(self):
        return self.directory / "tls" / "ca.pem" if self.options["tls"] else None

    @property
    def password_file(self):
        return self.directory / "secrets" / "password" if self.options["password"] else None

    def environment(self):
        """What a test finds in its environment."""
        variables = {"CISTERN_CASSANDRA_CONTACT": self.contact,
                     "CISTERN_CASSANDRA_DIR": str(self.directory)}
        pid = self.nodes[0].process.pid()
        if pid is not None:
            variables["CISTERN_CASSANDRA_PID"] = str(pid)
        if self.ca is not None:
            variables["CISTERN_CASSANDRA_CA"] = str(self.ca)
        if self.password_file is not None:
            variables["CISTERN_CASSANDRA_USER"] = USER
            variables["CISTERN_CASSANDRA_PASSWORD_FILE"] = str(self.password_file)
        return variables

    def connect(self, number=1, **arguments):
        """A CqlClient of the node, with the superuser's password unless told otherwise."""
        node = self.nodes[number - 1]
        if self.password_file is not None and "user" not in arguments:
            arguments["user"] = USER
            arguments["password"] = self.password_file.read_text(encoding="utf-8").strip()
        return CqlClient(node.address, node.port, **({"ca": self.ca} | arguments))

    # --- life and death

    def start(self):
        """Starts all nodes that do not run and waits until they are ready.

        The first start makes the superuser. What was started is killed again when it fails.
        """
        started = []
        try:
            first, *others = self.nodes
            self._start_node(first, started)
            # The others ask the first, their seed, for the ring.
            for node in others:
                self._start_node(node, started, ready=False)
            deadline = deadline_of_start()
            for node in others:
                self._wait_ready(node, deadline)
            self._make_superuser(deadline)
            for node in self.nodes:
                self._wait_whole(node, deadline)
        except BaseException:
            for node in started:
                node.kill()
            raise

    def _start_node(self, node, started, ready=True):
        if node.process.pid() is not None:
            return
        started.append(node)
        node.start(self.tied)
        if ready:
            self._wait_ready(node, deadline_of_start())

    def change(self, **options):
        """Other options from the next start on."""
        self.options.update(options)
        (self.directory / "cluster.json").write_text(json.dumps(self.options, indent=1),
                                                     encoding="utf-8")

    def restart(self, number=None):
        """Stops the node, or all, and starts on the same data."""
        self.stop(number)
        if number is None:
            self.start()
        else:
            node = self.nodes[number - 1]
            self._start_node(node, [])
            if all(other.process.state() == "running" for other in self.nodes):
                for other in self.nodes:
                    self._wait_whole(other, deadline_of_start())

    def _chosen(self, number):
        return self.nodes if number is None else [self.nodes[number - 1]]

    def stop(self, number=None):
        """Lets the node, or all, drain and end."""
        for node in self._chosen(number):
            node.ask_to_stop()
        for node in self._chosen(number):
            if not node.process.wait(STOP_TIMEOUT_S):
                node.kill()
                raise SetupError(f"node {node.number} did not end within {STOP_TIMEOUT_S:.0f} s "
                                 f"and was killed; the end of its log:\n{node.log_tail()}")

    def kill(self, number=None):
        for node in self._chosen(number):
            node.kill()

    def send(self, number, signal_number):
        """Sends SIGSTOP or SIGCONT, say."""
        for node in self._chosen(number):
            if not node.process.send(signal_number):
                raise SetupError(f"node {node.number} does not run")

    def remove(self):
        """Kills what runs and deletes the directory."""
        self.kill()
        ports.release(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)

    # --- readiness

    def _poll(self, node, deadline, what, attempt):
        """Repeats attempt() until it gives true; connections may fail meanwhile."""
        last = "no answer yet"
        while time.monotonic() < deadline:
            if node.process.pid() is None:
                raise SetupError(f"node {node.number} ended while it started; the end of "
                                 f"{node.log}:\n{node.log_tail()}")
            try:
                if attempt():
                    return
            except (OSError, ssl.SSLError, CqlError) as error:
                last = str(error)
            time.sleep(POLL_S)
        raise SetupError(f"node {node.number} was not {what} within {START_TIMEOUT_S:.0f} s "
                         f"({last}); the end of {node.log}:\n{node.log_tail()}")

    def wait_schema_agreement(self):
        """Until all nodes that run have the same tables: others refuse rows of a new one."""
        def versions():
            for node in self.nodes:
                if node.process.state() == "running":
                    with self.connect(node.number) as client:
                        row, = client.query("SELECT schema_version FROM system.local")
                        yield row["schema_version"]
        deadline = deadline_of_start()
        self._poll(self.nodes[0], deadline, "of one schema with the others",
                   lambda: len(set(versions())) == 1)

    def _first_connect(self, number):
        """Before the superuser is made there is only the one of every Cassandra."""
        if self.password_file is None or self._superuser_is_made():
            return self.connect(number, timeout_s=PROBE_TIMEOUT_S)
        return self.connect(number, timeout_s=PROBE_TIMEOUT_S, user=FIRST_USER,
                            password=FIRST_USER)

    def _superuser_is_made(self):
        return (self.directory / "secrets" / "made").exists()

    def _wait_ready(self, node, deadline):
        """Until the node speaks CQL and calls itself part of the ring."""
        def attempt():
            # Several nodes have their first user only when a quorum of them is up.
            if self.options["password"] and len(self.nodes) > 1:
                return self._asks_for_password(node)
            with self._first_connect(node.number) as client:
                row, = client.query("SELECT bootstrapped FROM system.local")
                return row["bootstrapped"] == "COMPLETED"
        self._poll(node, deadline, "ready", attempt)

    def _asks_for_password(self, node):
        try:
            self.connect(node.number, timeout_s=PROBE_TIMEOUT_S, user=None).socket.close()
        except CqlError as error:
            return "none was given" in error.message
        return True

    def _make_superuser(self, deadline):
        """Replaces the user that every Cassandra begins with by ours; once."""
        if self.password_file is None or self._superuser_is_made():
            return
        password = self.password_file.read_text(encoding="utf-8").strip()

        def attempt():
            with self._first_connect(1) as client:
                client.query(f"CREATE ROLE IF NOT EXISTS {USER} WITH SUPERUSER = true "
                             f"AND LOGIN = true AND PASSWORD = '{password}'", "QUORUM")
            with self.connect(1, timeout_s=PROBE_TIMEOUT_S) as client:
                client.query(f"ALTER ROLE {FIRST_USER} WITH LOGIN = false "
                             "AND SUPERUSER = false", "QUORUM")
            return True
        self._poll(self.nodes[0], deadline, "given its superuser", attempt)
        (self.directory / "secrets" / "made").touch()

    def _wait_whole(self, node, deadline):
        """Until the node is up and knows all others as alive."""
        def attempt():
            with self.connect(node.number, timeout_s=PROBE_TIMEOUT_S) as client:
                row, = client.query("SELECT bootstrapped FROM system.local")
                if len(self.nodes) > 1:
                    client.query(READ_OF_ALL, "ALL")
                return row["bootstrapped"] == "COMPLETED"
        self._poll(node, deadline, "joined with the others", attempt)


@contextlib.contextmanager
def running(directory, **options):
    """A started cluster for a `with` statement; gone with its directory afterwards."""
    cluster = Cluster.create(directory, tied=True, **options)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()
