#!/usr/bin/env python3
"""Every check of the decoders of segments has its fixture: bytes that meet it and no other.

    checks_test.py ROOT        prints each check without one, and fails if there are any

A check is a place in lib/segment or lib/codec that can refuse bytes, told by the field and the
words of its message; a fixture is a place in the tests that expects both, as `"field", "words"`
before a brace or a parenthesis closes. Words are whole, and the tests compare them (ExpectDamage in
codec_test_util.h): a fixture that meets another check fails there.
"""
import collections
import pathlib
import re
import sys

# Where the fixtures of each source file with checks are.
TESTS = {
    'lib/base/coding.h': 'tests/lib/codec/integer_codec_test.cc',
    'lib/codec/codec_select.cc': 'tests/lib/codec/decimal_codec_test.cc',
    'lib/codec/decimal_codec.cc': 'tests/lib/codec/decimal_codec_test.cc',
    'lib/codec/distinct_codec.cc': 'tests/lib/codec/decimal_codec_test.cc',
    'lib/codec/integer_decode.cc': 'tests/lib/codec/integer_codec_test.cc',
    'lib/codec/text_codec.cc': 'tests/lib/codec/text_codec_test.cc',
    'lib/codec/zstd_codec.cc': 'tests/lib/codec/text_codec_test.cc',
    'lib/codec/zstd_dictionary.cc': 'tests/lib/codec/zstd_dictionary_test.cc',
    'lib/segment/dictionary_value.cc': 'tests/lib/segment/dictionary_value_test.cc',
    'lib/segment/page_reader.cc': 'tests/lib/segment/page_damage_test.cc',
    'lib/segment/page_statistics.cc': 'tests/lib/segment/page_statistics_test.cc',
    'lib/segment/segment_format.cc': 'tests/lib/segment/page_damage_test.cc',
    'lib/segment/segment_header.cc': 'tests/lib/segment/segment_header_test.cc',
}
ANY = None  # the field is the caller's
CHECKS_MIN = 80

TEXT = r'"((?:[^"\\]|\\.)*)"'
FAILS = re.compile(r'\bFail\(\s*(?:' + TEXT + r'|\w+),\s*' + TEXT)
# Readers that fail with words of their own, and the field that they are given.
READERS = {
    'is beyond its limit': re.compile(r'ReadCount\(\s*' + TEXT),
    'leads out of its range': re.compile(r'ReadForward\(&?\w+,\s*' + TEXT),
    'is out of range': re.compile(r'ReadNarrow<\w+>\(\s*' + TEXT),
}
STATUS = re.compile(r'Status::(?:Corruption|TooNew|TooLarge|NotSupported)\((.*?)\);', re.S)
FIXTURE = re.compile(TEXT + r',\s*' + TEXT + r'\s*[})]')


def checks_of(source):
    """A count of (field, words)."""
    checks = collections.Counter()
    for field, words in FAILS.findall(source):
        checks[field or ANY, words] += 1
    for words, reader in READERS.items():
        for field in reader.findall(source):
            checks[field, words] += 1
    # Words that end a message made by hand; the field is within them.
    for message in STATUS.findall(source):
        checks[ANY, max(re.findall(TEXT, message), key=len)] += 1
    return checks


def missing_in(root, name):
    source = (root / name).read_text(encoding='utf-8')
    checks = checks_of(source)
    if not checks:
        return
    if name not in TESTS:
        yield f'{name} has checks, and TESTS here does not say where their fixtures are'
        return
    # Literals that the compiler joins are one.
    test = re.sub(r'(?<!\\)"\s*"', '', (root / TESTS[name]).read_text(encoding='utf-8'))
    fixtures = collections.Counter(FIXTURE.findall(test))
    for (field, words), count in checks.items():
        there = test.count(words) if field is ANY else fixtures[field, words]
        if there < count:
            yield (f"{name}: '{field or 'of the caller'}' {words}: {count} in the code, "
                   f'{there} fixtures in {TESTS[name]}')


def main():
    root = pathlib.Path(sys.argv[1])
    names = ['lib/base/coding.h']
    names += sorted(str(path.relative_to(root)) for room in ('lib/segment', 'lib/codec')
                    for path in (root / room).iterdir() if path.suffix in ('.cc', '.h'))
    count = sum(sum(checks_of((root / name).read_text(encoding='utf-8')).values())
                for name in names)
    missing = [line for name in names for line in missing_in(root, name)]
    if count < CHECKS_MIN:
        missing.append(f'only {count} checks found: the patterns here are not those of the code')
    print('\n'.join(missing) if missing else f'each of {count} checks has its fixture')
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
