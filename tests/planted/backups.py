"""Bugs of backups and of restored stores."""
from planted.bug import Bug

BACKUPS = ('tests/engine/backup_test', 'tests/crash/backup_crash_test')

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
    Bug('a backup lacks the copy of the catalog', 'storage/backup_writer.cc',
        '(IsCatalogCopyName(name) && name != kCatalogFileNames[1])', 'false',
        '*SalvagedAsAnyOther*', BACKUPS),
]
