#!/usr/bin/env python3
"""The style of the house as a test: rooms, doors, sizes, words.

    tidy_test.py ROOT             check the tree at ROOT; prints FILE:LINE: RULE: what
    tidy_test.py --planted        check the rules themselves: each must catch its planted file

Every rule is a function from a source file to findings. The rules read C++ with comments and
literals blanked out, so that a word in a comment trips nothing but the rules about words.
"""
import pathlib
import re
import subprocess
import sys

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
PUBLIC_COMMENT_SHARE_MIN = 0.25  # of the lines outside of function bodies; the aim is a third

# Files that may pass FILE_LINES_MAX, each with its reason. Empty, and meant to stay so.
LONG_FILES = {}

# A room may include itself and what stands right of it.
ROOMS = {
    'lib': {'lib'},
    'storage': {'lib', 'storage'},
    'engine': {'lib', 'storage', 'engine'},
    'tools': {'lib', 'storage', 'engine', 'tools'},
    'tests': {'lib', 'storage', 'engine', 'tools', 'tests', 'bench'},
    'bench': {'lib', 'storage', 'engine', 'tools', 'tests', 'bench'},
    'examples': set(),
}
# Inside lib: what each folder may include, next to itself and the public headers.
LIB_FOLDERS = {
    'base': set(),
    'cql': {'base'},
    'row': {'base', 'cql'},
    'codec': {'base'},
    'segment': {'base', 'row', 'codec', 'cql'},
    'arrow': {'base', 'cql', 'row'},
}
# The flows of the engine meet in storage and are wired in engine/ itself.
FLOWS = {'ingest', 'seal', 'retain', 'query', 'replicate'}

# Dependency -> where its door is.
DOORS = [
    (re.compile(r'^rocksdb/'), re.compile(r'^(storage|tests|bench)/'), 'storage/'),
    (re.compile(r'^boost/lockfree/'), re.compile(r'^engine/ingest/ingest_queue\.h$'),
     'engine/ingest/ingest_queue.h'),
    (re.compile(r'^xxh(ash|3)\.h$'), re.compile(r'^lib/base/checksum\.cc$|^tests/'),
     'lib/base/checksum.cc'),
    (re.compile(r'^(zstd|zdict|zstd_errors)\.h$'),
     re.compile(r'^lib/codec/zstd_(codec|dictionary)\.cc$|^tests/'),
     'lib/codec/zstd_codec.cc, zstd_dictionary.cc'),
    (re.compile(r'^lz4\w*\.h$'), re.compile(r'^engine/cql/lz4_block\.cc$|^tests/'),
     'engine/cql/lz4_block.cc'),
    (re.compile(r'^(sys/socket|netdb|netinet/in)\.h$|^openssl/|^boost/asio|^boost/beast'),
     re.compile(r'^engine/cql/transport(_[a-z]+)?\.(h|cc)$|^tests/'), 'engine/cql/transport*'),
]
WALL_CLOCK = re.compile(r'\bsystem_clock\b|\bCLOCK_REALTIME\b|\bgettimeofday\b'
                        r'|(?<![\w.>])time\s*\(\s*(NULL|nullptr|0)?\s*\)')
WALL_CLOCK_DOOR = 'lib/base/clock.cc'

ROOM_OF_LIBRARY = {'lib', 'storage', 'engine'}
OUTPUT = re.compile(r'\bstd::(cout|cerr|clog)\b|(?<![\w.>])(std::)?(printf|fprintf|vprintf|vfprintf|'
                    r'puts|fputs|putchar|perror)\s*\(')
EXIT = re.compile(r'(?<![\w.>])(std::)?(exit|_exit|_Exit|quick_exit|abort|terminate)\s*\(')
EXIT_ALLOWED = {'lib/base/check.cc', 'lib/include/cistern/result.h'}
THROW = re.compile(r'\bthrow\b')
THROW_ALLOWED = {'lib/base/memory_reserve.cc'}  # as a new handler must
CATCH = re.compile(r'\bcatch\s*\(')
CATCH_ALLOWED = {'lib/base/guard.h', 'lib/base/guard.cc', 'engine/cql/transport_loop.cc'}
THREAD = re.compile(r'\bstd::(jthread|thread\b(?!::)|async)')
THREAD_ALLOWED = {'lib/base/worker_thread.h', 'lib/base/worker_thread.cc'}
ASSERT = re.compile(r'(?<!static_)\bassert\s*\(')
UNFINISHED = re.compile(r'\b(TODO|FIXME|XXX|HACK|stub|not implemented|placeholder|for now)\b')
DISABLED = re.compile(r'\bDISABLED_|\bGTEST_SKIP\b|^\s*#\s*if\s+0\b', re.M)
TABLE = re.compile(r'\]\s*=\s*\{(?:[^;]*?)\};', re.S)
CONTROL_HEAD = re.compile(r'\b(namespace|class|struct|union|enum|extern)\b')


class Source:
    """A file, its lines, and its code with comments and literals blanked."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split('\n')
        self.room = path.split('/')[0] if '/' in path else ''
        self.is_cpp = path.endswith(('.h', '.cc', '.c', '.cpp'))
        self.is_header = path.endswith('.h')
        self.is_script = not self.is_cpp
        self.code = blank_comments(text) if self.is_cpp else text

    def includes(self):
        """Yields (line, name, quoted)."""
        for number, line in enumerate(self.lines, 1):
            found = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if found:
                yield number, found.group(2), found.group(1) == '"'

    def search(self, pattern):
        """Yields (line, match) of a pattern in the blanked code."""
        for found in pattern.finditer(self.code):
            yield self.code.count('\n', 0, found.start()) + 1, found


def blank_comments(text):
    """Replaces comments and literals by blanks; line breaks stay where they were."""
    token = re.compile(
        r'//[^\n]*'
        r'|/\*.*?\*/'
        r'|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)

    def blank(found):
        kept = re.sub(r'[^\n]', ' ', found.group(0))
        if found.group(0)[0] in '"R':
            return '""' + kept[2:]
        return kept

    # The names of includes are literals too, but rules read those from the lines themselves.
    return token.sub(blank, text)


def rule_direction(source):
    allowed = ROOMS.get(source.room)
    if allowed is None or not source.is_cpp:
        return
    public = source.path.startswith('lib/include/')
    for line, name, quoted in source.includes():
        room = name.split('/')[0]
        if room == 'cistern':
            continue
        if quoted and room not in ROOMS:
            yield line, f'"{name}" is not written from the repository\'s root'
        elif room in ROOMS and (room not in allowed or public):
            yield line, f'{"a public header" if public else source.room} must not include "{name}"'


def rule_lib_folders(source):
    parts = source.path.split('/')
    if parts[0] != 'lib' or len(parts) < 3 or parts[1] not in LIB_FOLDERS:
        return
    for line, name, _ in source.includes():
        to = name.split('/')
        if to[0] == 'lib' and to[1] != parts[1] and to[1] not in LIB_FOLDERS[parts[1]]:
            yield line, f'lib/{parts[1]} must not include "{name}"'


def rule_flows(source):
    parts = source.path.split('/')
    if parts[0] != 'engine' or len(parts) < 3:
        return
    for line, name, _ in source.includes():
        to = name.split('/')
        if parts[1] == 'cql' and (to[0] == 'storage' or to[:1] == ['engine'] and to[1] != 'cql'):
            yield line, f'engine/cql must not include "{name}": it speaks to clusters, knows no store'
        if to[0] != 'engine' or len(to) < 3 or to[1] == parts[1]:
            continue
        if parts[1] == 'bucketing' or (parts[1] in FLOWS and to[1] in FLOWS):
            yield line, f'engine/{parts[1]} must not include "{name}"; they meet in storage'


def rule_doors(source):
    if not source.is_cpp:
        return
    for line, name, _ in source.includes():
        for dependency, door, where in DOORS:
            if dependency.search(name) and not door.search(source.path):
                yield line, f'<{name}> is included only by {where}'


def rule_wall_clock(source):
    if source.room not in ROOM_OF_LIBRARY | {'tools'} or not source.is_cpp:
        return
    if source.path == WALL_CLOCK_DOOR:
        return
    for line, found in source.search(WALL_CLOCK):
        yield line, f'{found.group(0).strip()}: the wall clock is read only by {WALL_CLOCK_DOOR}'


def rule_output(source):
    if source.room in ROOM_OF_LIBRARY and source.is_cpp:
        for line, found in source.search(OUTPUT):
            yield line, f'{found.group(0).strip()}: the library never prints'


def rule_exit(source):
    if source.room in ROOM_OF_LIBRARY and source.is_cpp and source.path not in EXIT_ALLOWED:
        for line, found in source.search(EXIT):
            yield line, f'{found.group(0).strip()}: the library never ends the process'


def rule_throw(source):
    if source.room in ROOM_OF_LIBRARY and source.is_cpp and source.path not in THROW_ALLOWED:
        for line, _ in source.search(THROW):
            yield line, 'errors travel in Status and Result, not as exceptions'


def rule_catch(source):
    if source.room in ROOM_OF_LIBRARY and source.is_cpp and source.path not in CATCH_ALLOWED:
        for line, _ in source.search(CATCH):
            yield line, 'Guarded (lib/base/guard.h) is what catches; UnwindGuard undoes'


def rule_thread(source):
    if source.room in ROOM_OF_LIBRARY and source.is_cpp and source.path not in THREAD_ALLOWED:
        for line, _ in source.search(THREAD):
            yield line, 'WorkerThread (lib/base/worker_thread.h) is how a thread starts'


def rule_assert(source):
    if source.room in ROOM_OF_LIBRARY and source.is_cpp:
        for line, _ in source.search(ASSERT):
            yield line, 'assert() vanishes in release: CISTERN_CHECK for our mistakes, Status for input'


def rule_unfinished(source):
    for number, line in enumerate(source.lines, 1):
        found = UNFINISHED.search(line)
        if found:
            yield number, f'"{found.group(0)}" is left in the text'


def rule_disabled(source):
    if not source.is_cpp:
        return
    for line, found in source.search(DISABLED):
        yield line, f'{found.group(0).strip()}: a test or code that is not run is only a comment'


def rule_file_length(source):
    count = len(source.lines) - 1
    if source.is_cpp and count > LONG_FILES.get(source.path, FILE_LINES_MAX):
        yield count, f'{count} lines, at most {FILE_LINES_MAX}'


def functions(source):
    """Yields (first line, line count) of each outermost body that is not a type or a namespace."""
    code = re.sub(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', lambda m: re.sub(r'[^\n]', ' ', m.group(0)),
                  source.code, flags=re.M)
    scopes = []  # of each open brace: True if it is inside or begins a body
    body_start = None
    head_start = 0
    for at, char in enumerate(code):
        if char == ';' and not (scopes and scopes[-1]):
            head_start = at + 1
        elif char == '{':
            inside = bool(scopes) and scopes[-1]
            head = code[head_start:at]
            plain = re.sub(r'<[^<>]*>', '', head)
            is_scope = bool(CONTROL_HEAD.search(plain)) and '(' not in re.sub(
                r'alignas\([^)]*\)|\[\[.*?\]\]', '', plain)
            is_data = head.rstrip().endswith('=')
            if not inside and not is_scope:
                body_start = None if is_data else at
            scopes.append(inside or not is_scope)
            if not scopes[-1]:
                head_start = at + 1
        elif char == '}' and scopes:
            was_body = scopes.pop()
            if was_body and not (scopes and scopes[-1]):
                if body_start is not None:
                    first = code.count('\n', 0, body_start) + 1
                    yield first, code.count('\n', body_start, at) + 1
                body_start = None
                head_start = at + 1
            elif not was_body:
                head_start = at + 1


def rule_function_length(source):
    if not source.is_cpp:
        return
    for line, count in functions(source):
        body = '\n'.join(source.code.split('\n')[line - 1:line - 1 + count])
        # A table inside a function is data: its lines are not counted.
        count -= sum(table.group(0).count('\n') for table in TABLE.finditer(body))
        if count > FUNCTION_LINES_MAX:
            yield line, f'a function of {count} lines, at most {FUNCTION_LINES_MAX}'


def rule_width(source):
    if source.path.endswith('meson.build'):
        return  # lists of files
    for number, line in enumerate(source.lines, 1):
        if len(line) > LINE_COLUMNS_MAX:
            yield number, f'{len(line)} columns, at most {LINE_COLUMNS_MAX}'


def rule_blanks(source):
    for number, line in enumerate(source.lines, 1):
        if '\t' in line:
            yield number, 'a tab'
        if line != line.rstrip():
            yield number, 'blanks at the end of the line'
    if source.text and not source.text.endswith('\n'):
        yield len(source.lines), 'the last line does not end'


def rule_guard(source):
    if not source.is_header:
        return
    guard = re.search(r'^#ifndef (\w+)\n#define (\w+)\n', source.text, re.M)
    path = re.sub(r'^lib/include/cistern/|^lib/', '', source.path)
    path = re.sub(r'\W', '_', path).upper() + '_'
    name = re.sub(r'\W', '_', source.path.split('/')[-1]).upper() + '_'
    ok = (guard and guard.group(1) == guard.group(2) and guard.group(1).startswith('CISTERN_')
          and guard.group(1).endswith('_' + name) and path.endswith(guard.group(1)[8:]))
    if not ok:
        yield 1, f'the include guard is not CISTERN_{path}'


def rule_using_namespace(source):
    if source.is_header:
        bodies = {n for first, count in functions(source) for n in range(first, first + count)}
        for line, _ in source.search(re.compile(r'\busing\s+namespace\b')):
            if line in bodies:
                continue
            yield line, 'using namespace in a header'


def rule_public_comments(source):
    if not source.path.startswith('lib/include/cistern/') or not source.is_header:
        return
    bodies = {n for first, count in functions(source) for n in range(first + 1, first + count)}
    lines = [line.strip() for n, line in enumerate(source.lines, 1) if n not in bodies]
    lines = [line for line in lines if line and not line.startswith('#')]
    if len(lines) < 12:
        return
    share = sum('//' in line for line in lines) / len(lines)
    if share < PUBLIC_COMMENT_SHARE_MIN:
        yield 1, f'{share:.0%} of the lines carry a comment, at least {PUBLIC_COMMENT_SHARE_MIN:.0%}'


RULES = {name[len('rule_'):]: rule for name, rule in list(globals().items())
         if name.startswith('rule_')}


def source_files(root):
    """Paths of the project's own text, from git where there is git."""
    try:
        names = subprocess.run(
            ['git', '-C', str(root), 'ls-files', '--cached', '--others', '--exclude-standard'],
            check=True, capture_output=True, text=True).stdout.split('\n')
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(root)) for p in root.rglob('*') if p.is_file()]
    for name in sorted(set(names)):
        top = name.split('/')[0]
        if top.startswith('build') or name.startswith(('subprojects/', 'tests/data/')):
            continue
        if name in ('tests/tidy_test.py',):
            continue  # it names the forbidden words
        path = root / name
        if not path.is_file():
            continue
        if name.endswith(('.h', '.cc', '.c', '.cpp', '.py', 'meson.build')):
            yield name
        elif top in ('tools', 'tests', '.ci', 'bench') and '.' not in path.name:
            with path.open('rb') as file:
                if file.read(2) == b'#!':
                    yield name


def check(source):
    """All findings of one source: (line, rule, what)."""
    for name, rule in RULES.items():
        for line, what in rule(source):
            yield line, name, what


def check_tree(root):
    count = 0
    findings = 0
    for name in source_files(root):
        count += 1
        text = (root / name).read_text(encoding='utf-8')
        for line, rule, what in check(Source(name, text)):
            findings += 1
            print(f'{name}:{line}: {rule}: {what}')
    print(f'tidy: {count} files, {len(RULES)} rules, {findings} findings')
    if count < 10:
        print('tidy: this is not the tree of the project')
        return 1
    return 1 if findings else 0


if __name__ == '__main__':
    if sys.argv[1:] == ['--planted']:
        import tidy_planted
        sys.exit(tidy_planted.run(sys.modules['__main__']))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(check_tree(pathlib.Path(sys.argv[1]).resolve()))
