"""What a table must hold after a series of writes, by Cassandra's rules, as plain Python.

Every write comes later than those before it, so the newest one wins, cell by cell; a row is there
as long as its marker or one of its cells lives; what has expired shadows what is older.

A value is what read_partitions.py prints of it, numbers as texts.
"""

import contextlib
import time
from typing import NamedTuple


class Write(NamedTuple):
    """One write of a cell, or of a row's marker."""
    value: object        # None: a deletion
    span_us: tuple       # it was written somewhere in it
    ttl_s: int | None

    def lives(self, now_s):
        if self.value is None or self.ttl_s is None:
            return self.value is not None
        first, last = (moment // 1_000_000 + self.ttl_s for moment in self.span_us)
        assert not first <= now_s < last, f"whether it lives at {now_s} cannot be told: {self}"
        return now_s < first


class ModelRow:
    def __init__(self):
        self.marker = None
        self.cells = {}

    def living_cells(self, now_s):
        return {name: cell for name, cell in self.cells.items() if cell.lives(now_s)}

    def lives(self, now_s):
        marker = self.marker is not None and self.marker.lives(now_s)
        return marker or bool(self.living_cells(now_s))


class Model:
    """Rows by partition and clustering key. `partition_of(entity, key)` gives the partition key's
    values, `sort_key(key)` what the rows of a partition are sorted by."""

    def __init__(self, partition_of, sort_key=lambda key: key):
        self.partition_of = partition_of
        self.sort_key = sort_key
        self.rows = {}  # (entity, key) -> ModelRow

    def put(self, entity, key, cells, span_us, ttl_s=None):
        """cells: name -> value; None deletes the cell."""
        row = self.rows.setdefault((entity, key), ModelRow())
        row.marker = Write(True, span_us, ttl_s)
        for name, value in cells.items():
            row.cells[name] = Write(value, span_us, ttl_s)

    def delete(self, is_deleted):
        """All rows for which is_deleted(entity, key)."""
        self.rows = {place: row for place, row in self.rows.items() if not is_deleted(*place)}

    def partitions(self, now_s):
        """partition -> [(key, living cells)] in clustering order."""
        found = {}
        for (entity, key), row in self.rows.items():
            if row.lives(now_s):
                found.setdefault(self.partition_of(entity, key), []).append(
                    (key, row.living_cells(now_s)))
        for rows in found.values():
            rows.sort(key=lambda row: self.sort_key(row[0]))
        return found

    def check(self, read, now_s, late_s=0):
        """Compares with rows that were read at `now_s`. How many there are.

        late_s: how much later than written an expiry may be, and one second earlier.
        """
        expected = self.partitions(now_s)
        got = {}
        last = None
        for row in read:
            partition = tuple(row["partition"].values())
            assert partition == last or partition not in got, f"in two pieces: {partition}"
            got.setdefault(partition, []).append((tuple(row["clustering"].values()), row["cells"]))
            last = partition
        different = sorted(map(str, set(got) ^ set(expected)))
        assert not different, f"partitions: {different[:10]}"
        count = 0
        for partition, rows in expected.items():
            assert [row[0] for row in got[partition]] == [row[0] for row in rows], partition
            for (key, cells), (_, there) in zip(rows, got[partition]):
                check_cells((partition, key), cells, there, now_s, late_s)
                count += 1
        return count


def check_cells(place, cells, there, now_s, late_s):
    values = {name: cell[0] for name, cell in there.items()}
    assert values == {name: cell.value for name, cell in cells.items()}, \
        f"{place}\nread:    {values}\nwritten: {cells}"
    for name, cell in cells.items():
        _, writetime, ttl = there[name]
        assert cell.span_us[0] <= int(writetime) <= cell.span_us[1], (place, name, cell, there)
        if cell.ttl_s is None:
            assert ttl is None, (place, name, cell, there)
            continue
        late = int(ttl) - (int(writetime) // 1_000_000 + cell.ttl_s - now_s)
        assert late == 0 or late_s and -1 <= late <= late_s, (place, name, late, cell, there)


@contextlib.contextmanager
def timed(span):
    """Adds the beginning and the end of the block, in microseconds since 1970, to the list."""
    span.append(time.time_ns() // 1000)
    yield
    span.append(time.time_ns() // 1000)
