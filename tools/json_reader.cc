#include "tools/json_framer.h"
#include "tools/json_object.h"
#include "tools/line_framer.h"

namespace cistern::tool {
namespace {

bool IsBlank(std::string_view raw) {
  return raw.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// What else an input may be whose line is no object.
std::string_view LayoutAdvice(std::string_view raw) {
  const size_t first = raw.find_first_not_of(" \t");
  const size_t last = raw.find_last_not_of(" \t\r\n");
  if (raw[first] == '[' || last == first) {
    return "; --format json reads arrays of objects, and objects of several lines";
  }
  return {};
}

class JsonReader : public RecordReader {
 public:
  JsonReader(Input* input, JsonLayout layout, const std::vector<std::string>& names)
      : layout_(layout), lines_(input), document_(input), object_(names) {}

  ReadOutcome Next(Record* record) override {
    const bool lines = layout_ == JsonLayout::kLines;
    for (;;) {
      record->cells.clear();
      const ReadOutcome outcome = lines ? lines_.Next(record) : document_.Next(record);
      if (outcome != ReadOutcome::kRecord) return outcome;
      if (IsBlank(record->raw)) continue;
      Status s = CheckText(record->raw);
      if (s.ok()) s = object_.Take(record->raw, &record->cells);
      if (s.ok()) return ReadOutcome::kRecord;
      record->reason = s.message();
      if (lines) record->reason += LayoutAdvice(record->raw);
      return ReadOutcome::kBad;
    }
  }

 private:
  const JsonLayout layout_;
  LineFramer lines_;
  JsonFramer document_;
  JsonObject object_;
};

}  // namespace

std::unique_ptr<RecordReader> NewJsonReader(Input* input, JsonLayout layout,
                                            const std::vector<std::string>& names) {
  return std::make_unique<JsonReader>(input, layout, names);
}

}  // namespace cistern::tool
