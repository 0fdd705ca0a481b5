"""Values of the Python driver in the one form that read_partitions.py prints.

It is the form of `cistern scan --json` (docs/schema.md, "Types and literals"): integers,
reals and booleans are JSON's own, everything else is the CQL literal without its outer quotes.
Only the driver's values are used here, nothing of Cistern.
"""

import decimal
import ipaddress
import math
import struct

INTEGERS = {"tinyint", "smallint", "int", "bigint", "counter"}
QUOTED = {"ascii", "text", "varchar", "timestamp", "date", "time", "inet"}
NANOS_PER_SECOND = 10**9
FLOAT_NORMAL_MIN = 2.0**-126    # from here on a float has at least 6 digits
MILLIS_MIN = -62135596800000   # 0001-01-01; beyond these the number of milliseconds is printed
MILLIS_MAX = 253402300799999   # 9999-12-31


def real(number):
    """A JSON number, or a name for what JSON has no number for."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def shortest_float(number):
    """The double with the fewest digits that rounds to this 32-bit float."""
    if math.isfinite(number):
        for digits in range(6 if abs(number) >= FLOAT_NORMAL_MIN else 1, 10):
            shorter = float(f"{number:.{digits}g}")
            if abs(shorter) < 3.4028236e38 and struct.pack(">f", shorter) == struct.pack(
                    ">f", number):
                return shorter
    return number


def date(days):
    """2024-01-15 from days since 1970, in the proleptic Gregorian calendar of any year."""
    shifted = days + 719468  # since 0000-03-01, so that the leap day ends a year
    era, day_of_era = divmod(shifted, 146097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    year += era * 400 + (1 if month <= 2 else 0)
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"


def timestamp(millis):
    if not MILLIS_MIN <= millis <= MILLIS_MAX:
        return str(millis)
    days, rest = divmod(millis, 86_400_000)
    return f"{date(days)}T{time_of_day(rest // 1000)}.{rest % 1000:03}Z"


def time_of_day(seconds):
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def literal(value, cql_type):
    """What to print of a value; cql_type is the driver's class of its type."""
    kind = cql_type.typename
    if value is None or kind in INTEGERS or kind == "boolean":
        return value
    if kind == "double":
        return real(value)
    if kind == "float":
        return real(shortest_float(value))
    if kind in ("list", "set", "map", "frozen", "tuple") or is_vector(cql_type) or (
            is_user_type(cql_type)):
        return composite(value, cql_type)
    return SCALARS.get(kind, str)(value)


SCALARS = {
    "blob": lambda value: "0x" + value.hex(),
    "timestamp": timestamp,  # read_partitions.py has the driver give milliseconds
    "date": lambda value: date(value.days_from_epoch),
    "time": lambda value: (time_of_day(value.nanosecond_time // NANOS_PER_SECOND)
                           + f".{value.nanosecond_time % NANOS_PER_SECOND:09}"),
    "inet": lambda value: str(ipaddress.ip_address(value)),
    "duration": lambda value: duration(value.months, value.days, value.nanoseconds),
}


def duration(months, days, nanos):
    """1y2mo3d4h5m6s7ms8us9ns, of which what is 0 is left out."""
    sign = "-" if min(months, days, nanos) < 0 else ""
    text = ""
    for rest, units in ((months, {"y": 12, "mo": 1}), (days, {"d": 1}),
                        (nanos, {"h": 3600 * NANOS_PER_SECOND, "m": 60 * NANOS_PER_SECOND,
                                 "s": NANOS_PER_SECOND, "ms": 10**6, "us": 10**3, "ns": 1})):
        rest = abs(rest)
        for unit, size in units.items():
            count, rest = divmod(rest, size)
            text += f"{count}{unit}" if count else ""
    return sign + (text or "0s")


def is_vector(cql_type):
    return hasattr(cql_type, "vector_size")


def is_user_type(cql_type):
    return hasattr(cql_type, "fieldnames")


def quoted(name):
    plain = name.islower() and name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain else '"' + name.replace('"', '""') + '"'


def composite(value, cql_type):
    if is_user_type(cql_type):
        return "{" + ", ".join(f"{quoted(name)}: {element(one, of)}" for name, one, of in zip(
            cql_type.fieldnames, value, cql_type.subtypes)) + "}"
    if is_vector(cql_type):
        return "[" + ", ".join(element(one, cql_type.subtype) for one in value) + "]"
    if cql_type.typename == "tuple":
        return "(" + ", ".join(map(element, value, cql_type.subtypes)) + ")"
    if cql_type.typename == "frozen":
        return literal(value, cql_type.subtypes[0])
    if cql_type.typename == "map":
        key, of = cql_type.subtypes
        return "{" + ", ".join(f"{element(k, key)}: {element(v, of)}"
                               for k, v in value.items()) + "}"
    of, = cql_type.subtypes
    inside = ", ".join(element(one, of) for one in value)
    return f"[{inside}]" if cql_type.typename == "list" else "{" + inside + "}"


def element(value, cql_type):
    """A value inside another one: texts, times and addresses in quotes."""
    if value is None:
        return "null"
    shown = literal(value, cql_type)
    if cql_type.typename in QUOTED:
        return "'" + shown.replace("'", "''") + "'"
    if cql_type.typename == "boolean":
        return "true" if shown else "false"
    return number_text(shown) if isinstance(shown, float) else str(shown)


def number_text(number):
    """A real in its fewest digits: plain, or with an exponent where that is shorter."""
    if not math.isfinite(number) or number == 0:
        return str(real(number)) if number else f"{number:.0f}"
    sign, digits, exponent = decimal.Decimal(repr(number)).normalize().as_tuple()
    power = len(digits) - 1 + exponent
    digits = "".join(map(str, digits))
    scientific = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{power:+03}"
    if exponent >= 0:
        plain = str(abs(int(number)))
    elif power >= 0:
        plain = digits[:power + 1] + "." + digits[power + 1:]
    else:
        plain = "0." + "0" * (-power - 1) + digits
    return "-" * sign + (plain if len(plain) <= len(scientific) else scientific)


def cql(value, cql_type_name):
    """A printed value back as a CQL literal for a WHERE clause."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if cql_type_name in QUOTED:
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)
