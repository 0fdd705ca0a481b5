"""A reader of formats 1 and 2 that follows FORMAT.md: what that page forgets, this cannot read.

It shares nothing with the reader of the library but XXH3 and zstd, which it takes from the system.
Slow and plain on purpose. Every form of the format that it meets is noted in SEEN.
"""
import collections
import struct

from columns import (DICTIONARIES, HEAP_BYTES_MAX, M64, NUMBERS, PAGE_BYTES_MAX, SEEN, Bytes,
                     Damage, TooNew, double_bits, envelope, float_bits, need, numbers, signed64,
                     stream, texts, to_float, unordered, xxh3)

UNIT_TO_US = {'s': lambda t: t * 1_000_000, 'ms': lambda t: t * 1000, 'us': lambda t: t,
              'ns': lambda t: t // 1000}
SUMMED = {'tinyint', 'smallint', 'int', 'bigint', 'float', 'double'}

Column = collections.namedtuple('Column', 'name type clustering')
Table = collections.namedtuple('Table', 'columns unit')  # columns: clustering and regular
Row = collections.namedtuple('Row', 'write_us boot expiry flags cells')


# --- pages


def column(b, spec, n):
    descriptor = b.u8()
    need(descriptor < 128, 'column descriptor')
    states = descriptor >> 5
    need(states == 0 or not spec.clustering, 'a key that is missing')
    SEEN.add(f'states {states}')
    state = {0: [0] * n, 1: None, 2: [1] * n, 3: [2] * n}[states]
    if state is None:
        state = stream(b, n)
        need(set(state) <= {0, 1, 2} and len(set(state)) > 1, 'cell states')
    values = Bytes(b.take(b.varint(PAGE_BYTES_MAX)), b.format)
    count = state.count(0)
    encoding = descriptor & 31
    if count == 0:
        need(encoding == 0, 'encoding of nothing')
        SEEN.add('no values')
        dense = []
    elif spec.type in NUMBERS:
        dense = numbers(values, count, encoding, spec.type)
    else:
        dense = texts(values, count, encoding)
    values.end()
    dense = iter(dense)
    return [(s, next(dense) if s == 0 else None) for s in state]


def read_dictionary(data):
    """A trained dictionary: its number and its content."""
    b = envelope(data, 0xC)
    number = b.varint()
    content = b.take(b.varint(64 * 1024))
    b.end()
    need(content[:4] == b'\x37\xa4\x30\xec', 'magic number of a dictionary')
    return number, content


def read_page(data, table):
    b = envelope(data, 0xA)
    flags = b.u8()
    need(flags < 32 and not (flags & 4 and not flags & 2), 'flags')
    need(not flags & 8 or table.columns[0].type in NUMBERS, 'flag 8')
    for bit in range(5):
        SEEN.add(f'page flag {1 << bit}: {bool(flags >> bit & 1)}')
    n = b.varint(4096)
    need(n >= 1, 'row count')
    need(b.varint() == len(table.columns), 'column count')
    write_us = stream(b, n)
    boots = stream(b, n) if flags & 1 else [0] * n
    expiries = stream(b, n) if flags & 2 else [0] * n
    versions = stream(b, n) if flags & 16 else [b.u8()] * n
    need(0 <= min(boots) and max(boots) < 1 << 32, 'boot')
    need(0 <= min(versions) and max(versions) <= 3, 'version flags')
    for v in versions:
        SEEN.add(f'version flags {v}')
    columns = [column(b, spec, n) for spec in table.columns]
    need(sum(len(v) for c in columns for s, v in c if isinstance(v, bytes)) <= HEAP_BYTES_MAX,
         'cell bytes')
    b.end()
    rows = []
    for i in range(n):
        w = write_us[i]
        if flags & 8:
            SEEN.add(f'write time from {table.unit}')
            w = signed64(w + UNIT_TO_US[table.unit](columns[0][i][1]))
        expiry = signed64(expiries[i] + (w // 1_000_000 if flags & 4 else 0))
        need(0 <= expiry < 1 << 32, 'expiry')
        rows.append(Row(w, boots[i], expiry, versions[i], [c[i] for c in columns]))
    return rows


def content_hash(rows):
    """The sum of the hashes of row versions, as manifests have it."""
    total = 0
    for row in rows:
        data = struct.pack('<qIB', row.write_us, row.expiry, row.flags)
        for state, value in row.cells:
            data += bytes([state])
            if isinstance(value, bytes):
                data += struct.pack('<I', len(value)) + value
            elif value is not None:
                data += struct.pack('<q', value)
        total += xxh3(data)
    return total & M64


# --- header


def read_header(data):
    b = envelope(data, 0xB)
    h = {'schema': b.varint((1 << 32) - 1), 'journal_first': b.varint()}
    h['journal_last'] = h['journal_first'] + b.varint()
    need(h['journal_last'] <= M64, 'journal span')
    first = h['first_time'] = b.signed()
    last = h['last_time'] = first + b.varint()
    need(last < 1 << 63, 'time span')
    pages = h['pages'] = []
    count = b.varint(65_536)
    need(4 * count <= b.left(), 'page count')
    before = first
    for _ in range(count):
        page = {'rows': b.varint(4096), 'bytes': b.varint(PAGE_BYTES_MAX), 'statistics': b''}
        need(page['rows'] >= 1 and page['bytes'] >= 1, 'page')
        page['first_time'] = before + b.varint()
        before = page['last_time'] = last - b.varint()
        need(page['first_time'] <= last and page['first_time'] <= before, 'times of a page')
        pages.append(page)
    h['deletes'] = read_deletes(b, first)
    if b.left():
        sizes = [b.varint(1 << 20) for _ in pages]
        need(0 < sum(sizes) <= 1 << 20, 'statistics size')
        for page, size in zip(pages, sizes):
            page['statistics'] = b.take(size)
            SEEN.add('page with statistics' if size else 'page without statistics')
    b.end()
    return h


def read_deletes(b, first_time):
    deletes = []
    count = b.varint(65_536)
    need(2 * count <= b.left(), 'delete count')
    write_us = 0
    for _ in range(count):
        flags = b.u8()
        need(flags < 8, 'delete flags')
        SEEN.add(f'delete flags {flags}')
        start = -1 << 63 if flags & 1 else signed64(first_time + b.signed())
        end = (1 << 63) - 1 if flags & 2 else start + b.varint()
        need(end < 1 << 63, 'delete to')
        write_us = signed64(write_us + b.signed())
        boot = b.varint((1 << 32) - 1) if flags & 4 else 0
        need(boot or not flags & 4, 'delete boot')
        deletes.append((start, end, write_us, boot))
    return deletes


# --- statistics


def read_statistics(data, table, row_count):
    """(first expiry, all have markers, columns as (count, (min, max, first, last), sum))."""
    b = Bytes(data)
    flags = b.u8()
    need(flags < 4, 'statistics flags')
    SEEN.add(f'statistics flags {flags}')
    expiry = b.varint((1 << 32) - 1) if flags & 1 else 0
    need(expiry or not flags & 1, 'first expiry')
    columns = []
    for spec in table.columns[1:]:
        body = Bytes(b.take(b.varint()))
        told = body.left() > 0
        columns.append(column_statistics(body, spec.type, row_count) if told
                       else (row_count, None, None))
        body.end()
    b.end()
    return expiry, not flags & 2, columns


def column_statistics(b, kind, count):
    descriptor = b.u8()
    form = descriptor & 3
    need(descriptor < 64, 'descriptor')
    SEEN.add(f'statistics form {form} of {kind if form > 1 else ""}')
    for bit in (4, 8, 16, 32):
        if descriptor & bit:
            SEEN.add(f'statistics descriptor {bit}')
    if descriptor & 4:
        count = b.varint(count)
    if form == 0:
        need(descriptor & ~4 == 0, 'descriptor')
        return count, None, None
    need(kind in NUMBERS and count > 0 and (form > 1) == (kind in ('float', 'double')), 'form')
    need(not descriptor & 16 or kind in SUMMED, 'sum')
    need(not descriptor & 32 or (descriptor & 16 and form > 1), 'special sum')
    k = b.u8() if form == 2 else 0
    need(k <= 22, 'exponent')
    least = b.signed()
    four = [least] * 4
    if not descriptor & 8:
        four[1:] = [signed64(least + b.varint()) for _ in range(3)]
    if form == 2:
        values = [float(d) / 10.0**k for d in four]
        four = [float_bits(to_float(v)) if kind == 'float' else double_bits(v) for v in values]
    if form == 3:
        bits = 32 if kind == 'float' else 64
        need(all(-1 << bits - 1 <= v < 1 << bits - 1 for v in four), 'bits of a float')
        four = [unordered(v, bits) for v in four]
        if kind == 'float':
            four = [v & 0xffffffff for v in four]
    for i in range(2):
        if in_order(kind, four[i]) == NAN:  # every one is told as the quiet one
            four[i] = 0x7fc00000 if kind == 'float' else 0x7ff8 << 48
    need(in_order(kind, four[0]) <= in_order(kind, four[1]), 'max')
    return count, tuple(four), read_sum(b, descriptor)


NAN = 1 << 64


def in_order(kind, n):
    """Something that compares as the values of the type do."""
    if kind not in ('float', 'double'):
        return n
    bits = 32 if kind == 'float' else 64
    magnitude = n & (1 << bits - 1) - 1
    if magnitude > (0x7f800000 if kind == 'float' else 0x7ff << 52):
        return NAN
    return -1 - magnitude if n >> bits - 1 else magnitude


def read_sum(b, descriptor):
    """None, ('special', bits) or ('sum', m, e)."""
    if not descriptor & 16:
        return None
    if descriptor & 32:
        special = b.u8()
        need(1 <= special <= 7, 'special sum')
        return 'special', special
    e = b.signed()
    need(-1074 <= e <= 1024, 'sum exponent')
    size = b.u8()
    need(size <= 16, 'sum size')
    return 'sum', int.from_bytes(b.take(size), 'little', signed=True), e


# --- manifests


def read_manifest(data, table):
    need(len(data) >= 9 and xxh3(data[:-8]) == int.from_bytes(data[-8:], 'little'), 'checksum')
    b = Bytes(data[:-8])
    need(b.u8() == 8, 'version of a record')
    numbers_ = [b.varint() for _ in range(3)] + [b.signed() for _ in range(4)]
    numbers_ += [b.varint((1 << 32) - 1), b.u8(), b.u8()]
    m = {'numbers': numbers_, 'content': b.little(8), 'rotations': [], 'schema': 0,
         'statistics': None, 'proof': 0}
    if b.u8():
        m['rotations'] = [(b.varint(), b.varint()) for _ in range(b.varint())]
    size = b.varint(1 << 16)
    if size:
        m['schema'] = b.varint((1 << 32) - 1)
        m['statistics'] = read_statistics(b.take(size), table, numbers_[0])
    if b.left():
        m['proof'] = b.u8()
    b.end()
    return m
