"""Bugs of the second copy of the catalog, and of salvage."""
from planted.bug import Bug

SALVAGE = ('tests/engine/salvage_test',)
SALVAGE_CRASH = ('tests/crash/salvage_crash_test',)

BUGS = [
    Bug('a salvage that is refused removes what is in the way', 'engine/salvage.cc',
        '    if (!has_begun_) return;  // nothing in the new directory is ours\n', '',
        '*SalvageCare*', SALVAGE),
    Bug('an outbox with a hole confirms what it lacks', 'engine/salvage.cc',
        'const bool knows_confirmed = sound.ok() || is_rescued;',
        'const bool knows_confirmed = sound.ok() || true;', '*SalvageCare*', SALVAGE),
    Bug('the copy of the catalog is not written with each change', 'storage/store_copy.cc',
        '    const Status copied = copy_->Write(change);\n',
        '    const Status copied = Status::Ok();\n', '*SalvageFilesTest*', SALVAGE),
    Bug('how long the MANIFEST was is not looked at', 'storage/recovery_ladder.cc',
        'size_bytes >= ends.manifest_bytes', 'size_bytes > 0', '*AnOldManifest*', SALVAGE),
    Bug('which MANIFEST is in force is guessed', 'storage/safe_repair.cc',
        'names.size() == 1', '!names.empty()', '*SalvageFilesTest*', SALVAGE),
    Bug('what is sealed in an ended window rises in a salvage', 'storage/store_windows.cc',
        '  if (HasSourceToRead(record)) CopyEndedSeals(window_id);\n', '',
        '*SalvageFilesTest*', SALVAGE),
    Bug('a salvage forgets what is confirmed', 'engine/salvage.cc',
        '  return waits.ok() && !*waits;\n', '  return waits.ok() && *waits && !*waits;\n',
        '*SalvageConfirmedTest*', SALVAGE),
    Bug('a salvage takes what waits for confirmed', 'storage/catalog_rescue.cc',
        '    else CISTERN_RETURN_IF_ERROR(PutMeta(OutboxKey(window_id, seal), '
        'EncodeBucketKey(*bucket)));\n', '', '*SalvageConfirmedTest*', SALVAGE),
    Bug('the copy of the catalog calls confirmed what is to be sent again',
        'storage/store_push.cc', '  PutWaiting(std::move(numbers), &copied);\n',
        '', '*WhatIsToBeSentAgain*', SALVAGE),
    Bug('confirmations are lost when windows are merged', 'storage/store_windows.cc',
        'for (const auto key_of : {CatalogRoundsKey, CatalogConfirmedKey}) {',
        'for (const auto key_of : {CatalogRoundsKey}) {', '*ThroughMerges*', SALVAGE),
    Bug('open rows of a salvaged store count as sealed', 'engine/salvage_target.cc',
        '  CISTERN_ASSIGN_OR_RETURN(rotation_, store_->NextSequence());\n'
        '  writer_.emplace(FamilyKind::kSpill,',
        '  rotation_ = 1;\n  writer_.emplace(FamilyKind::kSpill,', '*SalvageConfirmedTest*',
        SALVAGE),
    Bug('half a salvaged store passes for a whole one', 'storage/store_opener.cc',
        '    CISTERN_RETURN_IF_ERROR(WriteSalvagingMark(store_.fs.get(), directory()));\n', '',
        '*SalvageCrash*', SALVAGE_CRASH),
    Bug('a salvaged store is one before it is whole', 'engine/salvage_target.cc',
        '  CISTERN_RETURN_IF_ERROR(EndRotation());\n'
        '  const OpenedStore& opened = store_->db().opened();\n',
        '  const OpenedStore& opened = store_->db().opened();\n'
        '  CISTERN_RETURN_IF_ERROR(EndSalvaging(opened.fs.get(), opened.config.directory));\n'
        '  CISTERN_RETURN_IF_ERROR(EndRotation());\n', '*SalvageCrash*', SALVAGE_CRASH),
]
