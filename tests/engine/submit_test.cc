// Batches that are submitted: what they hold, until when, and what is left of them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class SubmitTest : public EngineFixture {
 protected:
  SubmitTest() { options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin; }
  void SetUp() override {
    EngineFixture::SetUp();
    auto made = engine_->NewProducer();
    ASSERT_TRUE(made.ok());
    producer_ = *std::move(made);
  }
  void TearDown() override { producer_.reset(); }

  // Rows of `sensor` of the milliseconds from `first` on, with a text of so many bytes.
  RowBatch Batch(const std::string& sensor, int64_t first, size_t rows, size_t text_bytes) {
    RowBatch batch(schema_);
    for (size_t row = 0; row < rows; ++row) {
      batch.BeginRow();
      EXPECT_TRUE(batch.SetBytes(0, sensor).ok());
      EXPECT_TRUE(batch.SetInt(2, kStartMs + first + static_cast<int64_t>(row)).ok());
      EXPECT_TRUE(batch.SetDouble(3, 1).ok());
      EXPECT_TRUE(batch.SetBytes(4, std::string(text_bytes, 'x')).ok());
      EXPECT_TRUE(batch.EndRow().ok());
    }
    return batch;
  }
  uint64_t QueuedBytes() { return engine_->GetMetrics().queued_bytes; }

  std::unique_ptr<Producer> producer_;
};

// As a sensor loop that does not care.
TEST_F(SubmitTest, BatchesThatNobodyAsksForGiveTheirMemoryBack) {
  constexpr int kBatches = 300;  // 30 MB, with a budget of 8 MiB
  for (int i = 0; i < kBatches; ++i) {
    const auto ticket = producer_->Submit(Batch("a", 100 * i, 10, 10'000), {Durability::kLog});
    ASSERT_TRUE(ticket.ok()) << i << ": " << ticket.status().ToString();
    EXPECT_GT(QueuedBytes(), 100'000u);
    TickAll();
    ASSERT_EQ(QueuedBytes(), 0u) << i;
  }
  EXPECT_EQ(engine_->GetMetrics().versions_written, kBatches * 10u);
  EXPECT_EQ(engine_->GetMetrics().busy_rejections, 0u);
  EXPECT_EQ(ScanAll("a").size(), kBatches * 10u) << "and scans have the memory that they need";
}

TEST_F(SubmitTest, AnOutcomeIsThereOnceItsBatchIsGone) {
  const auto first = producer_->Submit(Row("a", kStartMs, 1));
  const auto second = producer_->Submit(Row("a", kStartMs + 1, 2));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_GT(QueuedBytes(), 0u);
  EXPECT_EQ(engine_->GetMetrics().queued_batches, 2u);
  TickAll();
  EXPECT_EQ(QueuedBytes(), 0u);
  EXPECT_EQ(engine_->GetMetrics().queued_batches, 0u);
  const auto answer = producer_->Wait(*second);
  ASSERT_TRUE(answer.ok());
  EXPECT_GT(answer->sequence, 0u);
  EXPECT_EQ(producer_->Wait(*second).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(producer_->Wait(*first).ok());
  EXPECT_EQ(producer_->Wait(*first).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(producer_->Wait(Ticket{3}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(producer_->Wait(Ticket{0}).status().code(), StatusCode::kNotFound);
}

TEST_F(SubmitTest, OutcomesAreBounded) {
  const uint64_t before = engine_->GetMetrics().memory_bytes_charged;
  std::vector<Ticket> tickets;
  for (size_t i = 0; i < 3 * limits::kOutcomesMax; ++i) {
    const auto ticket = producer_->Submit(Row("a", kStartMs, 1), {Durability::kLog});
    ASSERT_TRUE(ticket.ok()) << i << ": " << ticket.status().ToString();
    tickets.push_back(*ticket);
    if (i % 100 == 0) TickAll();
  }
  TickAll();
  const size_t forgotten = tickets.size() - limits::kOutcomesMax;
  EXPECT_EQ(producer_->Wait(tickets[forgotten - 1]).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(producer_->Wait(tickets[forgotten]).ok());
  EXPECT_TRUE(producer_->Wait(tickets.back()).ok());
  producer_.reset();
  engine_->Rotate().IgnoreError();  // the rows leave the budget, with what outcomes had
  EXPECT_LT(engine_->GetMetrics().memory_bytes_charged, before + (16 << 10));
}

TEST_F(SubmitTest, ARefusedBatchIsAsItWas) {
  RowBatch batch = Batch("a", 0, 1, 100);
  Result<Ticket> ticket = Status::Busy("");
  int64_t submitted = 0;
  for (;; ++submitted) {
    batch = Batch("a", submitted, 1, 100);
    ticket = producer_->Submit(std::move(batch), {Durability::kLog});
    if (!ticket.ok()) break;
  }
  ASSERT_EQ(ticket.status().code(), StatusCode::kBusy);
  EXPECT_EQ(static_cast<size_t>(submitted), limits::kProducerQueueSlots);
  ASSERT_EQ(batch.schema(), schema_);
  ASSERT_EQ(batch.MemoryBytes(), Batch("a", 0, 1, 100).MemoryBytes());
  ASSERT_EQ(batch.row_count(), 1u);
  EXPECT_EQ(batch.bytes(0, 4), std::string(100, 'x'));
  TickAll();
  EXPECT_TRUE(producer_->Submit(std::move(batch)).ok());
  TickAll();
  EXPECT_EQ(ScanAll("a").size(), static_cast<size_t>(submitted) + 1);
  // For want of memory, and for rows that cannot be taken.
  for (int i = 0; i < 100; ++i) {
    batch = Batch("b", 0, 10, 10'000);
    ticket = producer_->Submit(std::move(batch));
    if (!ticket.ok()) break;
  }
  EXPECT_EQ(ticket.status().code(), StatusCode::kBusy);
  EXPECT_EQ(batch.row_count(), 10u);
  batch = Row("c", kStartMs * 100, 1);
  EXPECT_EQ(producer_->Submit(std::move(batch)).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(batch.row_count(), 1u);
}

TEST_F(SubmitTest, ACopyIsSubmittedAndTheBatchStays) {
  const RowBatch batch = Row("a", kStartMs, 1);
  const auto ticket = producer_->Submit(batch);
  ASSERT_TRUE(ticket.ok());
  EXPECT_EQ(batch.row_count(), 1u);
  EXPECT_TRUE(producer_->Wait(*ticket).ok());
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

// All that a batch has is charged, and the room that it had before is not queued with it.
TEST_F(SubmitTest, ABatchIsChargedItsMemoryAndASmallOneIsSmall) {
  for (const bool moved : {false, true}) {
    RowBatch batch = Batch("a", 0, 60, 10'000);
    batch.Clear();
    AddRow(&batch, "a", kStartMs, 1);
    EXPECT_GT(batch.MemoryBytes(), 600'000u);
    ASSERT_TRUE((moved ? producer_->Submit(std::move(batch)) : producer_->Submit(batch)).ok());
    EXPECT_LT(QueuedBytes(), 2048u);
    TickAll();
  }
  RowBatch batch = Batch("a", 0, 60, 10'000);
  const size_t bytes = batch.MemoryBytes();
  ASSERT_TRUE(producer_->Submit(std::move(batch)).ok());
  EXPECT_GE(QueuedBytes(), bytes);
  EXPECT_LT(QueuedBytes(), bytes + 1024);
}

// What is queued leaves memory for the rest.
TEST_F(SubmitTest, QueuesHaveTheirShareOfTheBudget) {
  const size_t most = limits::QueuedBytesMax(options_.memory_budget_bytes);
  uint64_t taken = 0;
  while (producer_->Submit(Batch("a", 0, 1, 100'000)).ok()) ++taken;
  EXPECT_LE(QueuedBytes(), most);
  EXPECT_GT(QueuedBytes(), most - 220'000);
  EXPECT_GT(taken, 5u);
  EXPECT_TRUE(Append("b", kStartMs, 1).ok()) << "a batch that somebody waits for is the caller's";
  TickAll();
  EXPECT_EQ(QueuedBytes(), 0u);
  EXPECT_TRUE(producer_->Submit(Batch("a", 0, 10, 104'000)).ok()) << "as large as one may be";
}

// The limit that a batch meets is the one that can be asked for.
TEST_F(SubmitTest, TheBudgetBoundsABatchAsLimitsSay) {
  EXPECT_EQ(limits::BatchBytesMax(size_t{64} << 20), size_t{8} << 20);
  EXPECT_EQ(limits::BatchBytesMax(size_t{1} << 40), limits::kBatchBytesMax);
  EXPECT_EQ(limits::BatchBytesMax(size_t{32} << 20), size_t{4} << 20);
  const size_t most = limits::BatchBytesMax(engine_->GetMetrics().memory_budget_bytes);
  RowBatch batch(schema_);
  const auto add = [&](size_t bytes) {
    batch.BeginRow();
    EXPECT_TRUE(batch.SetBytes(0, "a").ok());
    EXPECT_TRUE(batch.SetInt(2, kStartMs + static_cast<int64_t>(batch.row_count())).ok());
    EXPECT_TRUE(batch.SetBytes(4, std::string(bytes, 'x')).ok());
    EXPECT_TRUE(batch.EndRow().ok());
  };
  add(limits::kRowBytesMax - 1);
  EXPECT_TRUE(engine_->Append(batch).ok()) << "any one row is taken";
  batch.Clear();
  add(most / 2);
  const size_t row_bytes = batch.byte_count() - most / 2;
  add(most - batch.byte_count() - row_bytes);
  ASSERT_EQ(batch.byte_count(), most);
  EXPECT_TRUE(engine_->Append(batch).ok());
  Rotate();  // the head's rows leave the budget
  EXPECT_TRUE(producer_->Submit(batch).ok());
  batch.Clear();
  add(most / 2);
  add(most - batch.byte_count() - row_bytes + 1);
  for (const Status& refused :
       {engine_->Append(batch).status(), producer_->Submit(batch).status()}) {
    EXPECT_EQ(refused.code(), StatusCode::kTooLarge);
    EXPECT_NE(refused.message().find(std::to_string(most)), std::string::npos);
  }
}

// Nothing was written: the producer gets its units back.
TEST_F(SubmitTest, CloseAnswersAllThatWasSubmitted) {
  std::vector<Ticket> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(*producer_->Submit(Row("a", kStartMs + i, i)));
  ASSERT_TRUE(engine_->Close().ok());
  for (const Ticket ticket : tickets) EXPECT_TRUE(producer_->Wait(ticket).ok());
  EXPECT_EQ(producer_->Submit(Row("a", kStartMs, 1)).status().code(), StatusCode::kClosed);
}

}  // namespace
}  // namespace cistern::testing
