"""Bugs in scans and aggregates."""
from planted.bug import Bug

AGGREGATES = ('tests/engine/aggregate_test', 'tests/model/aggregate_model_test')

BUGS = [
    Bug('statistics answer for rows that have expired', 'engine/query/sealed_pages.cc',
        '  return !HasExpired(rows.expiry_s_first) &&\n         (rows', '  return (rows',
        '*Aggregate*', AGGREGATES),
    Bug('rows that live by their values show under every version',
        'engine/query/sealed_pages.cc', 'rows.all_marked || version ==', 'version <=',
        '*Aggregate*', AGGREGATES),
    Bug('the clock of the first bucket is that of all', 'engine/query/aggregate_cursor.cc',
        '  sealed_.ForgetTime();\n', '', '*Aggregate*', AGGREGATES),
    Bug('a manifest answers where a step cuts its bucket', 'engine/query/aggregate_cursor.cc',
        'step = plan_.StepOfAll(times, step_);', 'step = plan_.StepOf(m.first_time);',
        '*Aggregate*', AGGREGATES),
    Bug('a page is decoded though rows of it have expired', 'engine/query/sealed_pages.cc',
        '  return ShowAsTheyAre(rows, m.schema_version);\n', '  return true;\n', '*Aggregate*',
        AGGREGATES),
    Bug('a page is taken for the whole bucket', 'lib/segment/page_reader.cc',
        'if (in_.ok() && row_count && rows_.row_count != *row_count)',
        'if (in_.ok() && row_count && *row_count == SIZE_MAX)', '*Aggregate*',
        AGGREGATES),
    Bug('a page answers where a delete meets it', 'engine/query/aggregate_cursor.cc',
        ' && !AnyMeets(pages_.deletes, stretch.times)', '', '*Aggregate*', AGGREGATES),
    Bug('pages that overlap are not merged', 'engine/query/stretches.cc',
        '      joined.is_page = false;\n', '', '*Aggregate*', AGGREGATES),
    Bug('the newest seal answers for all of its bucket', 'storage/entity_buckets.cc',
        '++seal_count == 1 && decoded.ok()', '++seal_count > 0 && decoded.ok()', '*Aggregate*',
        AGGREGATES),
    Bug('a rotation between two buckets is not seen', 'engine/query/aggregate_cursor.cc',
        '  if (buckets_ && &buckets_->view() == heads.view.get()) return',
        '  if (buckets_) return', '*Aggregate*', AGGREGATES),
]
