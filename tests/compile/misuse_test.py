#!/usr/bin/env python3
"""Misuse does not compile: misuse_test.py ROOT COMPILER...

Each file of misuse/ is compiled twice: as it is, which must work, and with -DMISUSE, which must
fail with the words that its first line names. So a file cannot rot into one that fails anyway.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
COMPILER = sys.argv[2:] + ['-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Werror',
                           '-I', str(ROOT / 'lib/include')]


def main():
    failed = 0
    files = sorted((ROOT / 'tests/compile/misuse').glob('*.cc'))
    for path in files:
        wanted = re.match(r'// refused: (.+)\n', path.read_text()).group(1)
        right = subprocess.run(COMPILER + [str(path)], capture_output=True, text=True)
        wrong = subprocess.run(COMPILER + ['-DMISUSE', str(path)], capture_output=True, text=True)
        if right.returncode != 0:
            failed += 1
            print(f'{path.name}: the correct use does not compile:\n{right.stderr[:2000]}')
        if wrong.returncode == 0 or not re.search(wanted, wrong.stderr):
            failed += 1
            print(f'{path.name}: the misuse is not refused by /{wanted}/:\n{wrong.stderr[:2000]}')
    print(f'{len(files)} files, {failed} failures')
    return 1 if failed or not files else 0


sys.exit(main())
