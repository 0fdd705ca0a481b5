#!/usr/bin/env python3
"""Plants bugs, one at a time, and fails unless the tests meet each: planted_bugs.py [WORD...]

With words those alone whose names have one of them; --check plants none of them and tells which
no longer find their line. Each is a line of the engine or of storage that a tired mind could have
written; the lists are in planted/. The tree is copied to build-planted/ first; what is planted
there never touches this one.
"""
import os
import pathlib
import shutil
import subprocess
import sys

from planted import (backups, engine, intake, life_cycle, queries, salvage, shortage, storage,
                     watching)

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / 'build-planted'
BUGS = [bug for part in (backups, engine, intake, life_cycle, queries, salvage, shortage, storage,
                         watching)
        for bug in part.BUGS]


def copy_tree():
    """Copies what git tracks, where it changed: the second run compiles little."""
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    for name in names:
        source, target = ROOT / name, COPY / 'source' / name
        if not source.is_file():
            continue
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def build(programs):
    folder = COPY / 'build'
    if not (folder / 'build.ninja').is_file():
        environment = dict(os.environ)
        if shutil.which('ccache'):
            environment.update(CC='ccache gcc', CXX='ccache g++')
        subprocess.run(['meson', 'setup', folder, COPY / 'source', '-Dtests=enabled',
                        '-Dtools=enabled', '-Dbuildtype=release', '-Doptimization=1',
                        '-Dwerror=false'],  # what is planted may leave a variable unused
                       check=True, env=environment, stdout=subprocess.DEVNULL)
    return subprocess.run(['ninja', '-C', folder, *programs], capture_output=True, text=True)


def run(tests, programs, seconds=600):
    """The names of the tests that fail, and how a program ended that ended otherwise."""
    failed = set()
    # Of seven allocations a planted line may concern one.
    environment = {'CISTERN_ALLOCATION_STRIDE': '1', **os.environ}
    for program in programs:
        try:
            done = subprocess.run([COPY / 'build' / program, f'--gtest_filter={tests}'],
                                  capture_output=True, text=True, timeout=seconds, errors='replace',
                                  env=environment)
        except subprocess.TimeoutExpired:
            failed.add('did not end')
            continue
        failed |= {line.split()[3].rstrip(',') for line in done.stdout.splitlines()
                   if line.startswith('[  FAILED  ]') and '.' in line}
        if done.returncode not in (0, 1):
            failed.add(f'exit {done.returncode}')
    return failed


def check():
    """How many bugs do not find their line once, which are printed."""
    lost = 0
    for bug in BUGS:
        count = (ROOT / bug.file).read_text().count(bug.line) if (ROOT / bug.file).is_file() else 0
        if count != 1:
            lost += 1
            print(f'{bug.name}: {bug.file} has the line {count} times: {bug.line.strip()}')
    print(f'{lost} of {len(BUGS)} planted bugs do not find their line')
    return lost


def plant(bug):
    path = COPY / 'source' / bug.file
    text = path.read_text()
    if text.count(bug.line) != 1:
        return f'{bug.file} has the line {text.count(bug.line)} times: {bug.line.strip()}'
    path.write_text(text.replace(bug.line, bug.planted))
    try:
        built = build(bug.programs)
        if built.returncode != 0:
            return 'it does not compile:\n' + built.stdout[-2000:]
        failed = run(bug.tests, bug.programs)
    finally:
        path.write_text(text)
    if not failed:
        return 'no test met it'
    print(f'met: {bug.name}: {len(failed)} tests, such as {sorted(failed)[0]}', flush=True)
    return ''


def main():
    if sys.argv[1:] == ['--check']:
        return 1 if check() else 0
    if any(word.startswith('-') for word in sys.argv[1:]):
        print(__doc__)
        return 2
    copy_tree()
    bugs = [bug for bug in BUGS
            if not sys.argv[1:] or any(word in bug.name for word in sys.argv[1:])]
    programs = sorted({program for bug in bugs for program in bug.programs})
    built = build(programs)
    if built.returncode != 0:
        print(built.stdout[-4000:])
        return 1
    everything = ':'.join(bug.tests for bug in bugs)
    failed = run(everything, programs, seconds=3600)
    if failed and all('.' in name for name in failed):
        # Some count memory or the time of a call, and other work was in their way: alone then.
        print(f'without any bug these failed once: {sorted(failed)}', flush=True)
        failed = run(':'.join(sorted(failed)), programs)
    if failed:
        print(f'without any bug these fail: {sorted(failed)}')
        return 1
    missed = 0
    for bug in bugs:
        if why := plant(bug):
            missed += 1
            print(f'MISSED: {bug.name}: {why}', flush=True)
    print(f'{missed} planted bugs were missed')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
