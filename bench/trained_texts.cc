#include "bench/trained_texts.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <string_view>

#include "cistern/limits.h"
#include "engine/seal/text_trainer.h"
#include "lib/base/check.h"
#include "lib/codec/text_codec.h"
#include "tests/support/rng.h"

namespace cistern::bench {

namespace {

using Page = std::vector<std::string_view>;

std::vector<Page> PagesOf(const std::vector<std::string>& cells, size_t page_rows) {
  std::vector<Page> pages;
  for (size_t begin = 0; begin + page_rows <= cells.size(); begin += page_rows) {
    pages.emplace_back(cells.begin() + static_cast<ptrdiff_t>(begin),
                       cells.begin() + static_cast<ptrdiff_t>(begin + page_rows));
  }
  return pages;
}

double CpuNanos() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Cost {
  double bytes = 0;  // a cell
  double encode_ns = std::numeric_limits<double>::infinity();
  double decode_ns = std::numeric_limits<double>::infinity();
};

class OneDictionary final : public DictionarySource {
 public:
  explicit OneDictionary(NumberedDictionary only) : only_(std::move(only)) {}
  [[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> Find(uint64_t) const override {
    return only_.dictionary;
  }

 private:
  const NumberedDictionary only_;
};

Cost Measure(const std::vector<Page>& pages, size_t from, const NumberedDictionary& dictionary) {
  constexpr int kRuns = 5;
  const auto cell_count = static_cast<double>((pages.size() - from) * pages[from].size());
  const OneDictionary dictionaries(dictionary);
  Cost cost;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::string> encoded(pages.size());
    std::vector<EncodingId> ids(pages.size());
    const double begin = CpuNanos();
    for (size_t p = from; p < pages.size(); ++p) {
      ids[p] = EncodeText(pages[p], dictionary, &encoded[p]).id;
    }
    const double middle = CpuNanos();
    for (size_t p = from; p < pages.size(); ++p) {
      ByteReader in(encoded[p], "page");
      TextRun back;
      DecodeText(ids[p], pages[p].size(), limits::kPageBytesMax, &dictionaries, &in, &back);
      CISTERN_CHECK(in.ok() && back.offsets.size() == pages[p].size() + 1);
    }
    cost.encode_ns = std::min(cost.encode_ns, (middle - begin) / cell_count);
    cost.decode_ns = std::min(cost.decode_ns, (CpuNanos() - middle) / cell_count);
    size_t bytes = 0;
    for (const std::string& page : encoded) bytes += page.size();
    cost.bytes = static_cast<double>(bytes) / cell_count;
  }
  return cost;
}

}  // namespace

std::vector<std::string> LogLines(size_t count) {
  static constexpr const char* kParts[] = {"modbus", "can",  "mqtt",    "sensor",
                                           "uplink", "gps",  "storage", "watchdog"};
  static constexpr const char* kTexts[] = {": read of register # at unit # took # ms",
                                           ": connection to broker-#.plant.local lost after # s",
                                           ": frame # dropped, queue length #",
                                           ": CRC mismatch on port /dev/ttyUSB0, # bytes discarded",
                                           ": temperature of board #.# C above limit",
                                           ": fix lost, # satellites, hdop #.#",
                                           ": wrote # blocks in # ms"};
  testing::Rng rng(7);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    std::string line = kParts[rng.Below(8)];
    for (const char c : std::string_view(kTexts[rng.Below(7)])) {
      if (c == '#') {
        line += std::to_string(rng.Below(rng.Below(2) == 0 ? 10 : 10'000));
      } else {
        line.push_back(c);
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void PrintTrained(const std::string& name, const std::vector<std::string>& cells,
                  size_t page_rows) {
  const std::vector<Page> pages = PagesOf(cells, page_rows);
  TextTrainer trainer;
  size_t from = 0;
  for (; from < pages.size() && !trainer.IsDue(); ++from) {
    ColumnData column;
    column.lane = Lane::kBytes;
    for (const std::string_view cell : pages[from]) column.AppendBytes(cell);
    trainer.Note(column);
  }
  if (!trainer.IsDue() || from == pages.size()) return;  // too little of it
  const double begin = CpuNanos();
  trainer.Train(nullptr);
  const double training_ms = (CpuNanos() - begin) / 1e6;
  const Cost plain = Measure(pages, from, {});
  std::printf("%-32s %5zu rows: %6.2f B", name.c_str(), page_rows, plain.bytes);
  if (trainer.dictionary() == nullptr) {
    std::printf("   none               encode %4.0f ns", plain.encode_ns);
  } else {
    const Cost trained = Measure(pages, from, {uint64_t{1} << 44, trainer.dictionary()});
    std::printf(" %6.2f B (%3.0f %%)     encode %4.0f %4.0f ns, decode %3.0f %3.0f ns",
                trained.bytes, 100 * trained.bytes / plain.bytes, plain.encode_ns,
                trained.encode_ns, plain.decode_ns, trained.decode_ns);
  }
  std::printf(", training %.0f ms\n", training_ms);
}

}  // namespace cistern::bench
