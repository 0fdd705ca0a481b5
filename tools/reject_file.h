// RejectFile: the lines that could not be stored, verbatim, so that they can be mended and
// ingested again.
#ifndef CISTERN_TOOLS_REJECT_FILE_H_
#define CISTERN_TOOLS_REJECT_FILE_H_

#include <cstdio>
#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern::tool {

// Opened at the first line that is rejected, never truncated. One thread at a time.
class RejectFile {
 public:
  explicit RejectFile(std::string path) : path_(std::move(path)) {}
  ~RejectFile();
  RejectFile(const RejectFile&) = delete;
  RejectFile& operator=(const RejectFile&) = delete;

  // kInvalidArgument if lines could not be added to a file of that name. Makes none: there may be
  // no line to reject.
  [[nodiscard]] static Status CheckPath(const std::string& path);

  // The header that lines after this belong to, written once before them when the file is
  // empty, so that the file reads like its input. Empty: none.
  void SetHeader(std::string_view raw) { header_ = raw; }

  // kIoError or kNoSpace: the line is not kept; the caller must stop rather than lose it.
  [[nodiscard]] Status Add(std::string_view raw);
  [[nodiscard]] Status Flush();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool used() const { return file_ != nullptr; }

 private:
  Status Failure(int error) const;
  Status Open();
  std::string path_;
  std::string header_;
  std::FILE* file_ = nullptr;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_REJECT_FILE_H_
