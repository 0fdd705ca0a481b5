"""Bugs in the room storage, and in what it has of lib."""
from planted.bug import Bug

STORAGE = ('tests/storage/storage_test',)
POWER_CUTS = ('tests/crash/power_cut_test',)
LOST_ACK = ('tests/engine/lost_ack_test',)
MEMORY = ('tests/limits/memory_test',)

BUGS = [
    Bug('a copy of a batch has the room of the first', 'lib/row/row_batch.cc',
        '  const size_t rows = std::min(other.rows_in_use(), other.kinds_.size());',
        '  const size_t rows = other.kinds_.size();', '*RowBatch*', ('tests/lib/row/row_test',)),
    Bug('iterators over the catalog look at deleted ranges', 'storage/rocksdb_options.cc',
        '  options.ignore_range_deletions = true;\n', '', '*DamagedManifests*'),
    Bug('a window is dropped before the batch that ends it', 'storage/store_windows.cc',
        '    CrashPoint("window:before_end");\n',
        '    for (const auto& w : next->windows) {\n'
        '      if (w->id != window_id) continue;\n'
        '      (void)db_->db()->DropColumnFamily(w->family->handle()).ok();\n'
        '    }\n'
        '    CrashPoint("window:before_end");\n', '*WindowEnd*'),
    Bug('what a seal drops is not counted', 'storage/store_seal.cc',
        '    state.versions_superseded += versions_taken - versions_kept;\n', '', '*Seal*'),
    Bug('a seal is not counted in its window', 'storage/seal_records.cc',
        '  window->version_count += manifest.version_count();\n', '', '*Seal*'),
    Bug('an old acknowledgement confirms the amendment', 'storage/store_seal.cc',
        '    record.confirmed_count += numbers.size();\n',
        '    batch.DeleteRange(meta_->handle(), OutboxKey(window_id, numbers.begin()->first),\n'
        '                      OutboxKeyFrom(window_id + 1));\n'
        '    record.confirmed_count = record.seal_count;\n', '*Confirm*'),
    Bug('an acknowledgement is taken for another bucket', 'storage/outbox.cc',
        '  return value == EncodeBucketKey(name.bucket);\n', '  return true;\n', '*Confirm*'),
    Bug('an acknowledgement is counted as often as it comes', 'storage/store_seal.cc',
        '    record.confirmed_count += numbers.size();\n',
        '    record.confirmed_count += seals.size();\n', '*Confirm*'),
    Bug('an acknowledgement leaves behind what is remembered of the push', 'storage/store_seal.cc',
        '  AddToBatch(pushes, &batch);\n', '', '*Push*'),
    Bug('what upstream refused is not durable when that is said', 'storage/store_push.cc',
        '    sync |= record.state == PushState::kParked;\n', '', '*Push*'),
    Bug('a merge leaves behind what is remembered of pushes', 'storage/store_windows.cc',
        '    moved.window_id = merge.target_id;\n', '', '*Push*'),
    Bug('what is sent once more stays confirmed', 'storage/seal_records.cc',
        '  take(&window->confirmed_versions);\n', '', '*Resend*'),
    Bug('what is sent once more stays proved', 'storage/store_push.cc',
        '    waiting.proof = ProofLevel::kAck;\n', '', '*Resend*'),
    Bug('a merge forgets what was proved', 'storage/window_copy.cc',
        '    merge_.sums.read_back_versions += source->record.read_back_versions;\n', '',
        '*Confirm*'),
    Bug('what is sealed while seals are put back is sent once more', 'storage/store_push.cc',
        '        RotationOf(name->seal) > *resend->round_last) {\n', '        name->seal == 0) {\n',
        '*Resend*'),
    Bug('a merge forgets the outbox', 'storage/window_walk.cc',
        '    ranges_.push_back({window, Kind::kOutboxEntry,', '    if (window->id == 0) '
        'ranges_.push_back({window, Kind::kOutboxEntry,', '*WindowMerge*'),
    Bug('a merge forgets which spill families need its manifests', 'storage/store_windows.cc',
        '  target.sources.assign(sources.begin(), sources.end());\n', '', '*WindowMerge*'),
    Bug('a merge forgets its readers', 'storage/store_windows.cc',
        'spills_.HoldsBefore(by_view->second)', 'by_view->second == 0', '*WindowMerge*'),
    Bug('a merge drops what it could not read', 'storage/window_copy.cc',
        '  if (!more) CISTERN_RETURN_IF_ERROR(CheckSums());\n', '', '*WindowMerge*'),
    Bug('a seal covers what it could not read', 'storage/seal_cover.cc',
        'if (manifest == nullptr || !manifest->rotations) {\n', 'if (true) {\n', '*ReturnedFile*'),
    Bug('a rewriting forgets which windows await its family', 'storage/store.cc',
        '    HandOnAwaited(*commit.superseded_family, commit.family_id, &batch, &windows);\n', '',
        '*ReturnedFile*'),
    Bug('windows with dictionaries have records of version 8', 'storage/seal_records.cc',
        'r.dictionaries.empty() ? record_coding::kRecordVersion\n',
        'true ? record_coding::kRecordVersion\n', '*MetaRecords*', ('tests/storage/head_test',)),
    Bug('a torn end of a MANIFEST locks the store', 'storage/recovery_ladder.cc',
        '    CISTERN_RETURN_IF_ERROR(CutTornEnds());\n', '', '*TornEnd*', STORAGE),
    Bug('a reader does not see that an end is torn', 'storage/recovery_ladder.cc',
        '    HideTornEnds();\n', '', '*TornEnd*', STORAGE),
    Bug('rot before the synced end is cut off', 'storage/torn_end.cc',
        '  if (!end.torn || end.whole_bytes < synced_bytes) return', '  if (!end.torn) return',
        '*TornEnd*', STORAGE),
    Bug('a MANIFEST is noted as synced before it is', 'storage/counting_files.h',
        '    IOStatus status = FSWritableFileOwnerWrapper::Sync(options, dbg);\n',
        '    fs_->NoteSync(tracked_.get(), size);\n'
        '    IOStatus status = FSWritableFileOwnerWrapper::Sync(options, dbg);\n',
        'PowerCut.LosesNothing*', POWER_CUTS),
    Bug('logs behind a torn one are replayed', 'storage/torn_end.cc',
        '    is_behind_hole = !found.empty();\n', '', '*TornEnd*', STORAGE),
    Bug('one flipped bit of ACK costs its newest record', 'storage/ack_beacon.cc',
        '  return record + record;\n',
        '  return record + std::string(kRecordBytes, \'\\0\');\n', '*LostAck*', LOST_ACK),
    Bug('a slot of ACK without a record is no damage', 'storage/ack_beacon.cc',
        '    if (!first && !second) {\n', '    if (!first && !second) continue;\n'
        '    if (false) {\n', '*LostAck*', LOST_ACK),
    Bug('an old ACK is believed', 'storage/store_opener.cc',
        '  store_.beacon->ExpectManifest(manifest);\n', '', '*LostAck*', LOST_ACK),
    Bug('the doubt that a damaged ACK leaves is forgotten at once', 'storage/ack_beacon.cc',
        '  PutLittle(&record, static_cast<uint64_t>(facts.doubt));\n',
        '  PutLittle(&record, uint64_t{0});\n', '*LostAck*', LOST_ACK),
    Bug('a flush that goes on fails the journal', 'storage/journal.cc',
        '  options.no_slowdown = false;\n', '  options.no_slowdown = true;\n', '*JournalRoom*'),
    Bug('the allocator keeps what large rows leave', 'lib/base/malloc_thresholds.h',
        '  constexpr int kBytes = 128 * 1024;', '  constexpr int kBytes = 32 << 20;',
        'MemoryTest.RowsOfEverySize*', MEMORY),
]
