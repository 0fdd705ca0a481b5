#!/usr/bin/env python3
"""Who wants the library alone needs nothing but the library's own dependencies, and a folder that
was set up so can be given tests and replication later, as tests/run does after tools/quickstart.
As a subproject, by README.md's words, it is the library alone.

    parts_test.py SOURCE_ROOT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])
LIBRARY_NEEDS = {'rocksdb', 'libxxhash', 'libzstd', 'boost', 'threads'}


def meson(*arguments):
    words = ['meson', *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=SOURCE)
    if done.returncode != 0:
        sys.exit(f'failed: {" ".join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}')
    return done.stdout


def targets(folder):
    return {target['name'] for target in json.loads(meson('introspect', '--targets', folder))}


def replication_sources(folder):
    """What the library's part that replicates is made of, by their names."""
    known = json.loads(meson('introspect', '--targets', folder))
    units = [unit for target in known if target['name'] == 'cistern-replication'
             for unit in target['target_sources']]
    return {pathlib.Path(path).name for unit in units for path in unit['sources']}


with tempfile.TemporaryDirectory() as folder:
    output = meson('setup', folder, '-Dtools=disabled', '-Dtests=disabled', '-Dbench=disabled',
                   '-Dreplication=disabled')
    needed = {name.lower() for name in re.findall(r'dependency (\S+) found: YES', output)}
    if not needed or needed - LIBRARY_NEEDS:
        sys.exit(f'the library alone looks for {sorted(needed)}, expected {sorted(LIBRARY_NEEDS)}')
    alone = targets(folder)
    if alone & {'tool_test', 'append_bench'} or not any('cistern' in name for name in alone):
        sys.exit(f'the library alone has the targets {sorted(alone)}')
    if replication_sources(folder) != {'replication_absent.cc'} or 'cistern-cql' in alone:
        sys.exit(f'without replication the library has {sorted(replication_sources(folder))}')
    meson('setup', '--reconfigure', folder, '-Dtools=enabled', '-Dtests=enabled',
          '-Dreplication=enabled')
    if 'tool_test' not in targets(folder):
        sys.exit('a folder without tests cannot be given them')
    if 'replication_impl.cc' not in replication_sources(folder):
        sys.exit('a folder without replication cannot be given it')

with tempfile.TemporaryDirectory() as folder:
    project = pathlib.Path(folder)
    shown = re.findall(r'```meson\n(.*?)```', (SOURCE / 'README.md').read_text(), re.S)
    (project / 'meson.build').write_text("project('gateway', 'cpp')\n" + '\n'.join(shown))
    (project / 'gateway.cc').write_text('int main() {}\n')
    (project / 'subprojects').mkdir()
    (project / 'subprojects/cistern').symlink_to(SOURCE)
    meson('setup', project / 'build', project, '--wrap-mode=nodownload')
    if not {'gateway', 'cistern'} <= targets(project / 'build'):
        sys.exit(f'as a subproject: the targets are {sorted(targets(project / "build"))}')
    if 'tool_test' in targets(project / 'build'):
        sys.exit('a subproject builds its own tests')
print('the library alone needs', ', '.join(sorted(needed)))
