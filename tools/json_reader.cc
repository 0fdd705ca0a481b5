#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/line_framer.h"

namespace cistern::tool {
namespace {

using Json = nlohmann::json;

// Collects the members of one flat object. Numbers keep the digits that the line has.
// The parser keeps its own stack on the heap; nesting costs at most a bit per byte.
class ObjectCollector : public nlohmann::json_sax<Json> {
 public:
  struct Member {
    size_t name_begin, name_size, text_begin, text_size;
    CellForm form;
  };

  void Reset() {
    members.clear();
    heap.clear();
    reason.clear();
    depth_ = 0;
    closers_.clear();
  }

  bool null() override { return Scalar("null", CellForm::kNull); }
  bool boolean(bool value) override { return Scalar(value ? "true" : "false", CellForm::kBare); }
  bool number_integer(number_integer_t value) override {
    // Only numbers with a sign come here, so 0 was written -0: a double keeps that sign.
    if (value == 0) return Scalar("-0", CellForm::kBare);
    return Scalar(fmt::format_int(value).str(), CellForm::kBare);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Scalar(fmt::format_int(value).str(), CellForm::kBare);
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return Scalar(digits, CellForm::kBare);
  }
  bool string(string_t& value) override { return Scalar(value, CellForm::kString); }
  bool binary(binary_t&) override { return Fail("binary values are not JSON text"); }

  bool start_object(size_t) override { return Open('{', '}'); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open('[', ']'); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (depth_ > 1) {  // a key of a nested map
      Separate();
      Literal(name);
      heap += ": ";
      after_key_ = true;
      return true;
    }
    name_begin_ = heap.size();
    heap += name;
    name_size_ = name.size();
    return true;
  }
  bool parse_error(size_t position, const std::string&, const Json::exception& e) override {
    std::string_view what = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: what is wrong", or
    // "[json.exception.out_of_range.406] what is wrong"
    if (const size_t at = what.find("] "); at != std::string_view::npos) what.remove_prefix(at + 2);
    if (const size_t at = what.find(": "); what.starts_with("parse error at ") &&
                                           at != std::string_view::npos) {
      what.remove_prefix(at + 2);
    }
    return Fail(fmt::format("not JSON at byte {}: {}", position, what));
  }

  std::vector<Member> members;
  std::string heap;  // names and texts
  std::string reason;

 private:
  bool Fail(std::string why) {
    if (reason.empty()) reason = std::move(why);
    return false;
  }

  // Inside a nested value: its CQL literal grows in the heap.
  void Separate() {
    if (!after_key_ && !first_in_nest_) heap += ", ";
    first_in_nest_ = false;
    after_key_ = false;
  }
  void Literal(std::string_view text) {
    heap += '\'';
    for (const char c : text) {
      if (c == '\'') heap += '\'';
      heap += c;
    }
    heap += '\'';
  }

  bool Scalar(std::string_view text, CellForm form) {
    if (depth_ == 0) return Fail("a line must hold one JSON object");
    if (depth_ > 1) {
      Separate();
      if (form == CellForm::kString) {
        Literal(text);
      } else {
        heap += text;
      }
      return true;
    }
    members.push_back({name_begin_, name_size_, heap.size(), text.size(), form});
    heap += text;
    return true;
  }

  bool Open(char open, char close) {
    if (depth_ == 0) {
      if (open != '{') return Fail("a line must hold one JSON object, this is an array");
      ++depth_;
      return true;
    }
    if (depth_ == 1) {
      text_begin_ = heap.size();
    } else {
      Separate();
    }
    heap += open;
    closers_.push_back(close);
    first_in_nest_ = true;
    after_key_ = false;
    ++depth_;
    return true;
  }
  bool Close() {
    --depth_;
    if (closers_.empty()) return true;  // the object itself
    heap += closers_.back();
    closers_.pop_back();
    first_in_nest_ = false;
    if (depth_ == 1) {
      members.push_back({name_begin_, name_size_, text_begin_, heap.size() - text_begin_,
                         CellForm::kNested});
    }
    return true;
  }

  size_t depth_ = 0;
  std::string closers_;
  bool first_in_nest_ = false;
  bool after_key_ = false;
  size_t name_begin_ = 0;
  size_t name_size_ = 0;
  size_t text_begin_ = 0;
};

class JsonReader : public RecordReader {
 public:
  explicit JsonReader(Input* input) : framer_(input) {}

  ReadOutcome Next(Record* record) override {
    for (;;) {
      record->cells.clear();
      const ReadOutcome outcome = framer_.Next(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
      if (record->raw.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
      if (Status s = CheckText(record->raw); !s.ok()) {
        record->reason = s.message();
        return ReadOutcome::kBad;
      }
      return Split(record);
    }
  }

 private:
  ReadOutcome Split(Record* record) {
    collector_.Reset();
    if (!Json::sax_parse(record->raw.begin(), record->raw.end(), &collector_)) {
      record->reason = collector_.reason.empty() ? "not JSON" : collector_.reason;
      return ReadOutcome::kBad;
    }
    if (collector_.members.size() > kCellCountMax) {
      record->reason = fmt::format("more than {} members", kCellCountMax);
      return ReadOutcome::kBad;
    }
    const std::string_view heap = collector_.heap;
    for (const ObjectCollector::Member& m : collector_.members) {
      record->cells.push_back({heap.substr(m.name_begin, m.name_size),
                               heap.substr(m.text_begin, m.text_size), m.form});
      // JSON can spell a NUL byte (\u0000); text with one is refused here as in a raw line.
      if (record->cells.back().text.find('\0') != std::string_view::npos) {
        record->reason = fmt::format("member '{}' holds a NUL byte", record->cells.back().name);
        return ReadOutcome::kBad;
      }
    }
    return ReadOutcome::kRecord;
  }

  LineFramer framer_;
  ObjectCollector collector_;
};

}  // namespace

std::unique_ptr<RecordReader> NewJsonReader(Input* input) {
  return std::make_unique<JsonReader>(input);
}

}  // namespace cistern::tool
