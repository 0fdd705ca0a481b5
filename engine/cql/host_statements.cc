#include "engine/cql/host_statements.h"

#include <algorithm>

#include "lib/base/check.h"

namespace cistern::cql {

bool HostStatements::IsTold(HostId host, std::span<const uint32_t> statements) const {
  return std::ranges::all_of(statements, [&](uint32_t statement) {
    const auto found = tellings_.find({host, statement});
    return found != tellings_.end() && found->second->is_told && found->second->under_way == 0;
  });
}

bool HostStatements::IsAsked(HostId host) const {
  for (auto one = tellings_.lower_bound({host, 0});
       one != tellings_.end() && one->first.first == host; ++one) {
    if (one->second->under_way > 0) return true;
  }
  return false;
}

HostStatements::Asking HostStatements::Begin(HostId host, uint32_t statement) {
  std::shared_ptr<Telling>& telling = tellings_[{host, statement}];
  if (telling == nullptr) telling = std::make_shared<Telling>();
  telling->overlaps |= telling->under_way > 0;
  ++telling->under_way;
  telling->is_told = false;
  return {telling, ++number_last_};
}

void HostStatements::End(const Asking& asking, PrepareWord word) {
  if (asking.telling == nullptr) return;
  Telling& telling = *asking.telling;
  CISTERN_CHECK(telling.under_way > 0);
  --telling.under_way;
  // Answers may come in another order than a server has worked: of two that differ nobody knows
  // which is the last.
  const bool is_mixed = word == PrepareWord::kOther && telling.overlaps;
  if (word == PrepareWord::kLost || is_mixed) telling.passed = number_last_;
  if (telling.under_way == 0) telling.overlaps = false;
  const bool has_told = word == PrepareWord::kSame || word == PrepareWord::kOther;
  telling.is_told = has_told && asking.number > telling.passed;
}

void HostStatements::NoteTold(HostId host, uint32_t statement) {
  std::shared_ptr<Telling>& telling = tellings_[{host, statement}];
  if (telling == nullptr) telling = std::make_shared<Telling>();
  telling->is_told = true;
}

void HostStatements::NoteOtherTypes(HostId host, uint32_t statement) {
  for (const auto& [place, telling] : tellings_) {
    if (place.second != statement || place.first == host) continue;
    telling->is_told = false;
    // What it has answered to others of them is passed too, so they may be mixed.
    if (telling->under_way > 0) telling->passed = number_last_;
  }
}

void HostStatements::NoteForgotten(HostId host, uint32_t statement) {
  const auto found = tellings_.find({host, statement});
  if (found != tellings_.end()) found->second->is_told = false;
}

void HostStatements::Forget(HostId host) {
  std::erase_if(tellings_, [host](const auto& one) { return one.first.first == host; });
}

}  // namespace cistern::cql
