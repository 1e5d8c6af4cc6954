// The profile as tables, in statements of SQL as SQLite takes them: sqlite3 FILE.db < FILE.sql.
// docs/guide/export.md describes the tables.
//
// Instructions are rows of few numbers, because those of one kind have all properties in common
// (kinds), and those of one line its names (locations). The view "executed" joins all of that.
// Addresses are integers of 64 bits with a sign, as those of SQLite are.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "analysis/instruction_table.h"
#include "estimate/count_interval.h"
#include "export/exporter.h"
#include "export/frame_finder.h"
#include "image/build_id.h"
#include "isa/property_names.h"
#include "mix/pivot_input.h"
#include "symbols/demangle.h"

namespace hbbp {
namespace {

constexpr std::string_view kSchema = R"(BEGIN;
CREATE TABLE profile (name TEXT PRIMARY KEY, value);
CREATE TABLE sources (id INTEGER PRIMARY KEY, kind TEXT, event TEXT, period INTEGER,
  is_counted INTEGER, lost INTEGER, throttled INTEGER, unmapped INTEGER, note TEXT);
CREATE TABLE threads (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);
CREATE TABLE slices (id INTEGER PRIMARY KEY, start_ns INTEGER, end_ns INTEGER);
CREATE TABLE modules (id INTEGER PRIMARY KEY, path TEXT, build_id TEXT, kind TEXT);
CREATE TABLE functions (id INTEGER PRIMARY KEY, module INTEGER REFERENCES modules,
  name TEXT, symbol TEXT, address INTEGER, end_address INTEGER,
  instructions REAL, standard_error REAL, samples INTEGER);
CREATE TABLE blocks (id INTEGER PRIMARY KEY, module INTEGER REFERENCES modules,
  function INTEGER REFERENCES functions, address INTEGER, end_address INTEGER,
  instructions INTEGER, count REAL, standard_error REAL, low REAL, high REAL,
  source TEXT, samples INTEGER);
CREATE TABLE observations (block INTEGER REFERENCES blocks, thread INTEGER REFERENCES threads,
  slice INTEGER REFERENCES slices, count REAL, standard_error REAL);
CREATE TABLE locations (id INTEGER PRIMARY KEY, file TEXT, line INTEGER, innermost TEXT);
CREATE TABLE instructions (block INTEGER REFERENCES blocks, address INTEGER,
  kind INTEGER REFERENCES kinds, location INTEGER REFERENCES locations);
)";

constexpr std::string_view kIndexes = R"(CREATE INDEX observations_block ON observations (block);
CREATE INDEX instructions_block ON instructions (block);
COMMIT;
)";

// Returns the size of the character of UTF-8 at the start, or 0 if there is none.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_no_character =
      (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return is_overlong || is_no_character ? 0 : size;
}

// Nothing stands for NULL.
using SqlCell = std::variant<std::monostate, std::string_view, uint64_t, double>;

SqlCell TextCell(std::string_view text) { return text.empty() ? SqlCell() : SqlCell(text); }
SqlCell IndexCell(uint32_t index) { return index == kNoIndex ? SqlCell() : uint64_t{index}; }

// Writes the rows of a table, some in a statement.
class TableWriter {
 public:
  TableWriter(std::string_view table, ExportSink* sink) : table_(table), sink_(sink) {}
  ~TableWriter() {
    if (rows_ != 0) sink_->Write(";\n");
  }
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  void Add(std::initializer_list<SqlCell> row) { Add(std::span(row.begin(), row.size())); }
  void Add(std::span<const SqlCell> row) {
    constexpr size_t kRowsOfStatement = 256;
    if (rows_ == kRowsOfStatement) {
      sink_->Write(";\n");
      rows_ = 0;
    }
    if (rows_ == 0) {
      sink_->Write("INSERT INTO ");
      sink_->Write(table_);
      sink_->Write(" VALUES\n");
    } else {
      sink_->Write(",\n");
    }
    ++rows_;
    char separator = '(';
    for (const SqlCell& cell : row) {
      sink_->Write({&separator, 1});
      std::visit(*this, cell);
      separator = ',';
    }
    sink_->Write(")");
  }

  void operator()(std::monostate) const { sink_->Write("NULL"); }
  void operator()(uint64_t number) const {
    sink_->Print("%lld", static_cast<long long>(number));  // NOLINT(runtime/int)
  }
  // An error is infinite where one count is all that is known. SQLite rounds a number that it reads
  // twice, which is exact only of one written with all 17 digits: the fewest that stand for it can
  // be next to the middle between two.
  void operator()(double number) const {
    if (std::isfinite(number)) {
      char text[32];
      const auto end =
          std::to_chars(text, text + sizeof(text), number, std::chars_format::general, 17).ptr;
      sink_->Write({text, end});
    } else {
      sink_->Write("NULL");
    }
  }
  // What is not UTF-8, and NUL, at which SQLite would end, become question marks.
  void operator()(std::string_view text) const {
    sink_->Write("'");
    while (!text.empty()) {
      const size_t size = CharacterSize(text);
      const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
      if (size == 0 || character[0] == '\0') {
        sink_->Write("?");
      } else {
        sink_->Write(character == "'" ? std::string_view("''") : character);
      }
      text.remove_prefix(character.size());
    }
    sink_->Write("'");
  }

 private:
  const std::string_view table_;
  ExportSink* const sink_;
  size_t rows_ = 0;  // of the statement
};

std::string ColumnOf(Property property) {
  std::string name(NameOf(property));
  std::replace(name.begin(), name.end(), '-', '_');
  return '"' + name + '"';
}

constexpr auto kProperties = [] {
  std::array<Property, static_cast<size_t>(Property::kCount)> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Property>(i);
  return all;
}();

const char* NameOf(ModuleKind kind) {
  switch (kind) {
    case ModuleKind::kFile:
      return "file";
    case ModuleKind::kVdso:
      return "vdso";
    case ModuleKind::kAnonymous:
      return "anonymous";
    case ModuleKind::kKernel:
      return "kernel";
  }
  return "unknown";
}

class Writer {
 public:
  Writer(const ExportSubject& subject, ExportSink* sink)
      : subject_(subject), sink_(sink), check_(subject.work.cancel) {}

  void Write() {
    sink_->Write(kSchema);
    CreateKinds();
    WriteProfile();
    WriteSources();
    WriteThreads();
    WriteSlices();
    WriteModules();
    WriteFunctions();
    WriteBlocks();
    WriteObservations();
    const InstructionTable table = MakeInstructionTable(analysis(), subject_.work);
    WriteKinds(table);
    WriteInstructions(table);
    WriteLocations();
    sink_->Write(kIndexes);
  }

 private:
  // A file, a line and the innermost function there.
  using Location = std::tuple<std::string_view, uint32_t, std::string_view>;

  const Analysis& analysis() const { return subject_.analysis; }
  const ProfileData& data() const { return analysis().data(); }

  void CreateKinds() {
    sink_->Write("CREATE TABLE kinds (id INTEGER PRIMARY KEY");
    for (const Property property : kProperties) {
      sink_->Write(",\n  " + ColumnOf(property) + (IsNumber(property) ? " INTEGER" : " TEXT"));
    }
    sink_->Write(
        ");\nCREATE VIEW executed AS SELECT modules.path AS module,\n"
        "  functions.name AS function, blocks.id AS block, instructions.address, "
        "blocks.count,\n  blocks.source, file, line, innermost");
    for (const Property property : kProperties) sink_->Write(",\n  kinds." + ColumnOf(property));
    sink_->Write(
        "\n  FROM instructions JOIN blocks ON blocks.id = instructions.block\n"
        "  JOIN modules ON modules.id = blocks.module\n"
        "  JOIN kinds ON kinds.id = instructions.kind\n"
        "  LEFT JOIN functions ON functions.id = blocks.function\n"
        "  LEFT JOIN locations ON locations.id = instructions.location;\n");
  }

  void WriteProfile() {
    TableWriter table("profile", sink_);
    const auto text = [](const char* value) { return std::string_view(value); };
    table.Add({text("schema"), uint64_t{1}});
    table.Add({text("command"), TextCell(data().command)});
    table.Add({text("host"), TextCell(data().host)});
    table.Add({text("pid"), uint64_t{data().pid}});
    table.Add({text("start_time_ns"), data().start_time_ns});
    table.Add({text("duration_ns"), data().duration_ns});
    table.Add({text("slice_ns"), data().slices.width_ns});
  }

  void WriteSources() {
    TableWriter table("sources", sink_);
    for (uint32_t i = 0; i < data().sources.size(); ++i) {
      const SourceRecord& source = data().sources[i];
      const std::string event =
          source.event_name.empty() ? EventName(source.event) : source.event_name;
      table.Add({uint64_t{i}, std::string_view(SourceName(source.kind)), std::string_view(event),
                 source.period, uint64_t{analysis().IsCounted(i)}, source.lost, source.throttled,
                 source.unmapped, TextCell(source.note)});
    }
  }

  void WriteThreads() {
    TableWriter table("threads", sink_);
    for (uint64_t i = 0; i < data().threads.size(); ++i) {
      const ThreadRecord& thread = data().threads[i];
      table.Add({i, uint64_t{thread.pid}, uint64_t{thread.tid}, TextCell(thread.name)});
    }
  }

  void WriteSlices() {
    TableWriter table("slices", sink_);
    const TimeSlices& slices = data().slices;
    for (uint32_t i = 0; i < slices.count; ++i) {
      table.Add({uint64_t{i}, slices.StartOf(i), slices.EndOf(i)});
    }
  }

  void WriteModules() {
    TableWriter table("modules", sink_);
    for (uint32_t i = 0; i < data().modules.size(); ++i) {
      if (!subject_.Wants(i)) continue;
      const ModuleRecord& module = data().modules[i];
      const std::string build_id =
          module.build_id.empty() ? std::string() : BuildIdText(module.build_id);
      table.Add({uint64_t{i}, std::string_view(module.path), TextCell(build_id),
                 std::string_view(NameOf(module.kind))});
    }
  }

  void WriteFunctions() {
    TableWriter table("functions", sink_);
    for (uint32_t i = 0; i < analysis().functions().size(); ++i) {
      check_.Step();
      const FunctionRecord& function = analysis().functions()[i];
      if (!subject_.Wants(function.module)) continue;
      const std::string name = Demangle(function.name);
      table.Add({uint64_t{i}, uint64_t{function.module}, TextCell(name), TextCell(function.name),
                 function.range.start.value, function.range.end.value, function.instructions,
                 function.standard_error, function.samples});
    }
  }

  void WriteBlocks() {
    TableWriter table("blocks", sink_);
    for (uint32_t i = 0; i < analysis().blocks().size(); ++i) {
      check_.Step();
      const BlockRecord& record = analysis().blocks()[i];
      if (!subject_.Wants(record.module)) continue;
      const CountInterval interval = IntervalOf(record.estimate);
      table.Add({uint64_t{i}, uint64_t{record.module}, IndexCell(record.function),
                 record.block.start.value, record.block.end.value,
                 uint64_t{record.block.instruction_count}, record.estimate.count,
                 record.estimate.standard_error, interval.low, interval.high,
                 std::string_view(SourceName(record.source)), record.samples});
    }
  }

  // Functions without code have samples, but no blocks.
  void WriteObservations() {
    const PivotInput input = MakePivotInput(analysis(), nullptr, {.threads = true, .slices = true});
    TableWriter table("observations", sink_);
    for (const PivotObservation& each : input.observations) {
      check_.Step();
      if (!subject_.Wants(input.blocks[each.block].module)) continue;
      table.Add({uint64_t{each.block}, IndexCell(each.thread), IndexCell(each.slice),
                 each.estimate.count, each.estimate.standard_error});
    }
  }

  void WriteKinds(const InstructionTable& instructions) {
    TableWriter table("kinds", sink_);
    std::vector<SqlCell> row;
    for (uint64_t i = 0; i < instructions.kinds.size(); ++i) {
      row = {i};
      for (const Property property : kProperties) {
        const PropertyValue value = FindValue(instructions.kinds[i], property);
        row.push_back(value.is_number ? SqlCell(value.number) : SqlCell(value.text));
      }
      table.Add(row);
    }
  }

  void WriteInstructions(const InstructionTable& instructions) {
    TableWriter table("instructions", sink_);
    auto next = instructions.instructions.begin();
    std::optional<FrameFinder> finder;
    uint32_t module = kNoIndex;
    for (uint32_t i = 0; i < analysis().blocks().size(); ++i) {
      const BlockRecord& record = analysis().blocks()[i];
      const auto end = next + record.block.instruction_count;
      if (!subject_.Wants(record.module)) {
        next = end;
        continue;
      }
      if (record.module != module) {
        module = record.module;
        finder.reset();
        const StatusOr<const LineTable*> lines = subject_.lines.Open(module);
        if (lines.ok()) finder.emplace(*lines);
      }
      for (; next != end; ++next) {
        check_.Step();
        const ModuleAddress address = record.block.start + next->offset;
        table.Add({uint64_t{i}, address.value, uint64_t{next->kind},
                   finder ? LocationAt(address, &*finder) : SqlCell()});
      }
    }
  }

  SqlCell LocationAt(ModuleAddress address, FrameFinder* finder) {
    const std::vector<LineFrame>& frames = finder->At(address);
    if (frames.empty()) return {};
    const LineFrame& frame = frames.front();
    const uint64_t next = locations_.size();
    return locations_.try_emplace({frame.file, frame.line, frame.function}, next).first->second;
  }

  void WriteLocations() {
    TableWriter table("locations", sink_);
    for (const auto& [location, id] : locations_) {
      const auto& [file, line, function] = location;
      const std::string name = Demangle(function);
      table.Add({id, TextCell(file), line == 0 ? SqlCell() : uint64_t{line}, TextCell(name)});
    }
  }

  const ExportSubject& subject_;
  ExportSink* const sink_;
  CancelCheck check_;
  std::map<Location, uint64_t> locations_;  // of instructions, numbered as they occur
};

Status WriteSql(const ExportSubject& subject, ExportSink* sink) {
  Writer(subject, sink).Write();
  return OkStatus();
}

}  // namespace

constexpr Exporter kSqlExporter = {
    "sql", "tables of blocks, functions and instructions with properties, as SQL: sqlite3", false,
    &WriteSql};

}  // namespace hbbp
