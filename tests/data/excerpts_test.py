#!/usr/bin/env python3
"""The excerpts are what `cut` cuts from the full recordings, byte for byte, and stay small.

    excerpts_test.py SOURCE_ROOT     (environment: CISTERN_SHARED_DIR, CI)
"""
import filecmp
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
HERE = ROOT / 'tests/data'
FULL = pathlib.Path(os.environ.get('CISTERN_SHARED_DIR', ROOT.parent / 'shared')) / 'data'
BYTES_MAX = 2_000_000
NOT_RUN = 77  # what meson takes for a skipped test


def files(root):
    return {path.relative_to(root) for path in root.rglob('*') if path.parent != root
            and path.is_file()}


def main():
    size = sum(path.stat().st_size for path in HERE.rglob('*') if path.is_file())
    if size > BYTES_MAX:
        sys.exit(f'tests/data holds {size} bytes, at most {BYTES_MAX}')
    if not (FULL / 'MANIFEST.tsv').is_file():
        print(f'the full recordings are absent: {FULL}')
        sys.exit(1 if os.environ.get('CI') == 'true' else NOT_RUN)
    with tempfile.TemporaryDirectory() as folder:
        to = pathlib.Path(folder)
        subprocess.run([HERE / 'cut', FULL, to], check=True)
        if files(to) != files(HERE):
            sys.exit(f'other files: {sorted(map(str, files(to) ^ files(HERE)))}')
        for name in sorted(files(to)):
            if not filecmp.cmp(to / name, HERE / name, shallow=False):
                sys.exit(f'{name} is not what cut cuts')
    print(f'{len(files(HERE))} excerpts, {size} bytes, as cut from the full recordings')


main()
