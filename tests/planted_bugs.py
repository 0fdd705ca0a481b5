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

from planted import backups, engine, intake, life_cycle, queries, storage

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / 'build-planted'
BUGS = [bug for part in (backups, engine, intake, life_cycle, queries, storage)
        for bug in part.BUGS]
ENGINE = ('tests/engine/engine_parts_test',)
BACKUPS = ('tests/engine/backup_test', 'tests/crash/backup_crash_test')
INTAKE = ('tests/engine/intake_test',)
STORAGE = ('tests/storage/storage_test',)
LOST_ACK = ('tests/engine/lost_ack_test',)
POWER_CUTS = ('tests/crash/power_cut_test',)
AGGREGATES = ('tests/engine/aggregate_test', 'tests/model/aggregate_model_test')
MEMORY = ('tests/limits/memory_test',)
LIFE_CYCLE = ('tests/engine/life_cycle_test',)


class Bug(NamedTuple):
    name: str
    file: str
    line: str     # as it is
    planted: str  # as it would be
    tests: str    # that are to fail, at least one of them
    programs: tuple[str, ...] = ENGINE  # that have them


BUGS = [
    Bug('a backup is there before its files are', 'storage/backup_writer.cc',
        '  CISTERN_RETURN_IF_ERROR(target_.Prepare(record_.number));\n',
        '  CISTERN_RETURN_IF_ERROR(target_.Prepare(record_.number));\n'
        '  record_.files.push_back({"MANIFEST-000001", 0, 0, 0});\n'
        '  CISTERN_RETURN_IF_ERROR(target_.Write(record_));\n'
        '  record_.files.clear();\n', '*Backup*', BACKUPS),
    Bug('a backup says that it has more of the journal than it has', 'engine/ingest/committer.cc',
        '  return look(sequence_);\n', '  return look(sequence_ + 1);\n', '*Backup*', BACKUPS),
    Bug('a backup has the log without its last rows', 'storage/backup_writer.cc',
        'PinOwn(name, size_bytes));\n', 'PinOwn(name, size_bytes / 2));\n', '*Backup*', BACKUPS),
    Bug('a backup is there before its files are on the device', 'storage/file_copy.cc',
        'content.ok() ? target->Fsync(IOOptions(), nullptr) : IOStatus::OK();',
        'IOStatus::OK();', '*PowerCut*', BACKUPS),
    Bug('a backup is there before the names of its files are on the device',
        'storage/backup_directory.cc',
        '  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs_.get(), SharedPath()));\n', '', '*PowerCut*',
        BACKUPS),
    Bug('old backups go though the new ones are of a damaged store', 'storage/backup_writer.cc',
        'record.ok() && record->problems.empty()', 'record.ok()', '*Backup*', BACKUPS),
    Bug('what the directory of backups has is copied again', 'storage/backup_writer.cc',
        '  prefix.resize(prefix.size() - (HexOf(0) + ".sst").size());\n',
        '  prefix.resize(name.size() - 3);\n', '*Backup*', BACKUPS),
    Bug('a restored store is one before its files are', 'storage/backup_restorer.cc',
        '  CrashPoint("restore:after_mark");\n',
        '  CISTERN_RETURN_IF_ERROR(\n'
        '      WriteStoreFormat(fs_.get(), to_, {.ready = true, .store_id = record_.store_id}));\n'
        '  CrashPoint("restore:after_mark");\n', '*Backup*', BACKUPS),
    Bug('a submitted batch stays until it is asked for', 'engine/ingest/write_unit.h',
        '  if (unit->is_submitted) delete static_cast<SubmittedUnit*>(unit);\n', '', '*SubmitTest*',
        INTAKE),
    Bug('a queued batch is charged its rows alone', 'engine/producer_impl.cc',
        'CopyBytesMax(batch) : batch.MemoryBytes()', 'CopyBytesMax(batch) : batch.byte_count()',
        '*SubmitTest*', INTAKE),
    Bug('room for rows that are gone is queued', 'engine/producer_impl.cc',
        'batch.MemoryBytes() > 2 * batch.byte_count() + kRoomBytesKept', 'batch.empty()',
        '*SubmitTest*', INTAKE),
    Bug('queues may have the whole budget', 'engine/engine_impl.cc',
        'limits::QueuedBytesMax(options.memory_budget_bytes)', 'options.memory_budget_bytes',
        '*SubmitTest*', INTAKE),
    Bug('a batch that is refused is gone', 'engine/producer_impl.cc',
        '  return Enqueue(batch, &batch, options);\n',
        '  RowBatch rows = std::move(batch);\n  return Enqueue(rows, &rows, options);\n',
        '*SubmitTest*', INTAKE),
    Bug('callers of the engine wait behind each other\'s syncs', 'engine/engine_impl.cc',
        '  return shared_producer_->Append(batch, options);\n',
        '  static std::mutex one_at_a_time;\n'
        '  const std::lock_guard lock(one_at_a_time);\n'
        '  return shared_producer_->Append(batch, options);\n', '*SharedAppend*', INTAKE),
    Bug('whose rows are stored waits for the next sync', 'engine/ingest/committer.cc',
        '      rounds_.wait(round);\n', '      LeadRound(outcome, help);\n', '*SharedAppend*',
        INTAKE),
    Bug('what was sealed already is sealed again', 'engine/seal/sealer.cc',
        '  if (sealed.ok()) at_hand_->CompareWith(*std::move(sealed));\n', '', '*RepeatTest*',
        INTAKE),
    Bug('an amendment of repeats is an empty segment', 'storage/bucket_merge.cc',
        '      GiveAnyVersion(rows);\n', '', '*RepeatTest*', INTAKE),
    Bug('a copy of a batch has the room of the first', 'lib/row/row_batch.cc',
        '  const size_t rows = std::min(other.rows_in_use(), other.kinds_.size());',
        '  const size_t rows = other.kinds_.size();', '*RowBatch*', ('tests/lib/row/row_test',)),
    Bug('iterators over the catalog look at deleted ranges', 'storage/rocksdb_options.cc',
        '  options.ignore_range_deletions = true;\n', '', '*DamagedManifests*'),
    Bug('the cut is forgotten: replay takes what is in segments', 'engine/ingest/replay.cc',
        'sink_.BeginRecord(sequence, sequence > floor_);', 'sink_.BeginRecord(sequence, true);',
        '*Seal*:*Recovery*:*Maintenance*'),
    Bug('a journal is dropped before the batch that replaces it', 'engine/ingest/rotation.cc',
        '      phase_ = Phase::kCommit;\n',
        '      CISTERN_RETURN_IF_ERROR(store_->journal().DropFrozen());\n'
        '      phase_ = Phase::kCommit;\n', '*Recovery*:*Maintenance*:*Respill*:*Seal*'),
    Bug('a window is dropped before the batch that ends it', 'storage/store_windows.cc',
        '    CrashPoint("window:before_end");\n',
        '    for (const auto& w : next->windows) {\n'
        '      if (w->id != window_id) continue;\n'
        '      (void)db_->db()->DropColumnFamily(w->family->handle()).ok();\n'
        '    }\n'
        '    CrashPoint("window:before_end");\n', '*WindowEnd*'),
    Bug('windows end by the wall clock', 'engine/maintenance.cc',
        'keeper_->Step(retention_time());', 'keeper_->Step({INT32_MAX, INT32_MAX, true});',
        '*WindowEnd*:*Clock*'),
    Bug('a wall clock is believed though the monotonic clock contradicts it',
        'engine/ingest/clock_guard.cc',
        '  if (record_.witnessed) return std::abs(ahead_us) <= limits_.step_us;\n',
        '  if (record_.witnessed) return true;\n', '*ClockJump*'),
    Bug('a boot believes a wall clock however far ahead', 'engine/ingest/clock_guard.cc',
        '  return ahead_us >= -limits_.boot_back_us && ahead_us <= limits_.boot_ahead_us;\n',
        '  return ahead_us >= -limits_.boot_back_us;\n', '*ClockJump*'),
    Bug('a false time that was believed is never taken back', 'engine/ingest/clock_guard.cc',
        '  return std::min(std::abs(wall_us - record_.trusted_us), limits_.dwell_us);\n',
        '  if (wall_us < record_.trusted_us) return INT64_MAX;\n'
        '  return std::min(std::abs(wall_us - record_.trusted_us), limits_.dwell_us);\n',
        '*ClockJump*'),
    Bug('a boot begins anew to wait for a wall clock', 'engine/ingest/clock_guard.cc',
        'record_.dwelt_us = goes_on ?', 'record_.dwelt_us = goes_on && !is_first_look_ ?',
        '*ClockJump*'),
    Bug('what has dwelled is certain', 'engine/ingest/clock_guard.cc',
        '  record_.certain_us = is_vouched || is_first ?', '  record_.certain_us = true ?',
        '*ClockJump*'),
    Bug('rows that are nowhere else go by the time that is believed',
        'engine/retain/retention_policy.h', '    return IsConfirmed(window) ? now_s : certain_s;\n',
        '    return now_s;\n', '*ClockJump*'),
    Bug('a bucket rests by timestamps ahead of the clock', 'engine/seal/round_planner.cc',
        '  if (newest_write_us <= now_us) return newest_write_us;\n',
        '  return newest_write_us;\n', '*ClockJump*'),
    Bug('rows are not sent that have expired by a time that is believed',
        'engine/replicate/replicator_sends.cc', 'std::optional(parts_.certain_s())',
        'std::optional(parts_.now_s())', '*ReplicationExpiry*',
        ('tests/engine/replicate/replication_test',)),
    Bug('what a seal drops is not counted', 'storage/store_seal.cc',
        '    state.versions_superseded += versions_taken - versions_kept;\n', '', '*Seal*'),
    Bug('a seal is not counted in its window', 'storage/seal_records.cc',
        '  window->version_count += manifest.version_count();\n', '', '*Seal*'),
    Bug('the read-back of a seal is left out', 'engine/seal/sealer.cc',
        '  phase_ = Phase::kReadBack;\n', '  phase_ = Phase::kCommit;\n', '*SealTrouble*'),
    Bug('the read-back of a merge is left out', 'engine/retain/window_merger.cc',
        '      phase_ = Phase::kReadBack;\n', '      phase_ = Phase::kCommit;\n', '*WindowMerge*'),
    Bug('a round takes its number when it has chosen', 'engine/seal/sealer.cc',
        '  writer_.emplace(window_->family, round_);\n',
        '  CISTERN_ASSIGN_OR_RETURN(round_, store_->NextSequence());\n'
        '  writer_.emplace(window_->family, round_);\n', '*SealSteps*'),
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
    Bug('a window does not wait for files that may come back', 'engine/retain/window_keeper.cc',
        ' || AwaitsFiles(*current, window->record)) continue;\n', ') continue;\n',
        '*ReturnedFile*'),
    Bug('a rewriting forgets which windows await its family', 'storage/store.cc',
        '    HandOnAwaited(*commit.superseded_family, commit.family_id, &batch, &windows);\n', '',
        '*ReturnedFile*'),
    Bug('a compaction that met damage is begun again', 'engine/engine_impl.cc',
        '  if (met_corruption) config_.store.segments_rest = true;\n',
        '  (void)met_corruption;\n', '*Quarantine*'),
    Bug('a width changes under rows that are there', 'engine/engine_core.cc',
        '  if (!never && (!last || last->key.start_s < from_s)) return Status::Ok();\n',
        '  if (!never) return Status::Ok();\n', '*AlterWidth*'),
    Bug('statistics answer for rows that have expired', 'engine/query/aggregate_cursor.cc',
        '  return !HasExpired(rows.expiry_s_first) &&\n         (rows', '  return (rows',
        '*Aggregate*', AGGREGATES),
    Bug('rows that live by their values show under every version',
        'engine/query/aggregate_cursor.cc', 'rows.all_marked || version ==', 'version <=',
        '*Aggregate*', AGGREGATES),
    Bug('the clock of the first bucket is that of all', 'engine/query/aggregate_cursor.cc',
        '  now_s_.reset();\n', '', '*Aggregate*', AGGREGATES),
    Bug('a manifest answers where a step cuts its bucket', 'engine/query/aggregate_cursor.cc',
        'step = plan_.StepOfAll(times, step_);', 'step = plan_.StepOf(m.first_time);',
        '*Aggregate*', AGGREGATES),
    Bug('a page is decoded though rows of it have expired', 'engine/query/aggregate_cursor.cc',
        '  if (!ShowAsTheyAre(rows, m.schema_version)) return false;\n', '', '*Aggregate*',
        AGGREGATES),
    Bug('a page is taken for the whole bucket', 'engine/query/aggregate_cursor.cc',
        '  if (page_rows_.row_count != m.row_count) return false;\n', '', '*Aggregate*',
        AGGREGATES),
    Bug('a page answers where a delete meets it', 'engine/query/aggregate_cursor.cc',
        ' && !AnyMeets(pages_.deletes, stretch.times)', '', '*Aggregate*', AGGREGATES),
    Bug('pages that overlap are not merged', 'engine/query/stretches.cc',
        '      joined.is_page = false;\n', '', '*Aggregate*', AGGREGATES),
    Bug('the newest seal answers for all of its bucket', 'storage/entity_buckets.cc',
        '++seal_count == 1 && decoded.ok()', '++seal_count > 0 && decoded.ok()', '*Aggregate*',
        AGGREGATES),
    Bug('a rotation between two buckets is not seen', 'engine/query/aggregate_cursor.cc',
        '  if (buckets_ && &buckets_->view() == view.get()) return', '  if (buckets_) return',
        '*Aggregate*', AGGREGATES),
    Bug('stamps are the clock\'s millisecond, whatever was issued', 'engine/ingest/write_clock.cc',
        'std::max(grain_us, last_us_.load() + 1)', 'grain_us', '*ClockTest*'),
    Bug('windows with dictionaries have records of version 8', 'storage/seal_records.cc',
        'r.dictionaries.empty() ? record_coding::kRecordVersion\n',
        'true ? record_coding::kRecordVersion\n', '*MetaRecords*', ('tests/storage/head_test',)),
    Bug('a dictionary is better than whatever a window has', 'engine/seal/text_trainer.cc',
        'Checksum(other.bytes()) != former_checksum_', 'other.bytes().empty()',
        '*DictionaryChoice*:*TextTrainer*'),
    Bug('any number of dictionaries becomes one window', 'engine/retain/merge_policy.cc',
        '      if (run.dictionary_count > limits::kMergedDictionariesMax) break;\n', '',
        '*MergePolicy*'),
    Bug('buckets are opened ahead, however fast that is', 'engine/query/scan_cursor.cc',
        '>= kSlowOpenUs', '>= 0', '*ReadAhead*'),
    Bug('a torn end of a MANIFEST locks the store', 'storage/recovery_ladder.cc',
        '    CISTERN_RETURN_IF_ERROR(CutTornEnds());\n', '', '*TornEnd*', STORAGE),
    Bug('a reader does not see that an end is torn', 'storage/recovery_ladder.cc',
        '    HideTornEnds();\n', '', '*TornEnd*', STORAGE),
    Bug('rot before the synced end is cut off', 'storage/torn_end.cc',
        '  if (!end.torn || end.whole_bytes < synced_bytes) return', '  if (!end.torn) return',
        '*TornEnd*', STORAGE),
    Bug('a MANIFEST is noted as synced before it is', 'storage/file_system.cc',
        '    const uint64_t size = fs_->SizeOf(*tracked_);  // before: others append meanwhile\n'
        '    IOStatus status = FSWritableFileOwnerWrapper::Sync(options, dbg);\n'
        '    if (status.ok()) fs_->NoteSync(tracked_.get(), size);\n',
        '    const uint64_t size = fs_->SizeOf(*tracked_);\n'
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
        '  options.no_slowdown = false;\n', '  options.no_slowdown = true;\n',
        '*JournalRoom*'),
    Bug('the allocator keeps what large rows leave', 'lib/base/malloc_thresholds.h',
        '  constexpr int kBytes = 128 * 1024;', '  constexpr int kBytes = 32 << 20;',
        'MemoryTest.RowsOfEverySize*', MEMORY),
    Bug('buckets are never opened ahead', 'engine/query/scan_cursor.cc',
        'if (adapts_) opens_ahead_ =', 'if (adapts_) opens_ahead_ = false && ', '*ReadAhead*'),
    Bug('a store that failed is still read', 'engine/core_keeper.cc',
        '  if (core_->committer().has_failed()) return core_->committer().failure();\n', '',
        '*Healing*', LIFE_CYCLE),
    Bug('a forgotten cursor keeps a failed store shut', 'engine/core_keeper.cc',
        'if (failed_.use_count() > 1 && age_us >= kCursorGraceUs) {', 'if (age_us < 0) {',
        '*Healing*', LIFE_CYCLE),
    Bug('a write that chose to wait is refused at once', 'engine/engine_impl.cc',
        'return open.ok() || !waits ? open : keeper_->AwaitCore();', '(void)waits;\n  return open;',
        '*Healing*', LIFE_CYCLE),
    Bug('healing creates what is gone', 'engine/core_keeper.cc',
        '  config_.store.create_if_missing = false;\n'
        '  config_.store.expected_store_id = opened->store().db().opened().store_id;\n', '',
        '*MovedStore*', LIFE_CYCLE),
    Bug('what was on the device before a failure is forgotten', 'engine/core_keeper.cc',
        '  config_.acknowledged_sequence = failed_->committer().synced_sequence();\n', '',
        '*MovedStore*', LIFE_CYCLE),
    Bug('a log counts as synced that is not found', 'storage/counting_files.h',
        'if (!place_.is_known() || FilePlace::Of(path_) == place_) return IOStatus::OK();',
        'if (path_.empty() || !place_.is_known() || true) return IOStatus::OK();', '*MovedStore*',
        LIFE_CYCLE),
    Bug('files are made in what took the place of the store', 'storage/file_system.cc',
        'return IsOurs(path) ? CheckPlace() : IOStatus::OK();', 'return IOStatus::OK();',
        '*MovedStore*', LIFE_CYCLE),
    Bug('a lock file is held twice', 'storage/store_lock.cc',
        '  if (held.places.contains(FilePlace::Of(path))) return IsHeld(directory, path);\n', '',
        '*MovedStore*', LIFE_CYCLE),
    Bug('a child of fork closes the store of its parent', 'engine/engine_impl.cc',
        '  if (keeper_->home().is_here()) {\n', '  if (keeper_) {\n', '*Fork*', LIFE_CYCLE),
    Bug('a child of fork reads on', 'engine/held_cursor.h',
        '    if (!home_.is_here()) {\n      status_ = home_.Check();\n      return false;\n    }\n',
        '', '*Fork*', LIFE_CYCLE),
    Bug('an engine that rests looks all the time', 'engine/maintenance.cc',
        '  int64_t idle_us = INT64_MAX;\n', '  int64_t idle_us = 200\'000;\n', '*Idle*',
        LIFE_CYCLE),
    Bug('what comes is slept over', 'engine/ingest/committer.cc',
        '  heads_->work_came->Soon();\n  return Status::Ok();\n', '  return Status::Ok();\n',
        '*Idle*', LIFE_CYCLE),
    Bug('two who close end one thread twice', 'engine/maintenance_thread.cc',
        '  const std::lock_guard lock(stop_mutex_);\n', '',
        'MaintenanceThread.IsStopped*:CallPairs.CloseFromManyThreads*',
        (*LIFE_CYCLE, 'tests/engine/call_pairs_test')),
]


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
                        '-Dtools=enabled', '-Dbuildtype=release', '-Doptimization=1'],
                       check=True, env=environment, stdout=subprocess.DEVNULL)
    return subprocess.run(['ninja', '-C', folder, *programs], capture_output=True, text=True)


def run(tests, programs):
    """The names of the tests that fail, and how a program ended that ended otherwise."""
    failed = set()
    for program in programs:
        try:
            done = subprocess.run([COPY / 'build' / program, f'--gtest_filter={tests}'],
                                  capture_output=True, text=True, timeout=600, errors='replace')
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
    if failed := run(everything, programs):
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
