"""Planted violations: each rule of tidy_test.py must catch its own, and nothing else may be caught.

Words that the tree itself must not hold are put together here, so that this file is clean.
"""

GUARDED = '#ifndef CISTERN_{0}_\n#define CISTERN_{0}_\n{1}\n#endif  // CISTERN_{0}_\n'


def header(name, body):
    return GUARDED.format(name, body)


def long_function(lines):
    return 'namespace n {\nint F(int a) {\n' + '  ++a;\n' * (lines - 2) + '}\n}\n'


BAD = [
    # (rule, path, text)
    ('direction', 'lib/base/a.cc', '#include "storage/store.h"\n'),
    ('direction', 'lib/cql/a.cc', '#include "engine/engine_impl.h"\n'),
    ('direction', 'storage/a.cc', '#include "engine/engine_impl.h"\n'),
    ('direction', 'engine/a.cc', '#include "tools/command.h"\n'),
    ('direction', 'engine/a.cc', '#include "tests/support/model.h"\n'),
    ('direction', 'storage/a.cc', '#include "store.h"\n'),
    ('direction', 'lib/include/cistern/a.h', header('A_H', '#include "lib/base/coding.h"')),
    ('direction', 'examples/a.cc', '#include "lib/base/coding.h"\n'),
    ('lib_folders', 'lib/base/a.cc', '#include "lib/segment/page_reader.h"\n'),
    ('lib_folders', 'lib/codec/a.cc', '#include "lib/segment/page_reader.h"\n'),
    ('lib_folders', 'lib/row/a.cc', '#include "lib/codec/codec.h"\n'),
    ('lib_folders', 'lib/cql/a.cc', '#include "lib/row/row_order.h"\n'),
    ('lib_folders', 'lib/row/a.cc', '#include "lib/arrow/arrow_column.h"\n'),
    ('flows', 'engine/ingest/a.cc', '#include "engine/query/scan_plan.h"\n'),
    ('flows', 'engine/query/a.cc', '#include "engine/ingest/committer.h"\n'),
    ('flows', 'engine/query/a.cc', '#include "engine/seal/sealer.h"\n'),
    ('flows', 'engine/cql/a.cc', '#include "storage/store.h"\n'),
    ('flows', 'engine/replicate/a.cc', '#include "engine/seal/sealer.h"\n'),
    ('doors', 'engine/cql/session.cc', '#include <openssl/ssl.h>\n'),
    ('flows', 'engine/bucketing/a.cc', '#include "engine/ingest/committer.h"\n'),
    ('doors', 'engine/a.cc', '#include <rocksdb/db.h>\n'),
    ('doors', 'lib/segment/a.cc', '#include <rocksdb/slice.h>\n'),
    ('doors', 'tools/a.cc', '#include <rocksdb/db.h>\n'),
    ('doors', 'engine/query/a.cc', '#include <boost/lockfree/spsc_queue.hpp>\n'),
    ('doors', 'lib/segment/a.cc', '#include <xxhash.h>\n'),
    ('doors', 'storage/a.cc', '#include <zstd.h>\n'),
    ('doors', 'engine/a.cc', '#include <sys/socket.h>\n'),
    ('wall_clock', 'engine/a.cc', 'auto t = std::chrono::system_clock::now();\n'),
    ('wall_clock', 'storage/a.cc', 'auto t = time(nullptr);\n'),
    ('wall_clock', 'tools/a.cc', 'clock_gettime(CLOCK_REALTIME, &t);\n'),
    ('wall_clock', 'lib/base/a.cc', 'gettimeofday(&t, nullptr);\n'),
    ('output', 'storage/a.cc', 'void F() { std::cerr << 1; }\n'),
    ('output', 'lib/base/a.cc', 'void F() { printf("x"); }\n'),
    ('output', 'engine/a.cc', 'void F() { std::fprintf(stderr, "x"); }\n'),
    ('exit', 'engine/a.cc', 'void F() { std::abort(); }\n'),
    ('exit', 'storage/a.cc', 'void F() { exit(1); }\n'),
    ('throw', 'engine/a.cc', 'void F() { throw 1; }\n'),
    ('catch', 'engine/a.cc', 'void F() { try { G(); } catch (...) {} }\n'),
    ('thread', 'engine/a.cc', '#include <thread>\nstd::thread t(F);\n'),
    ('assert', 'storage/a.cc', 'void F(int a) { assert(a > 0); }\n'),
    ('unfinished', 'engine/a.cc', '// TO' 'DO: later\n'),
    ('unfinished', 'tools/a.cc', '// good enough for' ' now\n'),
    ('unfinished', 'tests/a_test.py', '# FIX' 'ME\n'),
    ('disabled', 'tests/a_test.cc', 'TEST(A, DIS' 'ABLED_B) {}\n'),
    ('disabled', 'tests/a_test.cc', 'TEST(A, B) { GTEST_' 'SKIP(); }\n'),
    ('disabled', 'storage/a.cc', '#if 0\nint a;\n#endif\n'),
    ('file_length', 'engine/a.cc', 'int a;\n' * 501),
    ('function_length', 'engine/a.cc', long_function(71)),
    ('function_length', 'engine/a.cc',
     'A::A(int b)\n    : b_{b}, c_(b) {\n' + '  F();\n' * 70 + '}\n'),
    ('function_length', 'tests/a_test.cc', 'TEST(A, B) {\n' + '  F();\n' * 70 + '}\n'),
    ('function_length', 'lib/base/b.h', header(
        'BASE_B_H', 'class A {\n public:\n  struct B { int c; };\n  void F() {\n'
        + '    G();\n' * 70 + '  }\n};')),
    ('width', 'storage/a.cc', '// ' + 'x' * 98 + '\n'),
    ('blanks', 'storage/a.cc', 'int a;\t// b\n'),
    ('blanks', 'storage/a.cc', 'int a; \n'),
    ('blanks', 'storage/a.cc', 'int a;'),
    ('guard', 'storage/a.h', '#pragma once\n'),
    ('guard', 'storage/a.h', header('STORAGE_B_H', '')),
    ('guard', 'lib/base/a.h', '#ifndef CISTERN_BASE_A_H_\n#define OTHER_H_\n#endif\n'),
    ('using_namespace', 'storage/a.h', header('STORAGE_A_H', 'using namespace std;')),
    ('public_comments', 'lib/include/cistern/a.h', header('A_H', 'int f();\n' * 12)),
]

GOOD = [
    ('lib/segment/a.cc', '#include "lib/codec/codec.h"\n#include "lib/base/coding.h"\n'
                         '#include "cistern/status.h"\n#include <vector>\n'),
    ('storage/a.cc', '#include <rocksdb/db.h>\n#include "lib/segment/page_reader.h"\n'),
    ('lib/base/checksum.cc', '#include <xxhash.h>\n'),
    ('lib/codec/zstd_codec.cc', '#include <zstd.h>\n'),
    ('engine/ingest/ingest_queue.h', header(
        'ENGINE_INGEST_INGEST_QUEUE_H', '#include <boost/lockfree/spsc_queue.hpp>')),
    ('engine/query/a.cc', '#include "engine/bucketing/bucketer.h"\n#include "storage/store.h"\n'),
    ('engine/engine_impl.cc', '#include "engine/query/scan_cursor.h"\n'
                              '#include "engine/ingest/committer.h"\n'),
    ('lib/base/clock.cc', 'int64_t F() { return Micros(CLOCK_REALTIME); }\n'),
    ('lib/base/check.cc', 'void F() { std::abort(); }\n'),
    ('engine/a.cc', '// never exit(1), never throw, never printf("x"), not system_clock\n'
                    'const char* k = "exit(1) throw assert(a) std::cerr";\n'
                    'int64_t F() { return event.time() + Lifetime(0) + snprintf(b, 9, "%d", 1); }\n'
                    "int n = 1'000'000;\nstatic_assert(sizeof(int) == 4);\n"),
    ('engine/b.cc', long_function(70)),
    ('engine/d.cc', 'void F() {\n  const int kTable[] = {\n' + '      1,\n' * 80 + '  };\n}\n'),
    ('engine/d.h', header('ENGINE_D_H', 'inline void F() {\n  using namespace std::chrono;\n}')),
    ('engine/c.cc', 'namespace n {\nclass A {\n' + '  int a;\n' * 80 + '};\n'
                    'enum class B : int {\n' + '  kA,\n' * 80 + '};\n'
                    'const int kTable[] = {\n' + '  1,\n' * 80 + '};\n}  // namespace n\n'),
    ('tests/a_test.cc', '#include <rocksdb/db.h>\nTEST(A, B) { std::cout << time(nullptr); }\n'),
    ('tools/a.cc', 'int main() { std::printf("rows %d", 1); return 0; }\n'),
    ('lib/include/cistern/b.h', header('B_H', '// What f does.\nint f();\n' * 9)),
]


def run(tidy):
    """0 if every planted file is caught by its rule alone and every good file by none."""
    failures = 0
    for rule, path, text in BAD:
        found = {name for _, name, _ in tidy.check(tidy.Source(path, text))}
        if found != {rule}:
            failures += 1
            by = sorted(found) or 'nothing'
            print(f'planted {rule} in {path}: caught by {by}:\n{text[:200]}')
    for path, text in GOOD:
        found = list(tidy.check(tidy.Source(path, text)))
        if found:
            failures += 1
            print(f'clean {path}: wrongly caught: {found}')
    untested = set(tidy.RULES) - {rule for rule, _, _ in BAD}
    for rule in sorted(untested):
        failures += 1
        print(f'rule {rule} has no planted violation')
    print(f'tidy --planted: {len(BAD)} planted, {len(GOOD)} clean, {failures} failures')
    return 1 if failures else 0
