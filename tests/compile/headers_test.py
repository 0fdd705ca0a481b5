#!/usr/bin/env python3
"""Each header compiles alone, twice in a row, without warnings.

headers_test.py ROOT BUILD COMPILER...

A header that a compiled file includes before anything else has been shown to compile alone by the
build, so only its guard is looked at; that is three quarters of them.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
COMPILER = sys.argv[3:]
FLAGS = ['-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror',
         '-I', str(ROOT), '-I', str(ROOT / 'lib/include')]
ROOMS = ['lib', 'storage', 'engine', 'tools', 'tests', 'bench']


def include_name(path):
    name = str(path.relative_to(ROOT))
    public = 'lib/include/'
    return name[len(public):] if name.startswith(public) else name


def first_includes():
    """What the files of this build include before anything else."""
    first = set()
    for unit in json.loads((BUILD / 'compile_commands.json').read_text()):
        for line in (pathlib.Path(unit['directory']) / unit['file']).read_text().splitlines():
            if line.startswith('#'):
                first.add(line.removeprefix('#include').strip(' "<>'))
                break
    return first


def faulty_guards(headers):
    """How many headers have no guard, or that of another."""
    guards, faulty = {}, 0
    for path in headers:
        found = re.search(r'^#ifndef (\w+)\n#define \1\n(?:.|\n)*\n#endif', path.read_text(), re.M)
        other = guards.setdefault(found[1] if found else None, path)
        if not found or other != path:
            faulty += 1
            print(f'{path}: ' + (f'has the guard of {other}' if found else 'has no guard'))
    return faulty


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
    shown = first_includes()
    alone = [path for path in headers if include_name(path) not in shown]
    failed = faulty_guards(headers)
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, code, errors in pool.map(lambda h: compile_alone(h, folder), alone):
                if code != 0:
                    failed += 1
                    print(f'{name} does not compile alone:\n{errors[:2000]}')
    print(f'{len(headers)} headers, {len(alone)} of them compiled here, {failed} with a fault')
    return 1 if failed or len(headers) < 20 else 0


sys.exit(main())
