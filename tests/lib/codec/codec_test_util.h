// What the codec tests share.
#ifndef CISTERN_TESTS_LIB_CODEC_CODEC_TEST_UTIL_H_
#define CISTERN_TESTS_LIB_CODEC_CODEC_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "lib/base/coding.h"

namespace cistern {

inline std::string Bytes(std::initializer_list<int> bytes) {
  std::string s;
  for (const int b : bytes) s.push_back(static_cast<char>(b));
  return s;
}

// That reading ended with damage in `field`, told with the whole words of the check: `why` is the
// end of the message. checks_test.py compares the words of all tests with those of all checks.
inline void ExpectDamage(const Status& status, const std::string& field, const std::string& why) {
  EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
  std::string quoted("field '");
  quoted.append(field).append(1, '\'');
  EXPECT_NE(status.message().find(quoted), std::string::npos) << status.ToString();
  std::string end(1, ' ');
  end.append(why);
  EXPECT_TRUE(status.message().ends_with(end)) << status.ToString() << "\nwant " << why;
}

}  // namespace cistern

#endif  // CISTERN_TESTS_LIB_CODEC_CODEC_TEST_UTIL_H_
