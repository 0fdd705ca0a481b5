#!/usr/bin/env python3
"""An installed Cistern is usable by a stranger: installs into an empty folder, builds
examples/embed.cc and examples/replicate.cc with nothing but pkg-config's words, against the shared
and the static library, runs them (the second one without a cluster), and looks at what the shared
library exports. README.md's compile lines are run as they stand.

    install_test.py SOURCE_ROOT BUILD_ROOT PREFIX SANITIZE COMPILER...
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD, PREFIX = (pathlib.Path(argument) for argument in sys.argv[1:4])
SANITIZE = [] if sys.argv[4] == 'none' else [f'-fsanitize={sys.argv[4]}']
COMPILER = sys.argv[5:]


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f'failed: {" ".join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}')
    return done.stdout


def relocated_pc(root, folder):
    """The installed .pc file, its prefix pointing below `root`."""
    pc = next(root.rglob('cistern.pc'))
    text = re.sub(r'(?m)^prefix=.*$', f'prefix={root}{PREFIX}', pc.read_text())
    (folder / 'cistern.pc').write_text(text)
    return dict(os.environ, PKG_CONFIG_PATH=str(folder))


def readme_commands():
    """The compile lines of README.md, each without its comment."""
    text = (SOURCE / 'README.md').read_text().replace('\\\n', '')
    lines = [line.split('  # ')[0] for line in re.findall(r'(?m)^g\+\+ .*$', text)]
    if len(lines) != 2:
        sys.exit(f'README.md has {len(lines)} compile lines, expected shared and static')
    return dict(zip(('shared', 'static'), lines))


def check_exports(library):
    """Only cistern's own names, and only those that a public header declares."""
    declared = ' '.join(path.read_text() for path in (SOURCE / 'lib/include/cistern').glob('*.h'))
    symbols = run('nm', '-DC', '--defined-only', library).splitlines()
    count = 0
    for line in symbols:
        name = line.split(' ', 2)[2].split('@')[0]
        if name.startswith('CISTERN_'):
            continue
        plain = re.sub(r'^(vtable|typeinfo( name)?|VTT|non-virtual thunk) (for|to) ', '', name)
        found = re.match(r'cistern::(?:limits::)?(\w+)', plain)
        if not found:
            sys.exit(f'the shared library exports {name}, which is not of cistern')
        if not re.search(rf'\b{found.group(1)}\b', declared):
            sys.exit(f'the shared library exports {name}, which no public header declares')
        count += 1
    for entrance in ('cistern::Engine::Open', 'cistern::Replication::Start',
                     'cistern::ExportArrowStream'):
        if entrance not in '\n'.join(symbols):
            sys.exit(f'the shared library does not export {entrance}')
    print(f'{count} exported symbols, all declared in public headers')


def check_replicate(cflags, shared_words, static_words, folder, env):
    """Replication is in both libraries; nobody listens where it is sent."""
    unit = folder / 'replicate.o'
    run(*COMPILER, *SANITIZE, '-std=c++20', '-Wall', '-Wextra', '-Wpedantic', '-Werror', *cflags,
        '-c', SOURCE / 'examples/replicate.cc', '-o', unit)
    for kind, words in (('shared', shared_words), ('static', static_words)):
        program = folder / f'replicate_{kind}'
        run(*COMPILER, *SANITIZE, unit, '-o', program, *words)
        done = subprocess.run([program, folder / f'replicate_{kind}.store', '127.0.0.1:1'],
                              capture_output=True, text=True, env=env)
        told = 'cannot connect to 127.0.0.1:1'
        if done.returncode != 1 or told not in done.stderr or ', 1 wait\n' not in done.stdout:
            sys.exit(f'replicate, {kind}: {done.returncode} {done.stdout}{done.stderr}')


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        root = folder / 'root'
        run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', root)
        env = relocated_pc(root, folder)
        installed = root / str(PREFIX).lstrip('/')
        shared = next(installed.rglob('libcistern.so'))
        cflags = run('pkg-config', '--cflags', 'cistern', env=env).split()
        unit = folder / 'embed.o'
        run(*COMPILER, *SANITIZE, '-std=c++20', '-Wall', '-Wextra', '-Wpedantic', '-Werror',
            *cflags, '-c', SOURCE / 'examples/embed.cc', '-o', unit)

        libs = run('pkg-config', '--libs', 'cistern', env=env).split()
        run(*COMPILER, *SANITIZE, unit, '-o', folder / 'embed_shared', *libs)
        # Static: the archive by its path, then what pkg-config says it needs.
        private = run('pkg-config', '--static', '--libs', 'cistern', env=env).split()
        private = [word for word in private if word != '-lcistern']
        archive = next(installed.rglob('libcistern.a'))
        run(*COMPILER, *SANITIZE, unit, '-o', folder / 'embed_static', archive, *private)

        if not SANITIZE:
            # A C program's linker knows no C++ runtime: pkg-config must name it.
            run('cc', unit, '-o', folder / 'embed_c_linker', archive, *private)

        for kind, command in readme_commands().items():
            command = command.replace('g++', ' '.join([*COMPILER, *SANITIZE]), 1)
            command = command.replace('gateway.cc', f'{SOURCE}/examples/embed.cc')
            run('sh', '-c', f'{command} -o {folder}/embed_readme_{kind}', env=env)

        env['LD_LIBRARY_PATH'] = str(shared.parent)
        outputs = {}
        for kind in ('shared', 'static', 'readme_shared', 'readme_static'):
            outputs[kind] = run(folder / f'embed_{kind}', folder / f'{kind}.store', env=env)
            print(f'{kind}: {outputs[kind].strip()}')
        if len(set(outputs.values())) != 1 or not outputs['shared'].strip():
            sys.exit('the example does not print the same with both libraries')
        for kind in ('static', 'readme_static'):
            if 'libcistern' in run('ldd', folder / f'embed_{kind}'):
                sys.exit(f'the {kind} example still needs libcistern.so')
        check_replicate(cflags, libs, [archive, *private], folder, env)
        check_exports(shared)
    return 0


sys.exit(main())
