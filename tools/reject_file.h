// RejectFile: the lines that could not be stored, verbatim, so that they can be mended and
// ingested again.
#ifndef CISTERN_TOOLS_REJECT_FILE_H_
#define CISTERN_TOOLS_REJECT_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/status.h"

namespace cistern::tool {

// Lines under one header. Opened at the first line that is rejected. Lines of an earlier run stay.
//
// A file whose first line is another header is left alone, and so is an input of the run: the
// lines are kept in PATH.2 then, or the first of PATH.3, PATH.4 ... that will do. One file thus has
// one header, and a mended line that is read again cannot land in another column. One thread at a
// time.
class RejectFile {
 public:
  // `header`: the line, with its end or without, that says what the cells are; empty for formats
  // that name each cell themselves. `inputs`: files that are read, and must not be written.
  explicit RejectFile(std::string path, std::string_view header = {},
                      std::vector<std::string> inputs = {});
  ~RejectFile();
  RejectFile(const RejectFile&) = delete;
  RejectFile& operator=(const RejectFile&) = delete;

  // kInvalidArgument if lines could not be added to a file of that name. Makes none: there may be
  // no line to reject.
  [[nodiscard]] static Status CheckPath(const std::string& path);

  // A line, or a piece of one when `continues`: then the next call has its rest, or an empty text
  // where nothing more comes. It is kept once
  // Flush() is OK, which Add() calls when much has come.
  // Errors, here and below: kIoError or kNoSpace, for good. Lines since the last Flush() that was
  // OK are not kept then, and what was written of them is taken back.
  [[nodiscard]] Status Add(std::string_view raw, bool continues = false);
  [[nodiscard]] Status Flush();
  // The same, and the device has them.
  [[nodiscard]] Status Sync();

  // As it was asked for.
  [[nodiscard]] const std::string& asked_path() const { return asked_path_; }
  [[nodiscard]] const std::string& header() const { return header_; }
  // Where the lines are: the same, or another name that was free for this header.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Lines that are in the file, of this run.
  [[nodiscard]] uint64_t kept() const { return kept_; }

 private:
  Status Failure(int error) const;
  Status Open();
  // Whether lines under this header may be added to `path`; opens it then.
  Result<bool> TryOpen(const std::string& path);
  Status Write(std::string_view bytes);
  void TakeBack();

  static constexpr size_t kBefore = SIZE_MAX;

  const std::string asked_path_;
  const std::string header_;  // without line end
  const std::vector<std::string> inputs_;
  std::string path_;
  int fd_ = -1;
  bool regular_ = false;       // else a pipe or a device: nothing is read or taken back
  bool at_line_start_ = true;  // of the file with the buffer
  bool in_line_ = false;       // the last piece continues
  Status failure_;             // the first one
  std::string buffer_;
  size_t line_begin_ = 0;      // of the last line, in the buffer; kBefore: it was written before
  uint64_t buffered_ = 0;      // lines that end in the buffer
  uint64_t kept_ = 0;
  uint64_t synced_ = 0;        // of kept_
  off_t size_ = 0;             // of the file
  off_t whole_size_ = 0;       // of what is kept: up to the last line that is written whole
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_REJECT_FILE_H_
