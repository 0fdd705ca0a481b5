#!/usr/bin/env python3
"""Reads every golden segment with a reader that knows FORMAT.md alone, and compares with its text.

Also: that the segments have every form of the format between them, that the worked example of
FORMAT.md is one of them, that statistics are what the rows say, and that a planted bit is noticed.
"""
import fractions
import pathlib
import re
import struct
import sys

import reader

HERE = pathlib.Path(__file__).resolve().parent
FORMAT = HERE.parent.parent / 'lib' / 'segment' / 'FORMAT.md'
UUID_1970 = 0x01B21DD213814000

# What must be met.
WANTED = {
    'order 0', 'order 1', 'order 2', 'runs', 'divisor', 'width', 'width apart', 'width 64',
    'constant', *(f'patches of order {order}' for order in range(3)),
    'patches with a width', 'patches without a width', 'blob 0', 'blob 1', 'blob 2',
    'no values',
    'page with statistics', 'page without statistics',
    *(f'states {s}' for s in range(4)), *(f'version flags {v}' for v in range(3)),
    *(f'page flag {1 << bit}: {on}' for bit in range(5) for on in (True, False)),
    *(f'delete flags {f}' for f in (0, 1, 2, 3, 4, 5, 6, 7)),
    *(f'write time from {unit}' for unit in ('s', 'ms', 'us', 'ns')),
    *(f'encoding {e} of bytes' for e in (7, 8, 9)),
    *(f'encoding 1 of {kind}' for kind in reader.NUMBERS),
    *(f'encoding {e} of double' for e in (2, 3, 4, 5, 6, 11)),
    *(f'encoding {e} of float' for e in (3, 4, 6)),
    'encoding 2 of double with exceptions', 'encoding 3 of float with exceptions',
    'encoding 6 of int', 'encoding 6 of bigint', 'encoding 10 of bigint, entries in 1',
    *(f'encoding 10 of double, entries in {e}' for e in (1, 2, 3, 4, 5, 11)),
    *(f'encoding 10 of float, entries in {e}' for e in (3, 4)),
    *(f'statistics flags {f}' for f in (0, 3)),
    *(f'statistics descriptor {d}' for d in (4, 8, 16, 32)),
    'statistics form 0 of ', 'statistics form 1 of ',
    *(f'statistics form {f} of {kind}' for f in (2, 3) for kind in ('float', 'double')),
}


class Text:
    """A golden text: its table, and its other lines as (first word, rest)."""

    def __init__(self, path):
        lines = path.read_text(encoding='ascii').splitlines()
        columns, unit, self.lines = [], None, []
        for line in lines:
            word, rest = re.match(r'(\w+)[ |]?(.*)', line).groups()
            if word == 'unit':
                unit = rest
            elif word == 'column':
                name, kind = rest.split(' ', 1)
                kind, role = kind.rsplit(' ', 1)
                columns.append(reader.Column(name, kind, role == 'clustering'))
            elif word == 'table':
                self.cql = rest
            else:
                self.lines.append((word, rest))
        self.table = reader.Table(columns, unit)
        self.types = {c.name: c.type for c in columns}


def number(kind, text):
    """A number of a text, as pages have it: floats by their bits."""
    if kind not in ('float', 'double'):
        return int(text)
    bits, value = ('I', 'f') if kind == 'float' else ('q', 'd')
    if text.startswith('nan:'):
        return struct.unpack('>' + bits, bytes.fromhex(text[4:]))[0]
    return struct.unpack('<' + bits, struct.pack('<' + value, float(text)))[0]


def cell(kind, text):
    if text in ('absent', 'null'):
        return (1 if text == 'absent' else 2), None
    if kind in reader.NUMBERS:
        return 0, number(kind, text)
    if text.startswith('0x'):
        return 0, bytes.fromhex(text[2:])
    return 0, re.sub(rb'\\x(..)', lambda m: bytes.fromhex(m[1].decode()), text[1:-1].encode())


def told(word, rest, text):
    """A line of a text as what `lines_of` gives of it."""
    parts = rest.split('|') if word == 'row' else rest.split(' ')
    if word == 'row':
        kinds = [c.type for c in text.table.columns]
        return word, *map(int, parts[:4]), *map(cell, kinds, parts[4:])
    if word == 'of':
        kind = text.types[parts[0]]
        four = tuple(number(kind, p) for p in parts[2:6]) or None
        sums = None
        if parts[6:7] == ['sum']:
            sums = 'sum', int(parts[7]) * 2**64 + int(parts[8]), int(parts[9])
        elif parts[6:7] == ['special']:
            sums = 'special', int(parts[7])
        return word, parts[0], int(parts[1]), four, sums
    return word, *map(int, parts)


def statistics_lines(statistics, table):
    expiry, marked, columns = statistics
    yield 'statistics', expiry, int(marked)
    for spec, (count, four, sums) in zip(table.columns[1:], columns):
        yield 'of', spec.name, count, four, sums


def header_lines(h, table):
    yield ('segment', h['schema'], h['journal_first'], h['journal_last'], h['first_time'],
           h['last_time'])
    for delete in h['deletes']:
        yield 'delete', *delete
    for page in h['pages']:
        yield 'page', page['rows'], page['bytes'], page['first_time'], page['last_time']
        if page['statistics']:
            statistics = reader.read_statistics(page['statistics'], table, page['rows'])
            yield from statistics_lines(statistics, table)


def lines_of(data, table):
    """What the reader makes of a segment file, line for line as its text has it."""
    size = int.from_bytes(data[:4], 'little')
    h = reader.read_header(data[4:4 + size])
    yield from header_lines(h, table)
    at = 4 + size
    for page in h['pages']:
        rows = reader.read_page(data[at:at + page['bytes']], table)
        at += page['bytes']
        times = [event_time(row, table) for row in rows]
        reader.need(len(rows) == page['rows'], 'rows of a page')
        reader.need(times == sorted(times), 'row order')
        reader.need((times[0], times[-1]) == (page['first_time'], page['last_time']), 'bounds')
        if page['statistics']:
            statistics = reader.read_statistics(page['statistics'], table, len(rows))
            check_statistics(statistics, rows, table)
        yield 'content', reader.content_hash(rows)
        for row in rows:
            yield 'row', row.write_us, row.boot, row.expiry, row.flags, *row.cells
    reader.need(at == len(data), 'end of the file')


def event_time(row, table):
    value = row.cells[0][1]
    if table.columns[0].type != 'timeuuid':
        return value
    high = int.from_bytes(value[:8], 'big')
    return ((high & 0xfff) << 48 | (high >> 16 & 0xffff) << 32 | high >> 32) - UUID_1970


# --- statistics, from the rows


def value_of(kind, n):
    if kind == 'double':
        return struct.unpack('<d', struct.pack('<q', n))[0]
    return struct.unpack('<f', struct.pack('<I', n))[0] if kind == 'float' else n


def order(kind, n):
    value = value_of(kind, n)
    return (1, 0, 0) if value != value else (0, value, n >= 0 and not (kind == 'float' and n >> 31))


def check_statistics(statistics, rows, table):
    expiry, marked, columns = statistics
    assert expiry == min([r.expiry for r in rows if r.expiry] or [0])
    assert marked == all(r.flags & 1 for r in rows)
    for c, (spec, (count, four, sums)) in enumerate(zip(table.columns[1:], columns), 1):
        values = [r.cells[c][1] for r in rows if r.cells[c][0] == 0]
        assert count == len(values), spec
        assert (four is not None) == (spec.type in reader.NUMBERS and count > 0), spec
        if four is None:
            continue
        keys = [order(spec.type, v) for v in values]
        assert order(spec.type, four[0]) == min(keys), spec
        assert order(spec.type, four[1]) == max(keys), spec
        assert four[2:] == (values[0], values[-1]), spec
        check_sum(spec, sums, [value_of(spec.type, v) for v in values])


def check_sum(spec, sums, values):
    if spec.type not in reader.SUMMED:
        assert sums is None, spec
        return
    special = sum(bit for bit, is_there in (
        (1, any(v != v for v in values)), (2, float('inf') in values),
        (4, float('-inf') in values)) if is_there)
    if special:
        assert sums == ('special', special), spec
        return
    total = sum(map(fractions.Fraction, values))
    if sums is None:  # it did not fit
        assert abs(total).numerator.bit_length() > 127, spec
        return
    _, m, e = sums
    assert fractions.Fraction(m) * fractions.Fraction(2) ** e == total, spec
    assert m % 2 == 1 or m == e == 0, spec


# --- FORMAT.md


def worked_examples():
    """The bytes of each block of hexadecimal lines in FORMAT.md, by the section's words."""
    section = FORMAT.read_text(encoding='utf-8').split('## Worked example')[1]
    blocks = section.split('```')[1::2]
    return [b''.join(bytes.fromhex(re.match(r' *((?:[0-9a-f]{2} ?)*)', line)[1])
                     for line in block.strip('\n').split('\n')) for block in blocks]


def check_worked_examples(folder):
    page, statistics, header = worked_examples()
    want = len(header).to_bytes(4, 'little') + header + page
    assert (folder / 'worked-example.segment').read_bytes() == want, 'FORMAT.md, worked example'
    data = (folder / 'worked-statistics.segment').read_bytes()
    h = reader.read_header(data[4:4 + int.from_bytes(data[:4], 'little')])
    assert h['pages'][0]['statistics'] == statistics, 'FORMAT.md, statistics'


def check_planted_bits(folder):
    """Each bit of a page, under a right checksum, is refused or makes other rows."""
    text = Text(folder / 'worked-example.txt')
    page = worked_examples()[0][:-8]
    right = reader.read_page(worked_examples()[0], text.table)
    refused = 0
    for bit in range(8 * len(page)):
        planted = bytearray(page)
        planted[bit // 8] ^= 1 << bit % 8
        planted += reader.xxh3(bytes(planted)).to_bytes(8, 'little')
        try:
            assert reader.read_page(bytes(planted), text.table) != right, f'bit {bit}'
        except (reader.Damage, reader.TooNew):
            refused += 1
    assert refused > 8 * len(page) // 4, refused


def check_manifest(folder):
    text = Text(folder / 'pages.manifest.txt')
    m = reader.read_manifest((folder / 'pages.manifest').read_bytes(), text.table)
    got = [('manifest', *m['numbers'], m['proof'], m['schema']), ('content', m['content'])]
    got += [('rotations', *r) for r in m['rotations']]
    got += statistics_lines(m['statistics'], text.table)
    assert got == [told(*line, text) for line in text.lines]
    rows = list(told_rows(folder / 'pages.txt'))
    check_statistics(m['statistics'], rows, text.table)
    assert m['content'] == reader.content_hash(rows)


def told_rows(path):
    text = Text(path)
    for word, rest in text.lines:
        if word == 'row':
            _, write_us, boot, expiry, flags, *cells = told(word, rest, text)
            yield reader.Row(write_us, boot, expiry, flags, cells)


def take_dictionaries(folder):
    for path in folder.glob('*.dictionary'):
        number, content = reader.read_dictionary(path.read_bytes())
        reader.DICTIONARIES[number] = content


def main():
    folder = HERE / 'segments'
    take_dictionaries(folder)
    paths = sorted(folder.glob('*.segment'))
    assert len(paths) >= 20, paths
    for path in paths:
        text = Text(path.with_suffix('.txt'))
        want = [told(*line, text) for line in text.lines]
        got = list(lines_of(path.read_bytes(), text.table))
        for n, (a, b) in enumerate(zip(got, want)):
            assert a == b, f'{path.name}, line {n}: got {a}, want {b}'
        assert len(got) == len(want), path.name
        print(f'{path.name}: {len(want)} lines')
    missing = WANTED - reader.SEEN
    assert not missing, f'no golden segment has: {sorted(missing)}'
    check_worked_examples(folder)
    check_planted_bits(folder)
    check_manifest(folder)


if __name__ == '__main__':
    sys.exit(main())
