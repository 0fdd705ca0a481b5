#!/usr/bin/env python3
"""The shared library stays small: size_test.py (LIBRARY BYTES_MAX)...

Each library is stripped as a packager strips it, and its file may then have BYTES_MAX bytes. A
size is the same on every machine with the same compiler. bench/code_size prints what takes it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def stripped_bytes(library):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, 'stripped.so')
        subprocess.run(['strip', '-o', out, library], check=True)
        return os.path.getsize(out)


def main():
    pairs = sys.argv[1:]
    failed = 0
    for library, limit in zip(pairs[::2], map(int, pairs[1::2])):
        size = stripped_bytes(library)
        print(f'{os.path.basename(library)}: {size:,} bytes stripped, at most {limit:,}')
        if size > limit:
            failed += 1
            print('  too large: is a file that does not run for each row compiled for speed? '
                  'See docs/architecture.md, Size of code, and bench/code_size.')
    return 1 if failed or not pairs else 0


sys.exit(main())
