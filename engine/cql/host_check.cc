// Whether the hosts that are connected live: each is asked, behind all that it was sent.
#include <memory>
#include <utility>

#include "engine/cql/session.h"

#include "lib/base/concat.h"

namespace cistern::cql {

Status Connection::AskForLife(std::function<void(bool)> done) {
  const int64_t asked_us = loop_.NowUs();
  return Send(
      [](const RequestHead& head, std::string* out) {
        AppendOptions(head, out);
        return Status::Ok();
      },
      AnswerKind::kSupported, 0,
      [this, alive = std::weak_ptr<int>(alive_), asked_us,
       done = std::move(done)](const Answer& answer) {
        const bool lives = answer.fate == RequestFate::kAnswered;
        done(lives);
        if (lives || alive.expired() || state_ == State::kClosed) return;
        // Behind a slow link the answer may be late while others come.
        if (received_last_us_ >= asked_us) return;
        Fail(Status::IoError(Concat({where(), " gives no sign of life; the link is taken for "
            "broken"})));
      });
}

Status Session::AskHosts(std::function<void(bool)> done) {
  if (is_closed_) return Status::Closed("the session was closed");
  struct Round {
    std::function<void(bool)> done;
    size_t left_count = 0;
    bool all_live = true;
  };
  const auto round = std::make_shared<Round>();
  round->done = std::move(done);
  Status refused = Status::NotFound("no host is up");
  for (const auto& [id, host] : cluster_->pool().hosts()) {
    if (host.state != HostState::kUp) continue;
    Connection* const connection = cluster_->at(id);
    const Status asked = connection == nullptr ? Status::Closed("the host is gone")
                                               : connection->AskForLife([round](bool lives) {
                                                   round->all_live &= lives;
                                                   if (--round->left_count != 0) return;
                                                   round->done(round->all_live);
                                                 });
    if (asked.ok()) {
      ++round->left_count;
    } else {
      round->all_live = false;
      refused = asked;
    }
  }
  return round->left_count == 0 ? refused : Status::Ok();
}

}  // namespace cistern::cql
