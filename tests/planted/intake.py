"""Bugs on the way of a batch from its text to its outcome."""
from planted.bug import Bug

INTAKE = ('tests/engine/intake_test',)
REPEATS = INTAKE + ('tests/lib/row/row_test',)
TOOL = ('tests/tools/tool_test',)

BUGS = [
    Bug('a submitted batch stays until it is asked for', 'engine/ingest/write_unit.h',
        '  if (unit->is_submitted) delete static_cast<SubmittedUnit*>(unit);\n', '', '*SubmitTest*',
        INTAKE),
    Bug('a queued batch is charged its rows alone', 'engine/producer_impl.cc',
        'CopyBytesMax(batch) : batch.MemoryBytes()', 'CopyBytesMax(batch) : batch.byte_count()',
        '*SubmitTest*', INTAKE),
    Bug('room for rows that are gone is queued', 'engine/producer_impl.cc',
        'batch.MemoryBytes() > 2 * batch.byte_count() + kRoomBytesKept', 'batch.empty()',
        '*SubmitTest*', INTAKE),
    Bug('queues may have the whole budget', 'engine/engine_open.cc',
        'limits::QueuedBytesMax(options.memory_budget_bytes)', 'options.memory_budget_bytes',
        '*SubmitTest*', INTAKE),
    Bug('a batch that is refused is gone', 'engine/producer_impl.cc',
        '  return Entered([&] { return Enqueue(batch, &batch, options); });\n',
        '  RowBatch rows = std::move(batch);\n'
        '  return Entered([&] { return Enqueue(rows, &rows, options); });\n',
        '*SubmitTest*', INTAKE),
    Bug('callers of the engine wait behind each other\'s syncs', 'engine/engine_impl.cc',
        '  return shared_producer_->Append(batch, options);\n',
        '  static std::mutex one_at_a_time;\n'
        '  const std::lock_guard lock(one_at_a_time);\n'
        '  return shared_producer_->Append(batch, options);\n', '*SharedAppend*', INTAKE),
    Bug('whose rows are stored waits for the next sync', 'engine/ingest/committer.cc',
        '      rounds_.wait(round);\n',
        '      rounds_.wait(round);\n      rounds_.wait(round + 1);\n', '*SharedAppend*', INTAKE),
    Bug('what was sealed already is sealed again', 'engine/seal/sealer.cc',
        '  if (sealed.ok()) at_hand_->CompareWith(*std::move(sealed));\n', '', '*RepeatTest*',
        INTAKE),
    Bug('provisional versions are compared', 'lib/row/shadowed_rows.cc',
        '  if (!is_settled) return dropped;\n', '  (void)is_settled;\n',
        '*Repeat*:*ShadowedRows*', REPEATS),
    Bug('a version that lives longer is a repeat', 'lib/row/shadowed_rows.cc',
        '  if (kept_s != 0 && (expiry_s == 0 || expiry_s > kept_s)) return false;\n',
        '  (void)expiry_s, (void)kept_s;\n', '*Repeat*:*ShadowedRows*', REPEATS),
    Bug('what a rotation leaves out is in no state', 'engine/ingest/rotation.cc',
        '  commit.state.versions_superseded += dropped_.count;\n', '', '*Repeat*', INTAKE),
    Bug('repeats of a rewrite are not counted', 'engine/ingest/respill.cc',
        '  repeats_ += merge_->repeats();\n', '', '*Repeat*', INTAKE),
    Bug('the older of two equal rows stays', 'lib/row/shadowed_rows.cc',
        '  KeepUnshadowed(schema, versions, std::numeric_limits<int64_t>::min(), keep);\n',
        '  keep->assign(versions.size(), false);\n  keep->back() = true;\n',
        '*Repeat*:*ShadowedRows*', REPEATS),
    Bug('an amendment of repeats is an empty segment', 'storage/bucket_merge.cc',
        '      GiveAnyVersion(rows);\n', '', '*RepeatTest*', INTAKE),
    Bug('a row with the time of its arrival settles the unit of all', 'tools/ingest_run.cc',
        ' || (is_row && !mapper->GivesArrivalTimes());', ' || is_row;', '*IngestRunTest*', TOOL),
    Bug('a blank hides the unit of a number', 'tools/row_mapper_time.cc',
        "namespace {\n\n// Without the blanks around it; empty if it is no number, or below 0.\n"
        "std::string_view BareNumber(std::string_view text) {\n"
        "  while (text.starts_with(' ')) text.remove_prefix(1);\n",
        "namespace {\n\nstd::string_view BareNumber(std::string_view text) {\n",
        '*IngestRunTest*', TOOL),
    Bug('a column of times is taken in whatever unit', 'tools/row_mapper_time.cc',
        '  unit_doubted_ = doubt.has_value();\n', '  if (doubt) return Status::Ok();\n',
        '*IngestRunTest*', TOOL),
    Bug('a date in digits alone is a number', 'tools/time_unit_guess.cc',
        '  if (pattern.empty()) return std::nullopt;\n',
        '  if (!number.empty()) return std::nullopt;\n', '*TimeUnitGuess*', TOOL),
    Bug('by a pattern a comma is a point', 'tools/row_mapper.cc',
        '!HoldsNumber(spec.type.kind) || has_pattern)',
        '!HoldsNumber(spec.type.kind) || (has_pattern && text.empty()))', '*RowMapperTest*', TOOL),
]
