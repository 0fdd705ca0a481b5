#include "tools/json_object.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

namespace cistern::tool {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBareWords[] = {"NaN", "Infinity", "-Infinity"};

// The bare word at the front of `text`; empty if there is none, or if it is a name, which JSON has
// in quotes alone.
std::string_view BareWordAt(std::string_view text) {
  for (const std::string_view word : kBareWords) {
    if (!text.starts_with(word)) continue;
    const size_t next = text.find_first_not_of(" \t\r\n", word.size());
    const bool is_name = next != std::string_view::npos && text[next] == ':';
    return is_name ? std::string_view() : word;
  }
  return {};
}

}  // namespace

// The parser keeps its own stack on the heap; nesting costs at most a bit per byte.
class JsonObject::Collector : public nlohmann::json_sax<Json> {
 public:
  struct Member {
    size_t name_begin, name_size, text_begin, text_size;
    CellForm form;
  };

  explicit Collector(const std::vector<std::string>& names) {
    for (const std::string_view name : names) {
      for (size_t end = name.find('.'); end != std::string_view::npos;
           end = name.find('.', end + 1)) {
        opened_.emplace(name.substr(0, end));
      }
    }
  }

  // `words`: the strings, counted from 0 with the names, that stand for bare words.
  void Reset(const std::vector<size_t>* words) {
    members.clear();
    heap.clear();
    reason.clear();
    frames_.clear();
    path_.clear();
    closers_.clear();
    words_ = words;
    next_word_ = 0;
    string_count_ = 0;
  }

  bool null() override {
    return Scalar("null", CellForm::kNull);
  }
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
  bool string(string_t& value) override {
    const size_t index = string_count_++;
    const bool bare = next_word_ < words_->size() && (*words_)[next_word_] == index;
    if (bare) ++next_word_;
    return Scalar(value, bare ? CellForm::kBare : CellForm::kString);
  }
  bool binary(binary_t&) override { return Fail("binary values are not JSON text"); }

  bool start_object(size_t) override { return Open('{', '}'); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open('[', ']'); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    ++string_count_;
    if (!closers_.empty()) {  // a key of a literal
      Separate();
      Literal(name);
      heap += ": ";
      after_key_ = true;
      return true;
    }
    WriteName(name);
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
  // An object or array whose members are cells.
  struct Frame {
    size_t path_size;  // of path_ without it
    bool is_array;
    size_t next = 0;  // place in an array
  };

  bool Fail(std::string why) {
    if (reason.empty()) reason = std::move(why);
    return false;
  }

  void WriteName(std::string_view name) {
    name_begin_ = heap.size();
    heap += path_;
    heap += name;
    name_size_ = heap.size() - name_begin_;
  }
  // Before each value whose members or itself are cells. In an object its key has come before.
  void BeginValue() {
    Frame& frame = frames_.back();
    if (frame.is_array) WriteName(std::string_view(fmt::format_int(frame.next++).str()));
  }
  bool IsOpened() const {
    return !opened_.empty() &&
           opened_.contains(std::string_view(heap).substr(name_begin_, name_size_));
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
    if (frames_.empty()) return Fail("a line must hold one JSON object");
    if (!closers_.empty()) {
      Separate();
      if (form == CellForm::kString) {
        Literal(text);
      } else {
        heap += text;
      }
      return true;
    }
    BeginValue();
    // Without an object there are no members: each of them is missing.
    if (form == CellForm::kNull && IsOpened()) return true;
    members.push_back({name_begin_, name_size_, heap.size(), text.size(), form});
    heap += text;
    return true;
  }

  bool Open(char open, char close) {
    if (frames_.empty()) {
      if (open != '{') return Fail("a line must hold one JSON object, this is an array");
      frames_.push_back({0, false});
      return true;
    }
    if (closers_.empty()) {
      BeginValue();
      if (IsOpened()) {
        frames_.push_back({path_.size(), open == '['});
        path_.assign(heap, name_begin_, name_size_);
        path_ += '.';
        return true;
      }
      text_begin_ = heap.size();
    } else {
      Separate();
    }
    heap += open;
    closers_.push_back(close);
    first_in_nest_ = true;
    after_key_ = false;
    return true;
  }
  bool Close() {
    if (closers_.empty()) {
      path_.resize(frames_.back().path_size);
      frames_.pop_back();
      return true;
    }
    heap += closers_.back();
    closers_.pop_back();
    first_in_nest_ = false;
    if (closers_.empty()) {
      members.push_back({name_begin_, name_size_, text_begin_, heap.size() - text_begin_,
                         CellForm::kNested});
    }
    return true;
  }

  std::set<std::string, std::less<>> opened_;
  const std::vector<size_t>* words_ = nullptr;
  size_t next_word_ = 0;
  size_t string_count_ = 0;
  std::vector<Frame> frames_;
  std::string path_;     // to the innermost frame, with a point at its end
  std::string closers_;  // of the literal that is being written
  bool first_in_nest_ = false;
  bool after_key_ = false;
  size_t name_begin_ = 0;
  size_t name_size_ = 0;
  size_t text_begin_ = 0;
};

JsonObject::JsonObject(const std::vector<std::string>& names)
    : collector_(std::make_unique<Collector>(names)) {}

JsonObject::~JsonObject() = default;

std::string_view JsonObject::WithQuotedWords(std::string_view text) {
  words_.clear();
  if (text.find("NaN") == std::string_view::npos &&
      text.find("Infinity") == std::string_view::npos) {
    return text;
  }
  quoted_.clear();
  size_t string_count = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view word = in_string ? std::string_view() : BareWordAt(text.substr(i));
    if (!word.empty()) {
      words_.push_back(string_count++);
      quoted_ += '"';
      quoted_ += word;
      quoted_ += '"';
      i += word.size() - 1;
      continue;
    }
    quoted_ += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      quoted_ += text[++i];
    } else if (text[i] == '"') {
      in_string = !in_string;
      if (in_string) ++string_count;
    }
  }
  return quoted_;
}

Status JsonObject::Take(std::string_view text, std::vector<Cell>* cells) {
  text = WithQuotedWords(text);
  collector_->Reset(&words_);
  if (!Json::sax_parse(text.begin(), text.end(), collector_.get())) {
    return Status::InvalidArgument(collector_->reason.empty() ? "not JSON" : collector_->reason);
  }
  if (collector_->members.size() > kCellCountMax) {
    return Status::InvalidArgument(fmt::format("more than {} members", kCellCountMax));
  }
  const std::string_view heap = collector_->heap;
  for (const Collector::Member& m : collector_->members) {
    cells->push_back({heap.substr(m.name_begin, m.name_size),
                      heap.substr(m.text_begin, m.text_size), m.form});
    // JSON can spell a NUL byte (\u0000); text with one is refused here as in a raw line.
    if (cells->back().text.find('\0') != std::string_view::npos) {
      return Status::InvalidArgument(
          fmt::format("member '{}' holds a NUL byte", cells->back().name));
    }
  }
  return Status::Ok();
}

}  // namespace cistern::tool
