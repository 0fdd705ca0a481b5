// What tests of the outbox share: what is in it, upstream's answers, and the sums that follow.
#ifndef CISTERN_TESTS_ENGINE_PUSH_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_PUSH_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/push_records.h"
#include "storage/seal_reader.h"
#include "tests/engine/window_merge_fixture.h"
#include "tests/support/outbox_names.h"

namespace cistern::testing {

using Pushes = std::vector<std::pair<SealName, PushRecord>>;

class PushFixture : public WindowMergeTest {
 protected:
  Store& TheStore() { return Core()->store(); }

  // What is to be replicated, in the order of the seals.
  std::vector<SealName> Outbox() {
    const auto names = NamesInOutbox(TheStore().spills().view());
    EXPECT_TRUE(names.ok()) << names.status().ToString();
    return names.ok() ? *names : std::vector<SealName>();
  }
  std::vector<uint64_t> OutboxSeals() {
    std::vector<uint64_t> out;
    for (const SealName& name : Outbox()) out.push_back(name.seal);
    return out;
  }
  void Confirm(const std::vector<SealName>& seals, ProofLevel proof = ProofLevel::kAck) {
    const Status s = TryConfirm(seals, proof);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  uint64_t Confirmed() {
    uint64_t count = 0;
    for (const auto& window : Windows()) count += window->record.confirmed_count;
    return count;
  }

  static PushRecord Pushing(const std::string& position) {
    PushRecord r;
    r.position = position;
    return r;
  }
  static PushRecord Parked(const std::string& words) {
    PushRecord r;
    r.state = PushState::kParked;
    r.parked_us = kStartUs;
    r.attempts = 5;
    r.error_code = 0x2200;
    r.words = words;
    return r;
  }
  Status TryNote(const Pushes& pushes) { return Core()->maintenance().NotePushes(pushes); }
  void Note(const Pushes& pushes) {
    const Status s = TryNote(pushes);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // The seals of which something is remembered.
  std::vector<uint64_t> Noted() {
    std::vector<uint64_t> out;
    for (const auto& [seal, push] : TheStore().pushes()) out.push_back(seal);
    return out;
  }
  // Whether the record is of a live window that has the seal in its outbox.
  bool IsAtHome(uint64_t seal) {
    const auto push = TheStore().push(seal);
    const auto windows = Windows();
    return push && std::any_of(windows.begin(), windows.end(), [&](const auto& window) {
             return window->id == push->window_id &&
                    *IsInOutbox(TheStore().spills().view()->meta, window->id, {push->bucket, seal});
           });
  }

  // Lives day after day, with what is due sealed, until `confirm`, which is asked at each step,
  // meets a merge.
  void LiveIntoAMerge(const std::function<Status()>& confirm) {
    options_.seal_when_due = true;
    options_.seal_grace_s = options_.seal_idle_s = 0;
    Reopen();
    for (int day = 0; day < 40; ++day) {
      MustAppend("a", kStartMs + day * kDayMs, day);
      clock_->AdvanceSeconds(kDayS);
      for (bool more = true; more;) {
        more = engine_->Tick({.steps_max = 1})->more_due;
        const Status s = confirm();
        if (s.code() == StatusCode::kBusy) return;
        ASSERT_TRUE(s.ok()) << s.ToString();
      }
    }
    FAIL() << "no merge was met";
  }

  // The counters are the sums of what is in the outbox and beside it, and all is sound.
  void ExpectReconciled() {
    std::map<uint64_t, uint64_t> versions;  // of every seal that was not confirmed
    std::map<ProofLevel, uint64_t> confirmed;
    for (const SealName& name : Outbox()) versions[name.seal] = 0;
    ManifestWalker walker(TheStore().spills().view(), "");
    for (auto item = walker.Next(); item.ok() && *item; item = walker.Next()) {
      const auto waits = versions.find((*item)->seal);
      const Manifest& manifest = (*item)->manifest;
      if (waits == versions.end()) {
        confirmed[manifest.proof] += manifest.version_count();
        continue;
      }
      waits->second += manifest.version_count();
      EXPECT_EQ(manifest.proof, ProofLevel::kAck) << waits->first << " waits";
    }
    uint64_t waiting = 0;
    uint64_t parked = 0;
    for (const auto& [seal, count] : versions) {
      const auto push = TheStore().push(seal);
      (push && push->state == PushState::kParked ? parked : waiting) += count;
      if (push) {
        EXPECT_EQ(push->version_count, count) << seal;
        EXPECT_TRUE(IsAtHome(seal)) << seal;
      }
    }
    for (const uint64_t seal : Noted()) EXPECT_TRUE(versions.contains(seal)) << seal;
    EXPECT_EQ(KeysOf("P"), Noted().size());
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_waiting, waiting);
    EXPECT_EQ(m.versions_parked, parked);
    const uint64_t by_count = confirmed[ProofLevel::kCount];
    const uint64_t by_rows = confirmed[ProofLevel::kRows];
    EXPECT_EQ(m.versions_confirmed, confirmed[ProofLevel::kAck] + by_count + by_rows);
    EXPECT_EQ(m.versions_confirmed_by_count, by_count);
    EXPECT_EQ(m.versions_confirmed_by_rows, by_rows);
    ExpectSound();
  }
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_PUSH_FIXTURE_H_
