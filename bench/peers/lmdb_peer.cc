// LMDB: a key for each row in a B+ tree over mapped memory.
#include <lmdb.h>

#include <cstring>
#include <memory>
#include <string>

#include "bench/peers/peer.h"
#include "bench/peers/row_packing.h"

namespace cistern::bench {

namespace {

constexpr size_t kMapBytes = size_t{64} << 30;  // addresses, not memory

Status FromLmdb(int code) {
  return code == MDB_SUCCESS ? Status::Ok() : Status::IoError(mdb_strerror(code));
}

MDB_val ValueOf(const RowPacking::Key& key) {
  return {key.size(), const_cast<char*>(key.data())};
}

std::string_view ViewOf(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

struct CloseEnv {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
struct AbortTxn {
  void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
};
struct CloseCursor {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using Txn = std::unique_ptr<MDB_txn, AbortTxn>;
using LmdbCursor = std::unique_ptr<MDB_cursor, CloseCursor>;

class LmdbPeer : public Peer {
 public:
  LmdbPeer(const PeerSetup& setup, KeyOrder order) : packing_(setup.table, order) {}

  Status Open(const PeerSetup& setup) {
    MDB_env* env = nullptr;
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_env_create(&env)));
    env_.reset(env);
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_env_set_mapsize(env, kMapBytes)));
    CISTERN_RETURN_IF_ERROR(
        FromLmdb(mdb_env_open(env, setup.directory.c_str(), MDB_NOSYNC | MDB_NOMETASYNC, 0644)));
    CISTERN_ASSIGN_OR_RETURN(Txn txn, Begin(0));
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_dbi_open(txn.get(), nullptr, 0, &dbi_)));
    return FromLmdb(mdb_txn_commit(txn.release()));
  }

  // In order of time rows mostly go to the end of the tree, which LMDB does without a search.
  Status Append(const RowBlock& rows) override {
    CISTERN_ASSIGN_OR_RETURN(Txn txn, Begin(0));
    for (size_t i = 0; i < rows.size(); ++i) {
      const RowView row = rows.Row(i);
      packing_.PackValue(row, &value_);
      const RowPacking::Key bytes = packing_.KeyOf(row.entity, row.time_ms);
      MDB_val key = ValueOf(bytes);
      MDB_val value = {value_.size(), value_.data()};
      int put = MDB_KEYEXIST;  // also of a key that is not behind the last one
      if (packing_.order() == KeyOrder::kTimeEntity) {
        put = mdb_put(txn.get(), dbi_, &key, &value, MDB_APPEND);
      }
      if (put == MDB_KEYEXIST) put = mdb_put(txn.get(), dbi_, &key, &value, 0);
      CISTERN_RETURN_IF_ERROR(FromLmdb(put));
    }
    return FromLmdb(mdb_txn_commit(txn.release()));
  }

  Status Settle() override { return Status::Ok(); }  // the tree is all there is

  Status ScanRows(RowVisitor* visitor) override {
    return Iterate(0, [&](std::string_view key, std::string_view value) {
      visitor->Visit(packing_.Unpack(key, value));
      return true;
    });
  }
  Status ScanEntity(uint32_t entity, RowVisitor* visitor) override {
    return OfEntity(entity, [&](std::string_view key, std::string_view value) {
      visitor->Visit(packing_.Unpack(key, value));
    });
  }
  Status ScanColumns(RowSums* sums) override {
    return Iterate(0, [&](std::string_view key, std::string_view value) {
      sums->Add(packing_.table(), packing_.Unpack(key, value));
      return true;
    });
  }
  Result<PeerAggregate> Aggregate(uint32_t entity, size_t column) override {
    PeerAggregate result;
    CISTERN_RETURN_IF_ERROR(OfEntity(entity, [&](std::string_view, std::string_view value) {
      if (const auto number = packing_.Number(value, column)) result.Add(*number);
    }));
    return result;
  }

  Status NewestRow(uint32_t entity, RowVisitor* visitor) override {
    return LastOf(entity, [&](std::string_view key, std::string_view value) {
      visitor->Visit(packing_.Unpack(key, value));
    });
  }
  Result<int64_t> NewestTime(uint32_t entity) override {
    int64_t time_ms = 0;
    CISTERN_RETURN_IF_ERROR(LastOf(entity, [&](std::string_view key, std::string_view) {
      time_ms = packing_.ReadKey(key).second;
    }));
    return time_ms;
  }
  Status RowAt(uint32_t entity, int64_t time_ms, RowVisitor* visitor) override {
    CISTERN_RETURN_IF_ERROR(BeginQuestion());
    const RowPacking::Key bytes = packing_.KeyOf(entity, time_ms);
    MDB_val key = ValueOf(bytes);
    MDB_val value{};
    const int code = mdb_cursor_get(asking_.get(), &key, &value, MDB_SET_KEY);
    if (code == MDB_SUCCESS) visitor->Visit(packing_.Unpack(ViewOf(key), ViewOf(value)));
    mdb_txn_reset(reading_.get());
    return code == MDB_NOTFOUND ? Status::Ok() : FromLmdb(code);
  }

  Status DropBefore(int64_t time_ms) override {
    CISTERN_ASSIGN_OR_RETURN(Txn txn, Begin(0));
    MDB_cursor* opened = nullptr;
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_cursor_open(txn.get(), dbi_, &opened)));
    LmdbCursor cursor(opened);
    MDB_val key{};
    MDB_val value{};
    int code = mdb_cursor_get(opened, &key, &value, MDB_FIRST);
    for (; code == MDB_SUCCESS; code = mdb_cursor_get(opened, &key, &value, MDB_NEXT)) {
      if (packing_.ReadKey(ViewOf(key)).second < time_ms) {
        CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_cursor_del(opened, 0)));
      } else if (packing_.order() == KeyOrder::kTimeEntity) {
        break;
      }
    }
    cursor.reset();
    return FromLmdb(mdb_txn_commit(txn.release()));
  }

 private:
  Result<Txn> Begin(unsigned flags) {
    MDB_txn* txn = nullptr;
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_txn_begin(env_.get(), nullptr, flags, &txn)));
    return Txn(txn);
  }

  // A reading transaction and its cursor, kept from one question to the next.
  Status BeginQuestion() {
    if (reading_ == nullptr) {
      CISTERN_ASSIGN_OR_RETURN(reading_, Begin(MDB_RDONLY));
      MDB_cursor* opened = nullptr;
      CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_cursor_open(reading_.get(), dbi_, &opened)));
      asking_.reset(opened);
      return Status::Ok();
    }
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_txn_renew(reading_.get())));
    return FromLmdb(mdb_cursor_renew(reading_.get(), asking_.get()));
  }

  // The entity's last row: the one before the next entity's first.
  template <typename Take>
  Status LastOf(uint32_t entity, const Take& take) {
    CISTERN_RETURN_IF_ERROR(BeginQuestion());
    const RowPacking::Key bytes = packing_.KeyOf(entity + 1, 0);
    MDB_val key = ValueOf(bytes);
    MDB_val value{};
    int code = mdb_cursor_get(asking_.get(), &key, &value, MDB_SET_RANGE);
    code = mdb_cursor_get(asking_.get(), &key, &value, code == MDB_SUCCESS ? MDB_PREV : MDB_LAST);
    if (code == MDB_SUCCESS && packing_.ReadKey(ViewOf(key)).first == entity) {
      take(ViewOf(key), ViewOf(value));
    }
    mdb_txn_reset(reading_.get());
    return code == MDB_NOTFOUND ? Status::Ok() : FromLmdb(code);
  }

  // From the entity's first row on if the keys are so ordered, until `take` returns false.
  template <typename Take>
  Status Iterate(uint32_t first, const Take& take) {
    CISTERN_ASSIGN_OR_RETURN(const Txn txn, Begin(MDB_RDONLY));
    MDB_cursor* opened = nullptr;
    CISTERN_RETURN_IF_ERROR(FromLmdb(mdb_cursor_open(txn.get(), dbi_, &opened)));
    const LmdbCursor cursor(opened);
    const RowPacking::Key begin = packing_.KeyOf(first, 0);
    MDB_val key = ValueOf(begin);
    MDB_val value{};
    int code = mdb_cursor_get(opened, &key, &value, MDB_SET_RANGE);
    for (; code == MDB_SUCCESS; code = mdb_cursor_get(opened, &key, &value, MDB_NEXT)) {
      if (!take(ViewOf(key), ViewOf(value))) return Status::Ok();
    }
    return code == MDB_NOTFOUND ? Status::Ok() : FromLmdb(code);
  }

  // Of its range of keys, or of all of them.
  template <typename Take>
  Status OfEntity(uint32_t entity, const Take& take) {
    const bool is_range = packing_.order() == KeyOrder::kEntityTime;
    return Iterate(is_range ? entity : 0, [&](std::string_view key, std::string_view value) {
      const bool is_its = packing_.ReadKey(key).first == entity;
      if (is_its) take(key, value);
      return is_its || !is_range;
    });
  }

  RowPacking packing_;
  std::unique_ptr<MDB_env, CloseEnv> env_;
  MDB_dbi dbi_ = 0;
  Txn reading_;  // of questions
  LmdbCursor asking_;
  std::string value_;
};

template <KeyOrder order>
Result<std::unique_ptr<Peer>> OpenLmdb(const PeerSetup& setup) {
  auto peer = std::make_unique<LmdbPeer>(setup, order);
  CISTERN_RETURN_IF_ERROR(peer->Open(setup));
  return std::unique_ptr<Peer>(std::move(peer));
}

}  // namespace

std::vector<PeerKind> LmdbPeers() {
  return {{"lmdb (entity, ts)", "row per key, MDB_NOSYNC", OpenLmdb<KeyOrder::kEntityTime>},
          {"lmdb (ts, entity)", "row per key, MDB_NOSYNC, MDB_APPEND where in order",
           OpenLmdb<KeyOrder::kTimeEntity>}};
}

}  // namespace cistern::bench
