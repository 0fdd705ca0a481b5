// No engine: the rows are made, looked at and forgotten.
#include "bench/peers/peer.h"

namespace cistern::bench {

namespace {

class GeneratorPeer : public Peer {
 public:
  Status Append(const RowBlock& rows) override {
    rows_ += rows.size();
    return Status::Ok();
  }
  Status Settle() override { return Status::Ok(); }
  Status ScanRows(RowVisitor*) override { return Status::Ok(); }
  Status ScanEntity(uint32_t, RowVisitor*) override { return Status::Ok(); }
  Status ScanColumns(RowSums*) override { return Status::Ok(); }
  Result<PeerAggregate> Aggregate(uint32_t, size_t) override { return PeerAggregate{}; }
  Status DropBefore(int64_t) override { return Status::Ok(); }

 private:
  uint64_t rows_ = 0;
};

}  // namespace

PeerKind GeneratorKind() {
  PeerKind kind;
  kind.name = kGenerator;
  kind.settings = "the rows alone: subtracted from the CPU of all others";
  kind.open = [](const PeerSetup&) -> Result<std::unique_ptr<Peer>> {
    return std::unique_ptr<Peer>(std::make_unique<GeneratorPeer>());
  };
  kind.can_drop = false;
  return kind;
}

}  // namespace cistern::bench
