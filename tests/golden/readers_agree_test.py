#!/usr/bin/env python3
"""Damages golden pages and headers under right checksums: two readers must say the same of each.

    readers_agree_test.py GOLDEN_READ      the program of golden_read.cc, the library's reader

The other one is reader.py, which follows FORMAT.md. Either both refuse the bytes, or both give the
same rows: what one of them takes and the other does not is a hole in the page or in a reader.
CISTERN_SEED repeats a run.
"""
import os
import random
import subprocess
import sys

import reader
import reader_test

CASES = 3000
PAGE_BYTES_MAX = 3000  # larger ones take long in Python


def golden_values():
    """(kind, CREATE TABLE text, Text, bytes without checksum) of headers and pages."""
    for path in sorted((reader_test.HERE / 'segments').glob('*.segment')):
        text = reader_test.Text(path.with_suffix('.txt'))
        data = path.read_bytes()
        at = 4 + int.from_bytes(data[:4], 'little')
        header = data[4:at]
        yield 'header', text, header[:-8]
        for page in reader.read_header(header)['pages']:
            if page['bytes'] <= PAGE_BYTES_MAX:
                yield 'page', text, data[at:at + page['bytes'] - 8]
            at += page['bytes']


def damaged(data, dice):
    data = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(1, len(data))
        kind = dice.randrange(10)
        if kind < 5:
            data[at] ^= 1 << dice.randrange(8)
        elif kind < 8:
            data[at] = dice.choice((0, 1, 2, 3, 4, 8, 15, 16, 127, 128, 255, dice.randrange(256)))
        elif kind == 8 and len(data) > 2:
            del data[at]
        else:
            data.insert(at, dice.randrange(256))
    return bytes(data) + reader.xxh3(bytes(data)).to_bytes(8, 'little')


def told_here(kind, text, data):
    try:
        if kind == 'page':
            return reader.content_hash(reader.read_page(data, text.table))
        return list(reader_test.header_lines(reader.read_header(data), text.table))
    except (reader.Damage, reader.TooNew):
        return 'refused'


def told_there(kind, text, line):
    if line == 'refused':
        return line
    if kind == 'page':
        return int(line)
    return [reader_test.told(*part.split(' ', 1), text) for part in line.split(';') if part]


def main():
    seed = int(os.environ.get('CISTERN_SEED') or random.randrange(1 << 32))
    print(f'CISTERN_SEED={seed}')
    dice = random.Random(seed)
    reader_test.take_dictionaries(reader_test.HERE / 'segments')
    values = list(golden_values())
    cases = [(kind, text, damaged(data, dice))
             for kind, text, data in (dice.choice(values) for _ in range(CASES))]
    lines = ''.join(f'{kind}\t{text.cql}\t{data.hex()}\n' for kind, text, data in cases)
    run = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True)
    answers = run.stdout.splitlines()
    assert len(answers) == len(cases), run.stderr
    refused = 0
    for (kind, text, data), answer in zip(cases, answers):
        here, there = told_here(kind, text, data), told_there(kind, text, answer)
        assert here == there, (f'{kind} of {text.cql}: {data.hex()}\n'
                               f'by FORMAT.md {here}\nby the library {there}')
        refused += here == 'refused'
    print(f'{len(cases)} values, {refused} refused by both')
    assert CASES // 4 < refused < CASES * 19 // 20, refused


if __name__ == '__main__':
    sys.exit(main())
