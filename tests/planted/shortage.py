"""Bugs of a machine that is short of memory or threads."""
from planted.bug import Bug

SWEEP = ('tests/engine/allocation_sweep_test',)
MACHINE = ('tests/limits/short_machine_test',)

BUGS = [
    Bug('an exception leaves those who wait for ever', 'engine/ingest/commit_round.cc',
        '  const UnwindGuard unanswered([this] { AnswerQueued(Status::OutOfMemory()); });\n', '',
        '*AllocationSweep.Append*', SWEEP),
    Bug('half of a group is in the journal and the engine goes on', 'engine/ingest/committer.cc',
        '  const UnwindGuard half_written([this] { Fail(Status::OutOfMemory()); });\n', '',
        '*AllocationSweep.Append*', SWEEP),
    Bug('a step of maintenance that was left half way is gone on with', 'engine/maintenance.h',
        '      void operator()() const { committer->Fail(Status::OutOfMemory()); }\n',
        '      void operator()() const {}\n', '*AllocationSweep*', SWEEP),
    Bug('a token is of rows that were not given', 'engine/query/scan_cursor.cc',
        '  Emit(std::move(rows), start_s, batch);\n  rows_returned_ = position.rows_returned;\n'
        '  token_ = std::move(position);\n  has_position_ = true;\n',
        '  rows_returned_ = position.rows_returned;\n  token_ = std::move(position);\n'
        '  has_position_ = true;\n  Emit(std::move(rows), start_s, batch);\n',
        '*AllocationSweep.ScanOn*', SWEEP),
    Bug('a cursor that was left half way reads on', 'engine/held_cursor.h',
        'half_read([this] { why_broken_ = Status::OutOfMemory(); });\n', 'half_read([] {});\n',
        '*AllocationSweep.Scan*', SWEEP),
    Bug('a table is there and is not known', 'engine/engine_core.cc',
        '  const UnwindGuard half_made([this] { committer_->Fail(Status::OutOfMemory()); });\n', '',
        '*AllocationSweep.Create*', SWEEP),
    Bug('calls begin though the memory is used up', 'lib/base/memory_reserve.cc',
        '  if (mapped == nullptr) return Status::OutOfMemory();\n  void* none = nullptr;\n',
        '  if (mapped == nullptr) return Status::Ok();\n  void* none = nullptr;\n',
        '*ShortMachine*', MACHINE),
    Bug('nothing is held back', 'lib/base/memory_reserve.cc',
        '  if (void* const held = g_reserve.exchange(nullptr)) {\n',
        '  if (void* const held = nullptr) {\n', '*ShortMachine*', MACHINE),
    Bug("RocksDB's threads start when there is work", 'storage/store_opener.cc',
        '  CISTERN_RETURN_IF_ERROR(StartBackgroundThreads());\n', '', '*ShortMachine*', MACHINE),
]
