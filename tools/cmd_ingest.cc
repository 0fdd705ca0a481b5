// cistern ingest: files and streams into a table.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "lib/base/shell_text.h"
#include "tools/cell_text.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/ingest_options.h"
#include "tools/ingest_run.h"
#include "tools/input.h"
#include "tools/interrupt.h"
#include "tools/line_protocol_reader.h"
#include "tools/name_list.h"
#include "tools/progress.h"
#include "tools/record_reader.h"
#include "tools/reject_file.h"
#include "tools/row_mapper.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr char kFooter[] = R"(
Examples:
  cistern ingest --store S --table air --null NA \
      --map '{year}-{month}-{day}T{hour}=ts' --utc-offset +08:00 --ignore No air.csv
  cistern ingest --store S --table imu --delimiter ' ' --header ms,x,y,z --set 'run={stem}' \
      --map ms=ts --time-unit ms --time-base 2024-05-24 S01R02.txt
  zstd -dc S01R02.txt.zst | cistern ingest --store S --table imu --stem S01R02 ... -
  tail -f readings.jsonl | cistern ingest --store S --table air --format jsonl -

A line that cannot be stored is named with its number and the reason, and kept word for word
in the reject file; the rest goes on, and the exit code is 1.)";

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "S01R02" of "/data/S01R02.txt.zst": without the last extension, and without the one before
// it when the last one is of a compressor.
std::string StemOf(std::string_view path) {
  std::string_view name = BaseName(path);
  for (int i = 0; i < 2; ++i) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) break;
    const std::string_view extension = name.substr(dot);
    name = name.substr(0, dot);
    if (extension != ".zst" && extension != ".gz" && extension != ".xz" && extension != ".bz2") {
      break;
    }
  }
  return std::string(name);
}

// The command that unpacks what begins with these bytes; nullptr if nothing is known to.
const char* UnpackerOf(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return "zcat";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "zstdcat";
  if (head.starts_with("\xfd" "7zXZ")) return "xzcat";
  if (head.starts_with("BZh")) return "bzcat";
  return nullptr;
}

// What else may part the cells of a header that was read as one: "; are its cells apart by
// --delimiter ';'?"
std::string DelimiterAdvice(const Record& header, char delimiter) {
  if (header.cells.size() != 1) return {};
  for (const char other : {',', ';', '\t', '|'}) {
    if (other == delimiter || header.cells.front().text.find(other) == std::string_view::npos) {
      continue;
    }
    return fmt::format("; are its cells apart by --delimiter '{}'?",
                       other == '\t' ? "\\t" : std::string(1, other));
  }
  return {};
}

// What else may be the reason why a header says nothing: another encoding, ends of lines that are
// none here, or rows from the first line on.
std::string FormAdvice(const Record& header) {
  const std::string_view raw = header.raw;
  if (const size_t nul = raw.find('\0'); nul < 2) {
    return fmt::format("; if this is UTF-16 without its mark: `iconv -f UTF-16{} -t UTF-8` makes "
                       "UTF-8 of it", nul == 0 ? "BE" : "LE");
  }
  const size_t cr = raw.find('\r');
  if (cr != std::string_view::npos && cr + 2 < raw.size()) {
    return "; its lines end with CR alone: `tr '\\r' '\\n'` makes lines of them";
  }
  const bool has_number = std::ranges::any_of(header.cells, [](const Cell& cell) {
    const std::string_view digits = cell.text.substr(cell.text.starts_with('-') ? 1 : 0);
    return !digits.empty() && digits.front() >= '0' && digits.front() <= '9';
  });
  return has_number ? "; if rows begin at the first line, name their cells by --header a,b,c" : "";
}

// The whole run; keeps what the inputs share.
class IngestCommand {
 public:
  explicit IngestCommand(IngestOptions options)
      : options_(std::move(options)), progress_(!options_.quiet) {}

  int Run() {
    Result<IngestPlan> plan = PlanOf(options_);
    if (!plan.ok()) return FailUsage(plan.status());
    plan_ = std::move(*plan);
    Result<std::unique_ptr<Engine>> opened =
        OpenStore(options_.store, Access::kWrite, plan_.engine);
    if (!opened.ok()) return FailOpen(opened.status());
    engine_ = std::move(*opened);
      const auto schema = engine_->FindTable(options_.table);
    if (!schema.ok()) return FailUsage(schema.status());
    schema_ = *schema;
    IngestRun run(schema_, Settings(), &progress_);
    int code = kExitOk;
    size_t begun = 0;
    while (begun < options_.files.size() && code == kExitOk && InterruptSignal() == 0) {
      code = ReadFile(options_.files[begun++], &run);
    }
    progress_.Clear();
    if (begun < options_.files.size()) ReportUnread(begun);
    if (const Status closed = engine_->Close(); !closed.ok() && code == kExitOk) {
      code = Fail(closed);
    }
    if (const auto unmet = run.measurements().Unmet()) Complain(*unmet);
    const int said = Report(run.totals());
    if (code == kExitOk) code = said;
    if (InterruptSignal() != 0) return 128 + InterruptSignal();
    if (code != kExitOk) return code;
    return run.totals().rejected > 0 ? kExitPartial : kExitOk;
  }

 private:
  IngestSettings Settings() {
    IngestSettings settings;
    settings.batch_rows_max = options_.batch_rows;
    settings.reasons_shown_max = options_.reasons;
    settings.rejected_max = options_.reject_max;
    settings.duplicates = plan_.duplicates;
    settings.has_measurements = options_.format == "line";
    settings.measurements = options_.measurements;
    if (!options_.header.empty()) settings.header_names = SplitNames(options_.header);
    settings.append = [this](const RowBatch& batch) { return Append(batch); };
    settings.complain = [](const std::string& line) { Complain(line); };
    return settings;
  }

  Status Append(const RowBatch& batch) {
    Status s = engine_->Append(batch, plan_.write).status();
    // A row that is refused is tried alone at last.
    const bool is_row = s.code() == StatusCode::kOutOfRange && batch.row_count() == 1;
    return is_row ? ExplainFuture(batch, std::move(s)) : s;
  }

  // The refusal of a time ahead of the clock in the words of the command line.
  Status ExplainFuture(const RowBatch& batch, Status refused) const {
    const int64_t ticks = RowTime(batch, 0);
    const int64_t now_s = SystemClock()->WallMicros() / 1'000'000;
    const int64_t ahead_s = ticks / TicksPerSecond(schema_->time_unit) - now_s;
    if (ahead_s <= plan_.engine.event_future_s_max || !Bucketer(*schema_).InRange(ticks)) {
      return refused;
    }
    return Status::OutOfRange(fmt::format(
        "column '{}': {} is {:.1f} days ahead of the clock; check its unit (--time-unit), or take "
        "it with --future-max {}d",
        schema_->columns[schema_->time_column()].name, FormatTicks(ticks, schema_->time_unit),
        static_cast<double>(ahead_s) / 86400, ahead_s / 86400 + 1));
  }

  std::unique_ptr<RecordReader> NewReader(Input* input,
                                          const std::vector<std::string>& names) const {
    if (options_.format == "jsonl") return NewJsonReader(input, JsonLayout::kLines, names);
    if (options_.format == "json") return NewJsonReader(input, JsonLayout::kDocument, names);
    if (options_.format == "line") return NewLineProtocolReader(input);
    return NewCsvReader(input, plan_.dialect);
  }

  RejectFile* RejectsFor(const std::string& file, const std::string& header) {
    const std::string path =
        !options_.reject.empty() ? options_.reject
                                 : fmt::format("{}.reject", file == "-" ? "stdin" : BaseName(file));
    auto rejects = std::make_unique<RejectFile>(path, header, options_.files);
    for (const auto& known : rejects_) {
      if (known->asked_path() == path && known->header() == rejects->header()) return known.get();
    }
    rejects_.push_back(std::move(rejects));
    return rejects_.back().get();
  }

  // The names of --header as the line that a file would have behind `preamble`.
  std::string NamedHeader(std::string_view preamble) const {
    char delimiter = plan_.dialect.delimiter;
    if (!plan_.dialect.delimiter_given) {
      delimiter = SeparatorOf(WithoutLineEnd(preamble.substr(0, preamble.find('\n') + 1)))
                      .value_or(delimiter);
    }
    return HeaderLine(SplitNames(options_.header), delimiter, plan_.dialect);
  }

  // The header's names from the options or the first record, and the line that has them; empty at
  // an empty input.
  Status BindCsvHeader(const std::string& name, RecordReader* reader, Input* input,
                       RowMapper* mapper, std::string* header) {
    const bool has_names = !options_.header.empty();
    if (has_names) CISTERN_RETURN_IF_ERROR(mapper->BindHeader(SplitNames(options_.header)));
    Record record;
    for (;;) {
      switch (has_names ? reader->ReadPreamble(&record) : reader->Next(&record)) {
        case ReadOutcome::kIdle: continue;
        case ReadOutcome::kEnd:
          if (!has_names) Complain(name + " is empty: it has not even a header");
          return Status::Ok();
        case ReadOutcome::kInterrupted: return Status::Ok();
        case ReadOutcome::kFailed: return input->status();
        case ReadOutcome::kBad:
          return Status::InvalidArgument(
              fmt::format("{}:{}: the header cannot be read: {}{}", name, record.line,
                          record.reason, FormAdvice(record)));
        case ReadOutcome::kRecord: break;
      }
      break;
    }
    const std::string preamble(reader->preamble());
    *header = input->Original(preamble +
                              (has_names ? NamedHeader(preamble) : std::string(record.raw)));
    if (has_names) return Status::Ok();
    std::vector<std::string> names;
    for (const Cell& cell : record.cells) names.emplace_back(cell.text);
    const Status s = mapper->BindHeader(names);
    if (s.ok()) return s;
    return {s.code(),
            fmt::format("{}: {}{}{}", name, s.message(),
                        DelimiterAdvice(record, plan_.dialect.delimiter), FormAdvice(record))};
  }

  int ReadFile(const std::string& file, IngestRun* run) {
    const std::string name = file == "-" ? "standard input" : file;
    std::optional<std::string> stem;
    if (!options_.stem.empty()) stem = options_.stem;
    if (!stem && file != "-") stem = StemOf(file);
    Result<RowMapper> mapper = RowMapper::Make(schema_, plan_.mapping, stem);
    if (!mapper.ok()) return FailUsage(mapper.status());
    Result<std::unique_ptr<Input>> input = Input::Open(file, plan_.encoding);
    if (!input.ok()) return FailUsage(input.status());
    if (const Status s = CheckIsPlain(file, input->get()); !s.ok()) return FailUsage(s);
    const std::unique_ptr<RecordReader> reader = NewReader(input->get(), mapper->CellNames());
    std::string header;
    if (options_.format == "csv") {
      const Status s = BindCsvHeader(name, reader.get(), input->get(), &*mapper, &header);
      if (!s.ok()) return Fail(s);
    }
    RejectFile* rejects = RejectsFor(file, header);
    const Status s = run->Read(name, input->get(), reader.get(), &*mapper, rejects);
    progress_.Clear();
    // Of a header it was told before; elsewhere any line may have the cell.
    for (const std::string& cell : mapper->UnmetIgnores()) {
      Complain(fmt::format("{}: no line has the cell '{}' that --ignore leaves out", name, cell));
    }
    return s.ok() ? static_cast<int>(kExitOk) : Fail(s);
  }

  // kInvalidArgument for a compressed file, with what unpacks it. A pipe is not looked at: its
  // first bytes may take their time.
  static Status CheckIsPlain(const std::string& file, Input* input) {
    if (input->size() == 0 || input->Grow() != Fill::kData) return Status::Ok();
    const char* unpacker = UnpackerOf(input->window());
    if (unpacker == nullptr) return Status::Ok();
    return Status::InvalidArgument(
        file == "-" ? fmt::format("standard input is compressed; unpack it with {}", unpacker)
                    : fmt::format("{} is compressed; unpack it on the way: {} {} | cistern ingest "
                                  "... -", file, unpacker, ShellWord(file)));
  }

  void ReportUnread(size_t begun) const {
    std::string names;
    for (size_t i = begun; i < options_.files.size(); ++i) {
      names += (names.empty() ? "" : ", ") + options_.files[i];
    }
    const bool one = begun + 1 == options_.files.size();
    Complain(fmt::format("{} {} not read", names, one ? "was" : "were"));
  }

  // ", 3 lines rejected to a.reject, b.reject": what is kept, where, and what is not.
  std::string RejectedText(uint64_t rejected) const {
    uint64_t kept = 0;
    std::string paths;
    for (const auto& file : rejects_) {
      kept += file->kept();
      if (file->kept() > 0) paths += (paths.empty() ? "" : ", ") + file->path();
    }
    std::string text = fmt::format(", {} rejected", Counted(rejected, "line"));
    if (kept == 0) {
      text += " and kept nowhere";
    } else if (kept == rejected) {
      text += " to " + paths;
    } else {
      text += fmt::format(", {} of them kept in {}", kept, paths);
    }
    // Among others a line would have another number, and so another time.
    if (plan_.mapping.time_steps) {
      text += "; mend them in the input itself and ingest it whole: a line's time is its place";
    }
    return text;
  }

  static std::string DuplicateText(const IngestTotals& totals) {
    std::string text;
    if (totals.replaced > 0) {
      text += fmt::format(", {} of them replaced values of an earlier row with the same key (the "
                          "first is {})", totals.replaced, totals.first_replaced);
    }
    if (totals.uncompared > 0) {
      text += fmt::format(", {} not compared with rows more than {} before",
                          Counted(totals.uncompared, "row"), DuplicateWatch::kRowsMax);
    }
    return text;
  }

  // On standard output the object alone, so that it can be read by a program.
  int Report(const IngestTotals& totals) {
    if (options_.json) return Say(JsonOf(totals).object());
    std::string line =
        fmt::format("{} stored in {}", Counted(totals.rows, "row"), schema_->QualifiedName());
    line += DuplicateText(totals);
    if (totals.rejected > 0) line += RejectedText(totals.rejected);
    if (totals.left_out > 0) {
      line += fmt::format(", {} of other measurements left out", Counted(totals.left_out, "line"));
    }
    if (InterruptSignal() != 0) line += ", interrupted";
    if (!options_.quiet || totals.rejected > 0 || totals.replaced > 0) Complain(line);
    return kExitOk;
  }

  [[nodiscard]] JsonLine JsonOf(const IngestTotals& totals) const {
    uint64_t kept = 0;
    std::vector<std::string> paths;
    for (const auto& file : rejects_) {
      kept += file->kept();
      if (file->kept() > 0) paths.push_back(file->path());
    }
    JsonLine json;
    json.Text("table", schema_->QualifiedName()).Number("rows", totals.rows)
        .Number("replaced", totals.replaced).Number("not_compared", totals.uncompared)
        .Number("rejected", totals.rejected).Number("rejected_kept", kept)
        .Texts("reject_files", paths).Number("left_out", totals.left_out)
        .Truth("interrupted", InterruptSignal() != 0);
    return json;
  }

  IngestOptions options_;
  Progress progress_;
  IngestPlan plan_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  std::vector<std::unique_ptr<RejectFile>> rejects_;
};

}  // namespace

void AddIngest(CLI::App* app, Action* action) {
  auto options = std::make_shared<IngestOptions>();
  CLI::App* command = app->add_subcommand("ingest", "Store the rows of files or standard input");
  AddStoreOption(command, &options->store);
  AddIngestOptions(command, options.get());
  AddJsonOption(command, &options->json);
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] {
      CatchInterrupts();
      return IngestCommand(*options).Run();
    };
  });
}

}  // namespace cistern::tool
