#!/usr/bin/env python3
"""Faults at many points of a push to a real server, `kill -9` of either side first among them.

At each point a copy of the same store is sent to an empty keyspace through fault_proxy.py, the
fault comes at a chosen frame, and a sync afterwards must end with 0. Then the cluster has to hold,
row by row with write times and expiries, what an undisturbed sync leaves and what the model of
the workload says, and the counters of the store have to add up.

  kill_points_test.py                     all points
  CISTERN_KILL_POINTS=20 kill_points_test.py
  kill_points_test.py reset_at_request ...

Environment: CISTERN_BIN; the tool of the build directory unless set.
"""

import concurrent.futures
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
import cluster as clusters  # noqa: E402
from fault_proxy import Act, Fault, FaultProxy  # noqa: E402
from kill_bench import AUTH_VALIDITY_MS, BINARY, KILLED, Bench, Case, Site  # noqa: E402
from kill_workload import TABLES, LongSeal, Workload  # noqa: E402

WORKERS = 4           # points that leave the server alone go side by side
OVERLOAD_RATE = 40    # requests a second
HASTE = {"bandwidth": "4MiB/s"}
LONG_PACE = HASTE | {"batch_rows": "100", "batch_bytes": "64KiB", "in_flight": "1MiB"}
LONG_BATCHES = 120    # about, of 64 KiB
LONG_BATCH = 100      # one behind the 4 MiB at which a position is made durable
HELD = 7              # exit codes
HELD = 7
AWAY = 8
POINTS = []           # the server goes on all the time
SERVER_POINTS = []    # all have one kill of the server
OVERLOAD_POINTS = []  # the server refuses many requests


def point(function):
    POINTS.append(function)
    return function


def needs(**options):
    """Of the point's Site."""
    def note(function):
        function.site_options = options
        return function
    return note


# --- kill -9 of the sync process


def kill_at(name, side, part, after):
    def run(case):
        case.killed(side, "BATCH", case.batch(part), after)
    run.__name__ = name
    return point(run)


for place, at in (("first", 0), ("middle", 0.5), ("last", 1)):
    kill_at(f"kill_before_{place}_batch", "request", at, False)
    kill_at(f"kill_after_{place}_batch", "request", at, True)
    kill_at(f"kill_before_{place}_answer", "reply", at, False)
    kill_at(f"kill_after_{place}_answer", "reply", at, True)


@point
def kill_before_startup(case):
    case.killed("request", "STARTUP", 1)


@point
def kill_before_password(case):
    case.killed("request", "AUTH_RESPONSE", 1)


@point
def kill_when_schema_is_read(case):
    case.killed("reply", "QUERY", 4)


@point
def kill_when_prepared(case):
    case.killed("reply", "PREPARE", 1, after=True)


@point
def kill_without_compression(case):
    case.killed("reply", "BATCH", case.batch(0.3), plain=True)


@point
def kill_while_held(case):
    """Much is answered, nothing is confirmed."""
    case.killed("reply", "BATCH", case.batch(0.5), after=True, hold="30s")


@point
@needs(is_long=True)
def kill_in_long_seal(case):
    """The next sync goes on behind what was made durable."""
    case.push(Fault("reply", "BATCH", LONG_BATCH, after=case.kill), expect=KILLED, **LONG_PACE)
    begun_again = case.site.finish(**LONG_PACE)
    if not LONG_BATCHES - LONG_BATCH <= begun_again < LONG_BATCHES / 2:
        raise AssertionError(f"{begun_again} of about {LONG_BATCHES} batches were sent again")


# --- the link


@point
def reset_at_request(case):
    case.endured(Fault("request", "BATCH", case.batch(0.5), Act.RESET))


@point
def reset_at_answer(case):
    case.endured(Fault("reply", "BATCH", case.batch(0.5), Act.RESET))


@point
def reset_again_and_again(case):
    case.endured(Fault("reply", "STARTUP", 1, Act.RESET),
                 Fault("reply", "AUTH_RESPONSE", 1, Act.RESET),
                 Fault("request", "PREPARE", 1, Act.RESET),
                 Fault("reply", "BATCH", case.batch(0), Act.RESET),
                 Fault("request", "BATCH", case.batch(0.7), Act.RESET))


@point
def truncated_request(case):
    case.endured(Fault("request", "BATCH", case.batch(0.4), Act.TRUNCATE))


@point
def truncated_answer(case):
    case.endured(Fault("reply", "BATCH", case.batch(0.6), Act.TRUNCATE))


@point
def swallowed_answer(case):
    case.endured(Fault("reply", "BATCH", case.batch(0.5), Act.SWALLOW))


@point
def swallowed_request(case):
    case.endured(Fault("request", "BATCH", case.batch(0.5), Act.SWALLOW))


@point
def swallowed_answer_and_kill(case):
    case.killed("reply", "BATCH", case.batch(0.2), after=True, act=Act.SWALLOW)


@point
def black_hole_at_request(case):
    case.endured(Fault("request", "BATCH", case.batch(0.5), Act.BLACK_HOLE))


@point
def black_hole_at_answer(case):
    case.endured(Fault("reply", "BATCH", case.batch(0.5), Act.BLACK_HOLE))


@point
def black_hole_and_kill(case):
    case.killed("request", "BATCH", case.batch(0.8), after=True, act=Act.BLACK_HOLE)


# --- the schema


@point
def column_added(case):
    add = f"ALTER TABLE {case.site.keyspace}.air ADD note text"
    case.endured(Fault("request", "BATCH", case.batch(0.5), before=lambda: case.bench.cql(add)))


@point
def tables_made_anew_before_the_first_row(case):
    def make_anew():
        case.bench.cql(*(f"DROP TABLE {case.site.keyspace}.{table}" for table in
                         ("air", "brief")))
        case.bench.create_tables(case.site.keyspace, TABLES)
    case.endured(Fault("request", "BATCH", 1, before=make_anew))


def send_all_again(case):
    """After the cluster has lost a table: what was confirmed goes once more."""
    case.site.tool("sync", "retry", "--store", case.site.store)
    for table in ("air", "brief"):
        case.site.tool("sync", "resend", "--store", case.site.store, "--table", table,
                       "--from", "2020-01-01", "--to", "2100-01-01")
    case.site.finish()


@point
def table_dropped(case):
    drop = f"DROP TABLE {case.site.keyspace}.air"
    case.push(Fault("request", "BATCH", case.batch(0.5), before=lambda: case.bench.cql(drop)),
              expect=HELD)
    case.bench.create_tables(case.site.keyspace, {"air": TABLES["air"]})
    send_all_again(case)


@point
def column_dropped(case):
    drop = f"ALTER TABLE {case.site.keyspace}.air DROP n"
    case.push(Fault("request", "BATCH", case.batch(0.5), before=lambda: case.bench.cql(drop)),
              expect=HELD)
    # A column that was dropped hides what was written before; so the table is made anew.
    case.bench.cql(f"DROP TABLE {case.site.keyspace}.air")
    case.bench.create_tables(case.site.keyspace, {"air": TABLES["air"]})
    send_all_again(case)


# --- who may


@point
@needs(has_own_user=True)
def password_changed(case):
    """The link breaks after it, the file has the new one: the sync goes on."""
    def change():
        case.site.change_password("second")
        case.site.write_password("second")
    case.endured(Fault("request", "BATCH", case.batch(0.5), Act.RESET, before=change))


@point
@needs(has_own_user=True)
def password_changed_and_not_told(case):
    change = Fault("request", "BATCH", case.batch(0.5), Act.RESET,
                   before=lambda: case.site.change_password("second"))
    case.push(change, expect=AWAY, away_after="2s")
    case.site.write_password("second")
    case.site.finish()


@point
@needs(has_own_user=True)
def permission_revoked(case):
    """The table is held then; it is given back, and the next sync sends the rest."""
    change = "{} MODIFY ON KEYSPACE {} {} {}".format
    keyspace, user = case.site.keyspace, case.site.user
    revoke = Fault("request", "BATCH", case.batch(0.5), before=lambda: case.bench.change_roles(
        change("REVOKE", keyspace, "FROM", user)))
    case.push(revoke, expect=HELD)
    case.bench.change_roles(change("GRANT", keyspace, "TO", user))
    case.site.finish()


# --- the server: killed once while a push stands at each of these


def server_killed(name, side, part, after, kills_sync=False, hold="3s"):
    """hold: a killed server forgets what it acknowledged in the last tenth of a second or so."""
    def run(case):
        reached = {"after" if after else "before": case.reach_kill_of_server(kills_sync)}
        case.push(Fault(side, "BATCH", case.batch(part), **reached),
                  expect=KILLED if kills_sync else 0, hold=hold)
        case.bench.wait_for_server()
        if kills_sync:
            case.site.finish()
        else:
            case.site.check()
    run.__name__ = name
    SERVER_POINTS.append(run)


server_killed("server_killed_before_batch", "request", 0.5, False)
server_killed("server_killed_after_batch", "request", 0.5, True)
server_killed("server_killed_before_answer", "reply", 0.5, False)
server_killed("server_killed_after_answer", "reply", 0.5, True)
server_killed("server_killed_after_first_batch", "request", 0, True)
server_killed("server_killed_after_last_answer", "reply", 1, True)
server_killed("server_killed_while_held", "reply", 0.7, True, hold="20s")


def server_killed_in_long_seal(case):
    case.push(Fault("reply", "BATCH", LONG_BATCH, after=case.reach_kill_of_server(False)),
              expect=0, hold="3s", **LONG_PACE)
    case.bench.wait_for_server()
    case.site.check()


SERVER_POINTS.append(needs(is_long=True)(server_killed_in_long_seal))
server_killed("both_killed_after_batch", "request", 0.3, True, kills_sync=True)
server_killed("both_killed_after_answer", "reply", 0.7, True, kills_sync=True)


# --- a server that takes few requests a second


def overload(function):
    OVERLOAD_POINTS.append(function)
    return function


@overload
def overloaded(case):
    """It is refused again and again, and gets there."""
    case.endured(Fault("reply", "ERROR", 1), Fault("reply", "ERROR", 3), **HASTE)


@overload
def kill_when_refused(case):
    case.killed("reply", "ERROR", 2, **HASTE)


# --- running them


def measure(bench):
    """An undisturbed sync: how many batches it sends, what it leaves; all of it by the proxy."""
    site = Site(bench, "reference")
    node, = bench.cluster.nodes
    around = []

    def look_for_ways_around():
        for client in bench.cql("SELECT port, driver_name FROM system_views.clients"):
            if client["driver_name"] == "Cistern" and client["port"] not in proxy.upstream_ports:
                around.append(client)

    looks = [Fault("reply", "BATCH", number, after=look_for_ways_around) for number in (1, 40)]
    with FaultProxy(node.address, node.port, looks) as proxy:
        code = site.start(proxy.contact).wait()
    if code != 0 or around or proxy.errors or not all(look.happened.is_set() for look in looks):
        raise AssertionError(f"the undisturbed sync ended with {code}; connections that the proxy "
                             f"does not know: {around}; {proxy.errors}\n{site.said()}")
    bench.batch_count = proxy.counts["request", "BATCH"]
    bench.reference = site.check()
    print(f"undisturbed: {bench.batch_count} batches, {dict(proxy.counts)}", flush=True)
    site.close()


def run_point(bench, function):
    """None, or what went wrong."""
    begin = time.monotonic()
    case = None
    try:
        case = Case(Site(bench, function.__name__, **getattr(function, "site_options", {})))
        function(case)
        wrong = None
    except Exception:  # pylint: disable=broad-except
        wrong = traceback.format_exc()
        bench.kill_of_server.abort()  # nobody waits for this one
    finally:
        if case:
            case.site.close()
    print(f"{'FAILED' if wrong else 'ok'}  {function.__name__} "
          f"{time.monotonic() - begin:.1f} s\n{wrong or ''}".rstrip(), flush=True)
    return wrong


def run_points(bench, points, workers, meanwhile=None):
    """All that failed."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results = pool.map(lambda function: run_point(bench, function), points)
        if meanwhile:
            meanwhile()
        return [wrong for wrong in results if wrong]


def run_with_kill_of_server(bench, points):
    """All points side by side; the server is killed when each push stands where it is to be."""
    bench.await_pushes(len(points))
    # The server dies with the thread that starts it, so this one does.
    return run_points(bench, points, len(points),
                      meanwhile=lambda: bench.restart_when_killed(OVERLOAD_RATE))


def chosen(points, names):
    return [function for function in points if function.__name__ in names]


def run(bench, names):
    """All that failed."""
    measure(bench)
    failed = run_points(bench, chosen(POINTS, names), WORKERS)
    killed, overloaded_ones = chosen(SERVER_POINTS, names), chosen(OVERLOAD_POINTS, names)
    if killed:
        failed += run_with_kill_of_server(bench, killed)
    elif overloaded_ones:
        bench.restart_server(OVERLOAD_RATE)
    return failed + run_points(bench, overloaded_ones, len(overloaded_ones) or 1)


def names_to_run(names):
    """Those asked for; otherwise as many as are asked for, spread over all kinds."""
    known = [function.__name__ for function in POINTS + SERVER_POINTS + OVERLOAD_POINTS]
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"there are no points {', '.join(sorted(unknown))}; there are "
                 + ", ".join(known))
    if names:
        return names
    count = int(os.environ.get("CISTERN_KILL_POINTS") or len(known))
    return [known[at * len(known) // count] for at in range(min(count, len(known)))]


def build(workload):
    workload.directory.mkdir()
    workload.build()
    return workload


def main():
    names = names_to_run(sys.argv[1:])
    scratch = Path(tempfile.mkdtemp(prefix="cistern-kill-"))
    try:
        with clusters.running(scratch / "cluster", password=True,
                              auth_validity_ms=AUTH_VALIDITY_MS) as cluster:
            workloads = [build(kind(BINARY, scratch / kind.__name__)) for kind in
                         (LongSeal, Workload)]
            failed = run(Bench(cluster, *workloads, scratch), names)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(names)} points, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
