"""Tables as clusters have them, without a word of Cistern in their comments, and their rows.

Buckets come from Python's own calendar. Of each bucket the first and the last millisecond have a
row, so that no narrower rule fits; the buckets are drawn at random, so that no wider one does.
"""

import datetime
import random
import uuid
from typing import Callable, NamedTuple, Union

DAY = datetime.timedelta(days=1)
MS = datetime.timedelta(milliseconds=1)
EPOCH = datetime.datetime(1970, 1, 1)
MONDAY = datetime.datetime(1969, 12, 29)
BUCKETS = 12


class Fixed(NamedTuple):
    """Buckets of one width, counted from an instant."""

    width: datetime.timedelta
    anchor: datetime.datetime = EPOCH

    def start(self, time):
        return self.anchor + (time - self.anchor) // self.width * self.width

    def end(self, start):
        return start + self.width


class Months(NamedTuple):
    """Buckets of 1 or 12 months."""

    count: int

    def start(self, time):
        return datetime.datetime(time.year, time.month if self.count == 1 else 1, 1)

    def end(self, start):
        return self.start(start + 32 * self.count * DAY)


def ms(time):
    return (time - EPOCH) // MS


def quoted(form):
    return lambda start: f"'{start.strftime(form)}'"


def timeuuid(time):
    """Version 1, with the last bits of no machine."""
    ticks = ms(time) * 10_000 + 0x01B21DD213814000
    return uuid.UUID(fields=(ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 | 0x1000, 0x80,
                             1, 2))


class Shape(NamedTuple):
    name: str
    bucket: str              # "day date"
    rule: str                # as it must be found
    buckets: Union[Fixed, Months]
    value: Callable          # the start of a bucket -> a literal of its column
    time: str = "timestamp"  # of the event time
    literal: Callable = ms   # of an event time
    more: str = ""           # columns besides

    def create(self, keyspace):
        """CREATE TABLE, with a comment of somebody's own."""
        name = self.bucket.split()[0]
        return (f"CREATE TABLE {keyspace}.{self.name} (sensor text, {self.bucket}, ts {self.time}, "
                f"v double, {self.more}PRIMARY KEY ((sensor, {name}), ts)) "
                "WITH CLUSTERING ORDER BY (ts DESC) AND comment = 'Somebody''s table.'")

    def rows(self):
        """(sensor, literal of the bucket, literal of the event time)"""
        drawn = random.Random(self.name)
        for i in range(BUCKETS):
            at = datetime.datetime(2023, 1, 1) + drawn.randrange(730 * 86_400_000) * MS
            start = self.buckets.start(at)
            for time in (start, at, self.buckets.end(start) - MS):
                yield f"s{i}", self.value(start), self.literal(time)

    def inserts(self, keyspace):
        name = self.bucket.split()[0]
        for sensor, bucket, time in self.rows():
            yield (f"INSERT INTO {keyspace}.{self.name} (sensor, {name}, ts, v) "
                   f"VALUES ('{sensor}', {bucket}, {time}, 1.5)")


HOUR = datetime.timedelta(hours=1)
SHAPES = [
    Shape("by_day", "day date", "bucket day = 1 day", Fixed(DAY), quoted("%Y-%m-%d"),
          more="tags map<text, text>, codes set<int>, point tuple<int, text>, "),
    Shape("by_week", "monday date", "bucket monday = 1 week", Fixed(7 * DAY, MONDAY),
          quoted("%Y-%m-%d")),
    Shape("by_month", "bucket date", "bucket bucket = 1 month", Months(1), quoted("%Y-%m-%d")),
    Shape("by_hour", "hour timestamp", "bucket hour = 1 hour", Fixed(HOUR), ms),
    Shape("by_quarter", "slot timestamp", "bucket slot = 15 minutes", Fixed(HOUR / 4), ms),
    Shape("text_day", "day text", "bucket day = 1 day", Fixed(DAY), quoted("%Y-%m-%d")),
    Shape("text_month", "month text", "bucket month = 1 month", Months(1), quoted("%Y-%m")),
    Shape("number_day", "yyyymmdd int", "bucket yyyymmdd = 1 day as calendar", Fixed(DAY),
          lambda start: start.strftime("%Y%m%d"), time="timeuuid", literal=timeuuid),
    Shape("count_day", "day int", "bucket day = 1 day as epoch", Fixed(DAY),
          lambda start: (start - EPOCH) // DAY),
    Shape("count_hour", "bucket bigint", "bucket bucket = 1 hour as epoch; time ts = us",
          Fixed(HOUR), lambda start: (start - EPOCH) // HOUR, time="bigint",
          literal=lambda time: ms(time) * 1000),
    Shape("by_year", "year int", "bucket year = 1 year as calendar", Months(12),
          lambda start: start.year),
]
