// What Replication::Start refuses, and in which words.
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <limits>

#include "tests/engine/replication_api_fixture.h"

namespace cistern::testing {
namespace {

class ReplicationRefusal : public ReplicationApiFixture {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = temp_.path() + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    return path;
  }
  // It begins with these words, and is of the kind that stays wrong.
  void ExpectRefused(const std::string& words) {
    const Status s = Refusal();
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
    EXPECT_EQ(s.message().substr(0, words.size()), words);
  }
};

TEST_F(ReplicationRefusal, Contacts) {
  ExpectRefused("ClusterAccess::contacts is empty: name a node of the cluster");
  access_.contacts = {"db:0"};
  ExpectRefused("ClusterAccess::contacts 'db:0' has a port that is no number from 1 to 65535");
  access_.contacts = {"fd00::1"};
  ExpectRefused("ClusterAccess::contacts 'fd00::1' has several colons: an IPv6 address stands in");
  access_.contacts = {"db", "db:9042"};
  ExpectRefused("ClusterAccess::contacts: db:9042 is given twice");
  access_.contacts = {"db"};
  for (const int64_t wrong_us : {int64_t{999}, int64_t{3'600'000'001}}) {
    access_.connect_timeout_us = wrong_us;
    ExpectRefused("ClusterAccess::connect_timeout_us is " + std::to_string(wrong_us) +
                  "; it may be from 1000 to 3600000000");
  }
  access_ = {};
  access_.contacts = {"db"};
  access_.protocol = static_cast<ClusterProtocol>(3);
  ExpectRefused("ClusterAccess::protocol is 3; it may be from 0 to 2");
  access_.protocol = ClusterProtocol::kV4;
  access_.compression = static_cast<ClusterCompression>(2);
  ExpectRefused("ClusterAccess::compression is 2; it may be from 0 to 1");
}

TEST_F(ReplicationRefusal, Passwords) {
  const auto source = [] { return Result<std::string>("secret"); };
  access_.contacts = {"db"};
  access_.password = source;
  ExpectRefused("ClusterAccess::password goes with ClusterAccess::user");
  access_.user = "edge";
  ExpectRefused("the password of ClusterAccess::user would go over the network in clear: add "
                "ClusterAccess::tls, or, in a network that you trust, "
                "ClusterAccess::allow_cleartext_password");
  access_.allow_cleartext_password = true;
  access_.password_file = "somewhere";
  ExpectRefused("ClusterAccess::password_file and ClusterAccess::password: give one of them");
  access_.password = nullptr;
  ExpectRefused("the password file somewhere cannot be read: No such file");
  access_.password_file = File("empty", "\nsecret\n");
  ExpectRefused("the password file " + access_.password_file + " has nothing in its first line");
  access_.password_file = File("zero", std::string("se\0cret", 7));
  ExpectRefused("the password file " + access_.password_file + " has a zero byte in its first");
  // Nobody writes into it: who waited for that would wait for ever.
  const std::string pipe = File("pipe", "");
  ASSERT_EQ(std::remove(pipe.c_str()), 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  access_.password_file = pipe;
  ExpectRefused("the password file " + pipe + " is no regular file");
  access_.password_file = File("long", std::string(5'000, 'x'));
  ExpectRefused("the first line of the password file " + access_.password_file + " is longer than");
  access_.password_file.clear();
  ExpectRefused("ClusterAccess::user needs a password: name its file by "
                "ClusterAccess::password_file, or give it by ClusterAccess::password");
  access_.user.clear();
  ExpectRefused("ClusterAccess::allow_cleartext_password goes with ClusterAccess::user");
  access_.allow_cleartext_password = false;
  access_.password_file = "somewhere";
  ExpectRefused("ClusterAccess::password_file goes with ClusterAccess::user");
}

TEST_F(ReplicationRefusal, Tls) {
  access_.contacts = {"db"};
  access_.ca_file = File("ca.pem", "");
  ExpectRefused("ClusterAccess::ca_file is of ClusterAccess::tls: add that");
  access_.tls = true;
  access_.certificate_file = access_.ca_file;
  ExpectRefused("ClusterAccess::certificate_file goes with ClusterAccess::key_file: give both");
  access_.key_file = temp_.path();
  ExpectRefused("ClusterAccess::key_file '" + temp_.path() + "' is a directory: name a file");
  access_.key_file = "nowhere";
  ExpectRefused("ClusterAccess::key_file 'nowhere' cannot be read: No such file");
  access_.certificate_file.clear();
  ExpectRefused("ClusterAccess::key_file goes with ClusterAccess::certificate_file: give both");
  access_.key_file.clear();
  ExpectRefused("TLS: cannot use the authorities in " + access_.ca_file);
  access_.ca_file.clear();
  access_.user = "edge";
  access_.password_file = File("password", "secret\n");
  access_.allow_cleartext_password = true;
  ExpectRefused("ClusterAccess::allow_cleartext_password does nothing beside ClusterAccess::tls");
}

TEST_F(ReplicationRefusal, OptionsOutOfTheirRange) {
  access_.contacts = {"db"};
  struct Case {
    std::function<void(ReplicationOptions*)> spoil;
    const char* words;
  };
  const Case cases[] = {
      {[](auto* o) { o->consistency = static_cast<Consistency>(9); }, "consistency is 9; it may"},
      {[](auto* o) { o->drain = static_cast<DrainMode>(3); }, "drain is 3; it may be from 0 to 2"},
      {[](auto* o) { o->live_span_s = 0; }, "live_span_s is 0; it may be from 1 to 31622400"},
      {[](auto* o) { o->live_percent = 100; }, "live_percent is 100; it may be from 1 to 99"},
      {[](auto* o) { o->bytes_per_s_max = 1; }, "bytes_per_s_max is 1; it may be 0, or from 1024"},
      {[](auto* o) { o->in_flight_bytes_max = 1; }, "in_flight_bytes_max is 1; it may be from 65"},
      {[](auto* o) { o->batch_rows_max = 0; }, "batch_rows_max is 0; it may be from 1 to 65535"},
      {[](auto* o) { o->batch_bytes_max = 5 << 20; }, "batch_bytes_max is 5242880; it may be from"},
      {[](auto* o) { o->pushing_seals_max = 257; }, "pushing_seals_max is 257; it may be from"},
      {[](auto* o) { o->hold_us = -1; }, "hold_us is -1; it may be from 0 to 3600000000"},
      {[](auto* o) { o->proof = static_cast<ProofLevel>(3); }, "proof is 3; it may be from 0 to 2"},
      {[](auto* o) { o->accepted_drops.resize(4097); }, "accepted_drops has 4097 drops; at most"},
      {[](auto* o) { o->accepted_drops = {{"pumps", "flow", 0}}; },
       "accepted_drops: 'pumps.flow@1970-01-01T00:00:00.000Z' does not name keyspace, table and"},
  };
  for (const Case& one : cases) {
    options_ = {};
    one.spoil(&options_);
    ExpectRefused(std::string("ReplicationOptions::") + one.words);
  }
}

TEST_F(ReplicationRefusal, ProofsThatCannotRead) {
  access_.contacts = {"127.0.0.1:1"};
  options_.consistency = Consistency::kAny;
  for (const ProofLevel level : {ProofLevel::kCount, ProofLevel::kRows}) {
    options_.proof = level;
    ExpectRefused("ReplicationOptions::proof reads, and nothing can be read at Consistency::kAny: "
                  "take kLocalQuorum or another one");
  }
  options_.proof = ProofLevel::kAck;
  ASSERT_NO_FATAL_FAILURE(Start());
}

TEST_F(ReplicationRefusal, EnginesThatCannotBeReplicated) {
  access_.contacts = {"127.0.0.1:1"};
  EXPECT_EQ(Replication::Start(nullptr, access_).status().code(), StatusCode::kInvalidArgument);
  EngineOptions reading;
  reading.read_only = true;
  const auto reader = Engine::Open(temp_.path() + "/store", reading);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  EXPECT_EQ(Replication::Start(reader->get(), access_).status().code(), StatusCode::kReadOnly);
  ASSERT_TRUE(engine_->Close().ok());
  EXPECT_EQ(Refusal().code(), StatusCode::kClosed);
  engine_.reset();
}

// What was refused has left nothing behind.
TEST_F(ReplicationRefusal, AFileOfSecretsThatOthersCanReadIsWarnedOf) {
  access_.contacts = {"127.0.0.1:1"};
  access_.user = "edge";
  access_.allow_cleartext_password = true;
  options_.hold_us = -1;
  access_.password_file = File("password", "secret\n");
  ExpectRefused("ReplicationOptions::hold_us");
  options_.hold_us = 0;
  chmod(access_.password_file.c_str(), 0644);
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string words = "everybody on this machine can read the password file " +
                            access_.password_file + ": chmod 600 " + access_.password_file;
  EXPECT_EQ(replication_->GetStatus().warnings, std::vector<std::string>{words});
  FillDays(1);
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kAway));
  EXPECT_EQ(replication_->GetStatus().warnings, std::vector<std::string>{words});
}

}  // namespace
}  // namespace cistern::testing
