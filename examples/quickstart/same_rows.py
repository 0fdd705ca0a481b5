#!/usr/bin/env python3
"""Compares what Cistern holds with what a client reads from Cassandra, both as JSON lines.

  same_rows.py CISTERN CASSANDRA

CISTERN is of `cistern scan --all-entities --json`, CASSANDRA of
tests/cassandra/read_partitions.py. Ends with 0 and one line if every row of one is in the other
with equal values; otherwise with 1 and the first rows that differ.
"""

import json
import sys

SHOWN_MAX = 5
WHOLE_MAX = 2 ** 53  # from here on not every whole number is a double


def plain(value):
    """100.0 as 100: the one writes doubles with a fraction always, the other where there is one."""
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE_MAX:
        return int(value)
    return value


def ours(line):
    return {name: value for name, value in json.loads(line).items() if value is not None}


def theirs(line):
    row = json.loads(line)
    values = {name: cell[0] for name, cell in row["cells"].items()}
    return {**row["partition"], **row["clustering"], **values}


def read(path, parse):
    """The rows in a form that can be compared and printed, each as often as it is there."""
    with open(path, encoding="utf-8") as lines:
        rows = [{name: plain(value) for name, value in parse(line).items()} for line in lines]
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def main():
    here, there = read(sys.argv[1], ours), read(sys.argv[2], theirs)
    if here == there:
        print(f"{len(here)} rows here, {len(there)} in the cluster: every value is equal")
        return 0
    print(f"{len(here)} rows here, {len(there)} in the cluster: they differ")
    for title, some, others in (("only here", here, there), ("only there", there, here)):
        known = set(others)
        for row in [row for row in some if row not in known][:SHOWN_MAX]:
            print(f"  {title}: {row}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
