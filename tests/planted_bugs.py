#!/usr/bin/env python3
"""Plants bugs, one at a time, and fails unless the tests meet each: planted_bugs.py [WORD...]

With words those alone whose names have one of them. Each is a line of the engine or of storage that
a tired mind could have written. The tree is copied to build-planted/ first; what is planted there
never touches this one.
"""
import os
import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / 'build-planted'
ENGINE = ('tests/engine/engine_parts_test',)
AGGREGATES = ('tests/engine/aggregate_test', 'tests/model/aggregate_model_test')


class Bug(NamedTuple):
    name: str
    file: str
    line: str     # as it is
    planted: str  # as it would be
    tests: str    # that are to fail, at least one of them
    programs: tuple[str, ...] = ENGINE  # that have them


BUGS = [
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
        'keeper_->Step(clock_->now_s(), clock_->settled());', 'keeper_->Step(INT32_MAX, true);',
        '*WindowEnd*:*Clock*'),
    Bug('what a seal drops is not counted', 'storage/store_seal.cc',
        '    state.versions_superseded += versions_taken - versions_kept;\n', '', '*Seal*'),
    Bug('a seal is not counted in its window', 'storage/seal_records.cc',
        '  window->version_count += manifest.version_count();\n', '', '*Seal*'),
    Bug('the read-back of a seal is left out', 'engine/seal/sealer.cc',
        '  phase_ = Phase::kReadBack;\n', '  phase_ = Phase::kCommit;\n', '*SealTrouble*'),
    Bug('the read-back of a merge is left out', 'engine/retain/window_merger.cc',
        '      phase_ = Phase::kReadBack;\n', '      phase_ = Phase::kCommit;\n', '*WindowMerge*'),
    Bug('a round takes its number when it has chosen', 'engine/seal/sealer.cc',
        '  writer_.emplace(FamilyKind::kWindow, window_->family, round_);\n',
        '  CISTERN_ASSIGN_OR_RETURN(round_, store_->NextSequence());\n'
        '  writer_.emplace(FamilyKind::kWindow, window_->family, round_);\n', '*SealSteps*'),
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
    Bug('a seal asks for the room of the whole bucket', 'engine/seal/round_planner.cc',
        '  if (!has_room && plan_.candidates.empty()) CutToPiece(size_.bytes, &candidate_);\n',
        '', '*FullDiskCycle*'),
    Bug('a seal needs room for its largest round', 'engine/seal/sealer.cc',
        'constexpr uint64_t kShortRoundBytesMin = 128ull << 10;',
        'constexpr uint64_t kShortRoundBytesMin = 4ull << 20;', '*FullDiskCycle*'),
    Bug('a piece of a bucket counts as the whole', 'engine/seal/sealer.cc',
        'if (is_piece_ || !awaited_.empty()) rotations', 'if (!awaited_.empty()) rotations',
        '*FullDiskCycle*'),
    Bug('a full disk keeps what upstream has', 'engine/retain/window_keeper.cc',
        '  if (!is_budget_short && store_->CheckDevice(kShedBelowBytes).ok()) return false;\n',
        '  if (!is_budget_short) return false;\n', '*FullDiskCycle*'),
    Bug('what gives space back does without the ballast', 'storage/store.cc',
        '  return ballast != nullptr && ballast->held() ? ballast->Release() : Status::Ok();\n',
        '  return Status::Ok();\n', '*FullDiskCycle*'),
    Bug('rows take the room of the ballast', 'storage/store.cc',
        'bytes + (ballast_held() ? 0 : db_->opened().ballast->bytes())', 'bytes',
        '*FullDiskCycle*'),
    Bug('an error takes the count of what was sealed', 'engine/maintenance.cc',
        '  if (report.buckets == 0) CISTERN_RETURN_IF_ERROR(report.stopped);\n',
        '  CISTERN_RETURN_IF_ERROR(report.stopped);\n', '*FullDiskCycle*'),
    Bug('rows of wide buckets wait for the end', 'engine/seal/round_planner.cc',
        '  return at_us <= now_us_;\n', '  return false;\n', '*SealAge*'),
    Bug('an opening makes rows young', 'storage/rotation_times.cc',
        '  for (size_t i = 0; i < rows.row_count; ++i) note(rows.write_us[i]);\n', '',
        '*SealAge*:*OpenRows*'),
    Bug('rows in memory are not overdue', 'engine/open_rows.cc',
        '        NoteOverdue(at_us, bucket->row_count());\n', '', '*OpenRows*'),
    Bug('nobody is told that the clock stops sealing', 'engine/maintenance.cc',
        '    return Status::Busy("the clock is not trusted, so that',
        '    if (false) return Status::Busy("the clock is not trusted, so that', '*OpenRows*'),
    Bug('files of windows are never merged', 'engine/maintenance.cc',
        '    const Result<bool> did = MergeSmallFiles(*window->family);\n',
        '    const Result<bool> did = false;\n', '*WindowFiles*'),
    Bug('buckets are never opened ahead', 'engine/query/scan_cursor.cc',
        'if (adapts_) opens_ahead_ =', 'if (adapts_) opens_ahead_ = false && ', '*ReadAhead*'),
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
        done = subprocess.run([COPY / 'build' / program, f'--gtest_filter={tests}'],
                              capture_output=True, text=True, timeout=600, errors='replace')
        failed |= {line.split()[3].rstrip(',') for line in done.stdout.splitlines()
                   if line.startswith('[  FAILED  ]') and '.' in line}
        if done.returncode not in (0, 1):
            failed.add(f'exit {done.returncode}')
    return failed


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
