"""Bugs of a machine that is short of memory."""
from planted.bug import Bug

SWEEP = ('tests/engine/allocation_sweep_test',)

BUGS = [
    Bug('a merge of meta begins without room', 'engine/maintenance.cc',
        '  if (room.ok() == are_allowed) return false;\n', '  if (are_allowed) return false;\n',
        '*AMergeOfTheCatalogWaits*'),
    Bug('meta is never merged', 'engine/maintenance.cc',
        '  CISTERN_RETURN_IF_ERROR(Watch(AllowMetaMerges(*store_, !are_allowed)));\n', '',
        '*AMergeOfTheCatalogWaits*'),
    Bug('merges of meta are let once and for all', 'engine/maintenance.cc',
        '  if (are_allowed ? IsMerging(*store_) : !MetaMergesWait(*store_)) return false;\n',
        '  if (are_allowed || !MetaMergesWait(*store_)) return false;\n', '*CatalogThatMayBe*'),
    Bug('merges of meta are forbidden in a full MANIFEST', 'engine/maintenance.cc',
        '(!is_for_seal || !store_->MakeDeviceRoom(kFamilyHeadroomBytes).ok())', '!is_for_seal',
        '*OfAHeadThatHasNoRoom*'),
    Bug('who only seals by hand never has meta merged', 'engine/maintenance_seal.cc',
        '{&Maintenance::StepMetaMerges, &Maintenance::StepMerge,', '{&Maintenance::StepMerge,',
        '*ACatalogIsMergedBehind*'),
    Bug('a run waits for the room of a merge', 'engine/seal/sealer.cc',
        '  return std::max(least, RoomBesideMerge(*store_, run));\n',
        '  return std::min(least, run);\n', '*BesideAMerge*'),
    Bug('a head waits for the room of a merge', 'engine/maintenance.cc',
        '      if (!more && prepares_seal_ && heads_->frozen_head() != nullptr) {\n',
        '      if (false) {\n', '*BesideAMerge*'),
    Bug('a frozen head that is due later waits for the room of a merge',
        'engine/seal/round_planner.cc', '{heads_->active.get(), heads_->frozen.get()}) {\n    if',
        '{heads_->active.get()}) {\n    if', '*OfAFrozenHeadThatIsDueLater*'),
    Bug('a walk that finds nothing forgets what a frozen head has', 'engine/seal/round_planner.cc',
        '    if (heads_->frozen_head() == nullptr) due_in_head_.clear();\n',
        '    due_in_head_.clear();\n', '*OfAFrozenHeadThatIsDueLater*'),
    Bug('who seals by hand waits for the next look', 'engine/maintenance.cc',
        '(now_us < meta_merges_us_ && !is_asked_for)', '(now_us < meta_merges_us_)',
        '*BesideAMerge*'),
    Bug('meta is not merged while segments rest', 'engine/maintenance.cc',
        '    if (!whole.ok()) return false;\n', '    if (whole.ok()) return false;\n',
        '*SegmentsThatRest*'),
    Bug('damaged files of meta are merged', 'engine/maintenance.cc',
        '    if (!whole.ok()) return false;\n', '', '*SegmentsThatRest*'),
    Bug('a seal by hand gives up before merges of meta do', 'engine/maintenance_seal.cc',
        '    if (!did) return sealer_->why_given_up();\n',
        '    if (!did || true) return sealer_->why_given_up();\n', '*BesideAMerge*'),
    Bug('writes wait for files of meta that waited for room', 'storage/rocksdb_options.cc',
        '  options->level0_slowdown_writes_trigger = kNoLevelZeroLimit;  // files may have waited '
        'for room\n  options->level0_stop_writes_trigger = kNoLevelZeroLimit;\n'
        '  options->target_file_size_base = 1 ',
        '  options->target_file_size_base = 1 ',
        '*FilesThatWaitedForRoom*', ('tests/storage/storage_test',)),
    Bug('a seal waits for the room of a merge that nobody may begin', 'engine/seal/sealer.cc',
        '  return kHeadroomBytes + MergeBytesBehindFlush(store);',
        '  return kHeadroomBytes + MetaMergeBytes(store);', '*AMergeOfTheCatalogWaits*'),
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
    Bug('the heads have no active one while the next is made', 'engine/ingest/committer.cc',
        '  StartGeneration(std::move(next));\n', '  StartGeneration(MakeGeneration());\n',
        '*AFreezeThatFails*', SWEEP),
    Bug('an exception leaves what RocksDB calls', 'storage/io_guard.h',
        '[[nodiscard]] rocksdb::IOStatus GuardedIo(Body&& body) noexcept {\n'
        '  return GuardedOr(rocksdb::IOStatus::IOError(rocksdb::IOStatus::SubCode::kMemoryLimit),\n'
        '                   std::forward<Body>(body));\n',
        '[[nodiscard]] rocksdb::IOStatus GuardedIo(Body&& body) {\n'
        '  return std::forward<Body>(body)();\n', '*FilesThrowNothing*', SWEEP),
    Bug('an exception leaves an append', 'storage/counting_files.h',
        '    return GuardedIo([&]() -> IOStatus {\n'
        '      IOStatus status = fs_->CheckRoom(tracked_->kind, data.size());\n',
        '    IOStatus status = fs_->CheckRoom(tracked_->kind, data.size());\n'
        '    return GuardedIo([&]() -> IOStatus {\n', '*FilesThrowNothing*', SWEEP),
]
