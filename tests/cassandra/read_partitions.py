#!/usr/bin/env python3
"""Prints what a table holds, as the Python driver sees it: one JSON line for each row.

  read_partitions.py --table KEYSPACE.TABLE [--table ...] [--key JSON] [--now SECONDS] [--list]

  {"partition": {"entity": "gw-1", "day": "2024-01-15"},
   "clustering": {"ts": "2024-01-15T14:05:30.123Z"},
   "cells": {"temp": [21.5, 1705327530123000, 86400]}}       (in one line)

A cell is [value, writetime in microseconds, ttl in seconds or null]; cells that are absent are left
out. Of a collection that is not frozen the last two are null, as each element has its own. Values
have the form of `cistern scan --json` (literals.py). Partitions come in the order of their
tokens, rows in the clustering order of the table. Of several tables each line begins with "table".
One `now` holds for the whole read: the server finds rows expired, and counts every ttl, as of that
second. A printed "partition" can be given back as --key.

The server is named by --contact, --ca, --user and --password-file, or by the environment that
`server with` gives.
"""

import argparse
import io
import json
import os
import ssl
import struct
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from cache import SetupError  # noqa: E402
from driver import driver_python  # noqa: E402
from literals import cql, literal  # noqa: E402
from patience import patience_s  # noqa: E402

INSIDE = "CISTERN_READ_PARTITIONS_INSIDE"  # set where this program runs in the driver's Python
PROTOCOL_VERSION = 5         # the first with now_in_seconds
NOW_FLAG = 0x100
PAGE_ROWS = 5000
TIMEOUT_S = patience_s(300)  # of one page; the machine may be busy


def run_in_driver_python():
    """Begins again in a Python that has the driver; returns where that is so already."""
    if os.environ.get(INSIDE) != "1":
        python = driver_python()
        os.execve(python, [python, *sys.argv], {**os.environ, INSIDE: "1"})


def adapt_driver(now_s):
    """Three things that the driver cannot be told by its options."""
    from cassandra import cqltypes, protocol

    # Milliseconds, not datetime, which ends at the year 9999 and rounds.
    cqltypes.DateType.deserialize = staticmethod(lambda raw, _: struct.unpack(">q", raw)[0])
    # Elements in the server's order, not sorted again.
    cqltypes.SetType.adapter = list
    # now_in_seconds stands last among the query parameters; the driver never sends it.
    write_parameters = protocol._QueryMessage._write_query_params

    def write_with_now(message, file, protocol_version):
        plain = io.BytesIO()
        write_parameters(message, plain, protocol_version)
        parameters = plain.getvalue()
        if protocol_version >= PROTOCOL_VERSION:
            flags, = struct.unpack_from(">I", parameters, 2)  # after the consistency
            parameters = (parameters[:2] + struct.pack(">I", flags | NOW_FLAG) + parameters[6:]
                          + struct.pack(">i", now_s))
        file.write(parameters)

    protocol._QueryMessage._write_query_params = write_with_now


def connect(arguments):
    """(Cluster, Session) of the driver."""
    from cassandra import ConsistencyLevel
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import RoundRobinPolicy
    from cassandra.query import tuple_factory

    hosts = [contact.rsplit(":", 1) for contact in arguments.contact.split(",")]
    options = {}
    if arguments.user:
        password = Path(arguments.password_file).read_text(encoding="utf-8").strip()
        options["auth_provider"] = PlainTextAuthProvider(arguments.user, password)
    if arguments.ca:
        options["ssl_context"] = ssl.create_default_context(cafile=arguments.ca)
    profile = ExecutionProfile(
        load_balancing_policy=RoundRobinPolicy(), row_factory=tuple_factory,
        consistency_level=ConsistencyLevel.name_to_value[arguments.consistency],
        request_timeout=TIMEOUT_S)
    cluster = Cluster([host for host, _ in hosts], port=int(hosts[0][1]),
                      protocol_version=PROTOCOL_VERSION, connect_timeout=TIMEOUT_S,
                      control_connection_timeout=TIMEOUT_S,
                      execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **options)
    return cluster, cluster.connect()


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Table:
    """What a SELECT of every cell of a table is made of."""

    def __init__(self, cluster, name):
        keyspace, _, table = name.partition(".")
        try:
            self.metadata = cluster.metadata.keyspaces[keyspace].tables[table]
        except KeyError:
            raise SetupError(f"there is no table {name}") from None
        self.name = f"{quoted(keyspace)}.{quoted(table)}"
        self.partition = [column.name for column in self.metadata.partition_key]
        self.clustering = [column.name for column in self.metadata.clustering_key]
        keys = {*self.partition, *self.clustering}
        self.cells = [name for name in self.metadata.columns if name not in keys]
        self.multicell = {name for name in self.cells if self.metadata.columns[name].cql_type
                          .startswith(("list<", "set<", "map<"))}

    def select(self, key, only_partitions):
        names = [quoted(name) for name in self.partition]
        if only_partitions:
            return f"SELECT DISTINCT {', '.join(names)} FROM {self.name}"
        names += [quoted(name) for name in self.clustering]
        for name in self.cells:
            names.append(quoted(name))
            if name not in self.multicell:
                names += [f"writetime({quoted(name)})", f"ttl({quoted(name)})"]
        where = ""
        if key is not None:
            if key.keys() != set(self.partition):
                raise SetupError(f"--key names {', '.join(key)}; the partition key of {self.name} "
                                 f"is {', '.join(self.partition)}")
            where = " WHERE " + " AND ".join(
                f"{quoted(name)} = {cql(value, self.metadata.columns[name].cql_type)}"
                for name, value in key.items())
        return f"SELECT {', '.join(names)} FROM {self.name}{where}"

    def printed(self, row, types):
        """A row of select() as what stands in its JSON line."""
        values = [literal(value, kind) for value, kind in zip(row, types)]
        clustering_at = len(self.partition)
        at = clustering_at + len(self.clustering)
        line = {"partition": dict(zip(self.partition, values))}
        if len(values) == clustering_at:
            return line
        line["clustering"] = dict(zip(self.clustering, values[clustering_at:]))
        line["cells"] = {}
        for name in self.cells:
            width = 1 if name in self.multicell else 3
            cell = (values[at:at + width] + [None, None])[:3]
            at += width
            if cell[0] is not None:
                line["cells"][name] = cell
        return line


def print_rows(arguments, now_s):
    adapt_driver(now_s)
    cluster, session = connect(arguments)
    try:
        for name in arguments.table:
            print_table(session, Table(cluster, name), arguments,
                        {"table": name} if len(arguments.table) > 1 else {})
    finally:
        cluster.shutdown()


def print_table(session, table, arguments, head):
    """head: what each line begins with."""
    from cassandra.query import SimpleStatement

    key = None if arguments.key is None else json.loads(arguments.key)
    statement = SimpleStatement(table.select(key, arguments.list), fetch_size=PAGE_ROWS)
    result = session.execute(statement)
    for row in result:
        print(json.dumps(head | table.printed(row, result.column_types), ensure_ascii=False))


def parse(words):
    def environment(name):
        return os.environ.get("CISTERN_CASSANDRA_" + name)

    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", required=True, action="append", metavar="KEYSPACE.TABLE",
                        help="repeatable")
    parser.add_argument("--key", metavar="JSON", help="the one partition to read; default: all")
    parser.add_argument("--now", type=int, metavar="SECONDS", help="since 1970; default: the clock")
    parser.add_argument("--list", action="store_true", help="only the keys of the partitions")
    parser.add_argument("--consistency", default="QUORUM")
    parser.add_argument("--contact", default=environment("CONTACT"), metavar="HOST:PORT,...")
    parser.add_argument("--ca", default=environment("CA"), metavar="FILE")
    parser.add_argument("--user", default=environment("USER"))
    parser.add_argument("--password-file", default=environment("PASSWORD_FILE"), metavar="FILE")
    arguments = parser.parse_args(words)
    if not arguments.contact:
        parser.error("--contact is missing, and so is CISTERN_CASSANDRA_CONTACT")
    return arguments


def main():
    arguments = parse(sys.argv[1:])
    try:
        run_in_driver_python()
        print_rows(arguments, int(time.time()) if arguments.now is None else arguments.now)
    except BrokenPipeError:
        sys.stderr.close()  # who reads has seen enough
        return 0
    except (SetupError, OSError, ValueError) as error:
        print(f"read_partitions: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
