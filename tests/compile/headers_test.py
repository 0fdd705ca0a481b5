#!/usr/bin/env python3
"""Each header compiles alone, twice in a row, without warnings: headers_test.py ROOT COMPILER..."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
COMPILER = sys.argv[2:]
FLAGS = ['-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror',
         '-I', str(ROOT), '-I', str(ROOT / 'lib/include')]
ROOMS = ['lib', 'storage', 'engine', 'tools', 'tests', 'bench']


def include_name(path):
    name = str(path.relative_to(ROOT))
    public = 'lib/include/'
    return name[len(public):] if name.startswith(public) else name


def compile_alone(path, folder):
    name = include_name(path)
    unit = pathlib.Path(folder) / (name.replace('/', '_') + '.cc')
    unit.write_text(f'#include "{name}"\n#include "{name}"\n')
    done = subprocess.run(COMPILER + FLAGS + [str(unit)], capture_output=True, text=True)
    return name, done.returncode, done.stderr


def main():
    headers = sorted(path for room in ROOMS for path in (ROOT / room).rglob('*.h'))
    # Public headers must also do without the repository's root on the include path; the install
    # test shows that.
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, code, errors in pool.map(lambda h: compile_alone(h, folder), headers):
                if code != 0:
                    failed += 1
                    print(f'{name} does not compile alone:\n{errors[:2000]}')
    print(f'{len(headers)} headers, {failed} do not compile alone')
    return 1 if failed or len(headers) < 20 else 0


sys.exit(main())
