// SealProof: whether what a seal said has arrived, as far as the cluster can show it.
//
// Level `ack` asks nothing: every batch was acknowledged at the asked consistency.
//
// Level `count` has the server count the rows between the seal's first and last living event time.
// The count, that of each column, the ends of the event time and each column's newest write time
// must be at least those of the seal's own rows. That costs the link one short row. It is sound
// while what is counted is the seal's: a row of another writer or seal in between can stand for one
// that is missing, and so can one that expires within a minute, which is not expected any more; a
// value that differs is not seen, nor what a delete of the seal left over. Less than it should be
// proves nothing either, as others may have deleted since: then the rows are read.
//
// Level `rows` reads the times of the seal's rows back, each regular column with writetime() and
// ttl(), and goes through them beside the seal's own: row_judge.h has what may be found. Rows of
// others between them are passed over, unless a range delete of the seal covers them. As every cell
// is compared there is no checksum besides. Not seen: when a row without cells was written, exact
// expiries, and what range deletes did outside of these times.
//
// What is not there, under no deletion of ours, is sent once more: an acknowledgement is no fsync.
// If it is absent even then, something newer upstream has deleted it: it counts as shadowed, not
// as failed. What still differs then is not proven, with words. Nor is a value that the cluster
// hides since its column was dropped and added again: a second sending shows it to nobody.
//
// Expiry is judged with a slack, by the trusted clock: over protocol v4 it is only exact to a
// second or two, and clocks differ.
//
// No clock and no network of its own. One page of ours and one of the cluster's are held; a call
// reads one of ours, the one before the first query for rows two. Use:
//
//   for (;;) switch (*proof.Next(now_s)) {
//     kAsk: run query(), Take() its answer; kGoOn: call again; kEnd: look at end()
//   }
//   kSendAgain: push source_to_send(), then SentAgain(), and go on as before
#ifndef CISTERN_ENGINE_REPLICATE_SEAL_PROOF_H_
#define CISTERN_ENGINE_REPLICATE_SEAL_PROOF_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "engine/cql/bound_values.h"
#include "engine/cql/response.h"
#include "engine/replicate/hidden_columns.h"
#include "engine/replicate/proof_statements.h"
#include "engine/replicate/row_judge.h"
#include "engine/replicate/seal_push.h"
#include "engine/replicate/seal_rows.h"
#include "engine/replicate/upstream_rows.h"

namespace cistern::replicate {

struct ProofOptions {
  ProofLevel level = ProofLevel::kAck;
  uint32_t page_rows_max = 5000;    // of an answer; from 1
  size_t page_bytes = 1024 * 1024;  // of an answer, about; one row may be longer
  int64_t expiry_slack_s = 2;       // a row may be over so long before its time
  HiddenColumns hidden = {};        // as the cluster's schema has them while it is asked
};

// A query to be prepared (ProofTexts), run at the consistency of the writes, and repeated as it is
// when it fails.
struct ProofQuery {
  ProofStatement statement = ProofStatement::kCount;
  cql::ValueRun values;
  uint32_t page_rows = 0;
  std::string paging_state;
};

// Rows of a seal, each counted once, by what the cluster shows of it.
struct ProofTally {
  uint64_t proven = 0;    // as it was sent
  uint64_t newer = 0;     // proven, but for what was written over since
  uint64_t hidden = 0;    // proven, but for values that it was agreed to have hidden
  uint64_t expired = 0;   // nothing of it has to be there any more
  uint64_t deleted = 0;   // the seal deletes it, and it is not there
  uint64_t shadowed = 0;  // absent though it was sent twice: deleted upstream
  uint64_t empty = 0;     // the seal says nothing of it upstream: push_batch.h
  uint64_t differing = 0;
  [[nodiscard]] uint64_t rows() const {
    return proven + newer + hidden + expired + deleted + shadowed + empty + differing;
  }
  void Add(const ProofTally& other);
  friend bool operator==(const ProofTally&, const ProofTally&) = default;
};

enum class ProofStep : uint8_t {
  kAsk,   // query() is to be run
  kGoOn,  // there is more to be done here
  kEnd,
};

enum class ProofEnd : uint8_t { kProven, kSendAgain, kNotProven };

// One thread at a time.
class SealProof {
 public:
  // `source`: what the seal was pushed from.
  SealProof(const ProofOptions& options, SealSource source);

  // `now_s`: the trusted clock's second, none: not known. After an error the same may be
  // asked for again:
  //   kCorruption  the cluster's rows are none, or not in their order: begin with a new proof
  //   others       of read_page
  [[nodiscard]] Result<ProofStep> Next(std::optional<int64_t> now_s);
  // REQUIRES: Next said kAsk.
  [[nodiscard]] const ProofQuery& query() const { return query_; }
  // The answer to query(); copies what it keeps. kCorruption: it is none, ask again.
  // REQUIRES: Next said kAsk.
  [[nodiscard]] Status Take(const cql::RowsResult& answer);

  // --- once Next said kEnd
  [[nodiscard]] ProofEnd end() const { return end_; }
  // What was looked at: at most what was asked for; more than `count` where that was not enough.
  // kAck for seals of which nothing can be asked.
  [[nodiscard]] ProofLevel reached() const { return reached_; }
  // At level rows, and complete when all is proven. Of a proof by count alone: nothing.
  [[nodiscard]] const ProofTally& tally() const { return settled_; }
  // Why it is not proven: the first row that differs.
  [[nodiscard]] const std::string& why() const { return why_; }
  // The first row of the seal that something newer was written over; empty: none was.
  [[nodiscard]] const std::string& first_newer() const { return first_newer_; }

  // --- once it ended with kSendAgain
  // What is to be pushed from its beginning: the seal's deletes, and the pages in question.
  [[nodiscard]] SealSource source_to_send() const;
  // All of that is acknowledged: Next goes on, over those pages alone. It does not end with
  // kSendAgain again.
  void SentAgain();

 private:
  enum class Phase : uint8_t { kBegin, kCounting, kReadingBack, kAsking, kJudging, kEnded };
  // What the server's count must reach.
  struct Counted {
    uint64_t rows = 0;
    RowKey first;  // in the declared order
    RowKey last;
    struct Column {
      uint64_t cells = 0;
      int64_t newest_us = 0;
    };
    std::vector<Column> columns;  // by the schema's regular columns
  };
  [[nodiscard]] ProofStep End(ProofEnd end);
  void BeginReadingBack();

  // --- level count
  [[nodiscard]] Result<ProofStep> CountOn(std::optional<int64_t> now_s);
  void CountRow(std::optional<int64_t> now_s);
  void AskForCount();
  [[nodiscard]] Status TakeCount(const cql::RowsResult& answer);

  // --- level rows
  [[nodiscard]] Result<ProofStep> ReadBack(std::optional<int64_t> now_s);
  void AskForRows(const CellValue& low, const CellValue& high);
  [[nodiscard]] uint32_t PageRows() const;
  [[nodiscard]] Result<ProofStep> JudgeOn(std::optional<int64_t> now_s);
  void Judge(const SealRow& row, const UpstreamRow* upstream, std::optional<int64_t> now_s,
             ProofTally* tally);
  void CountNewer(const SealRow& row, const UpstreamRow& upstream, std::optional<size_t> cell,
                  ProofTally* tally);
  void JudgeOther(std::optional<int64_t> now_s);
  void SendAgain(const PageSpan& pages);
  [[nodiscard]] uint32_t PageOf(const PageSpan& pages) const;
  void MeetPage();
  void Settle();
  [[nodiscard]] ProofStep EndOfRows();

  const ProofOptions options_;
  const SealSource source_;
  const TableSchema& schema_;

  Phase phase_ = Phase::kBegin;
  ProofQuery query_;
  PageSpan span_;  // of what is looked at
  std::optional<SealRows> rows_;
  SealRow row_;  // the next of ours
  bool has_row_ = false;
  UpstreamRows upstream_;
  bool has_upstream_row_ = false;
  bool upstream_is_at_end_ = false;
  SealRow other_;  // what the seal's range deletes say of a row that it has not

  Counted counted_;
  ProofTally settled_;  // of pages that need not be sent again
  ProofTally since_;    // the same behind those that need it, as far as is known
  ProofTally page_;     // of the page that is looked at
  uint32_t page_number_ = 0;
  RowKey spilled_key_;  // of the last row that stands in several pages
  PageSpan spilled_pages_;
  RowKey counted_before_;          // a row of again_ that needs not be looked at again; or empty
  std::optional<PageSpan> again_;  // pages to be sent again
  bool was_sent_again_ = false;
  ProofEnd end_ = ProofEnd::kProven;
  ProofLevel reached_ = ProofLevel::kAck;
  std::string why_;
  std::string first_newer_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SEAL_PROOF_H_
