// ListProbes has a row for each row of a table of counts, with a column for each field that some
// table has, and one for each hot stream. Fields that are addresses of code have the name of the
// function and, in CSV and JSON, the module and the address in it. ListOverlaps has a row for each
// engine and table.
#include "probe/probe_report.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "estimate/error_metrics.h"
#include "format.h"

namespace hbbp::tools {
namespace {

constexpr size_t kMaxShownElements = 4;  // of a stream, in a table

// Returns "sort", "sort+0x1a", "libc.so.6+0x1234" or "0x401000".
std::string NameOfCode(const CodeDescription& code) {
  if (!code.is_in_module) return FormatAddress(code.address);
  if (code.function.empty()) {
    return std::string(BaseName(code.module)) + "+" + FormatAddress(code.address);
  }
  const std::string name = Demangle(code.function.c_str());
  const bool has_start = code.function_start != 0 && code.function_start < code.address;
  return has_start ? name + "+" + FormatAddress(code.address - code.function_start) : name;
}

bool IsAnyNumber(ProbeKey field) {
  return field == ProbeKey::kValue || (field >= ProbeKey::kRax && field <= ProbeKey::kR15);
}

uint64_t RoundedCount(double estimate) {
  constexpr double kMax = 9e18;
  return static_cast<uint64_t>(std::llround(std::clamp(estimate, 0.0, kMax)));
}

// Returns "TNT" of a path with three conditional branches, of which the second one was not taken.
std::string PathText(uint64_t path) {
  std::string text;
  for (int bit = static_cast<int>(std::bit_width(path)) - 2; bit >= 0; --bit) {
    text += (path >> bit & 1) != 0 ? 'T' : 'N';
  }
  return text.empty() ? "-" : text;
}

// Returns the text of a number that has one in all formats.
std::optional<std::string> NumberText(ProbeKey field, uint64_t value) {
  switch (field) {
    case ProbeKey::kDivisor:
    case ProbeKey::kStride:
      return std::to_string(static_cast<int64_t>(value));
    case ProbeKey::kPath:
      return PathText(value);
    case ProbeKey::kReuse:
      return value == ReuseDistances::kFirst ? "first" : std::to_string(value);
    default:
      return std::nullopt;
  }
}

Column::Kind FindKind(ProbeKey field, bool is_table) {
  if (IsCodeAddress(field)) return Column::kFunction;
  if (is_table && IsAnyNumber(field)) return Column::kText;
  switch (field) {
    case ProbeKey::kSize:
    case ProbeKey::kTrips:
    case ProbeKey::kSampleCounter:
    case ProbeKey::kBurstCounter:
      return Column::kCount;
    case ProbeKey::kDivisor:
    case ProbeKey::kPath:
    case ProbeKey::kReuse:
    case ProbeKey::kStride:
      return Column::kText;
    default:
      return Column::kAddress;
  }
}

Cell MakeCell(const ProbedStream& probed, ProbeKey field, uint64_t value, bool is_table) {
  // A table has sizes in decimal and addresses in hexadecimal.
  if (is_table && IsAnyNumber(field)) {
    return value <= UINT32_MAX ? std::to_string(value) : FormatAddress(value);
  }
  if (const auto text = NumberText(field, value)) return *text;
  if (!IsCodeAddress(field)) return value;
  // A function that is not known has the number 0.
  if (value == 0) return std::monostate();
  return NameOfCode(probed.Describe(value));
}

// The module and the address in it.
void AppendLocation(const ProbedStream& stream, uint64_t value, std::vector<Cell>* cells) {
  const CodeDescription code = stream.Describe(value);
  if (!code.is_in_module) {
    cells->insert(cells->end(), 2, Cell());
  } else {
    cells->insert(cells->end(), {Cell(code.module), Cell(code.address)});
  }
}

// The fields of all tables, each once.
std::vector<ProbeKey> FieldsOf(const ProductionSet& set) {
  std::vector<ProbeKey> fields;
  for (const ProbeTable& table : set.tables()) {
    if (table.kind != TableKind::kCount) continue;
    for (const ProbeKey field : table.fields) {
      if (std::ranges::count(fields, field) == 0) fields.push_back(field);
    }
  }
  return fields;
}

std::string ElementText(const ProbedStream& probed, const ProbeTable& table, const ProbeRow& row) {
  std::string text;
  for (size_t i = 0; i < table.fields.size(); ++i) {
    if (i != 0) text += ":";
    const ProbeKey field = table.fields[i];
    if (IsCodeAddress(field)) {
      text += NameOfCode(probed.Describe(row[i]));
    } else {
      text += NumberText(field, row[i]).value_or(FormatAddress(row[i]));
    }
  }
  return text;
}

std::string StreamText(const ProbedStream& probed, const ProbeTable& table,
                       const TraceBuffer& trace, const HotStream& stream, Format format) {
  std::string text;
  const size_t shown = format == Format::kTable ? std::min(kMaxShownElements, stream.symbols.size())
                                                : stream.symbols.size();
  for (size_t i = 0; i < shown; ++i) {
    if (i != 0) text += " ";
    text += ElementText(probed, table, trace.rows()[stream.symbols[i]]);
  }
  if (shown < stream.symbols.size()) text += " ...";
  return text;
}

void AddEngineFields(const ProbedStream& probed, const ProductionEngine& engine, Table* table) {
  table->AddField("instructions", probed.instructions());
  table->AddField("exhaustive", engine.is_exhaustive() ? "true" : "false");
  if (!engine.is_exhaustive()) {
    table->AddField("sample_freq", engine.sample_freq());
    table->AddField("burst_length", engine.burst_length());
    table->AddField("bursts", engine.bursts());
  }
  for (size_t i = 0; i < probed.set().productions().size(); ++i) {
    table->AddField("fired_" + probed.set().productions()[i].name, engine.firings(i));
  }
}

// How often each element is in a hot stream: what overlaps of data streams are of.
std::map<uint32_t, double> CountElements(const HotStreams& streams) {
  std::map<uint32_t, double> counts;
  for (const HotStream& stream : streams.streams) {
    for (const uint32_t symbol : stream.symbols) {
      counts[symbol] += static_cast<double>(stream.frequency);
    }
  }
  return counts;
}

using Weights = std::map<ProbeRow, double>;

Weights FindWeights(const ProductionEngine& engine, size_t table, const HotStreamOptions& options) {
  Weights weights;
  if (engine.set().tables()[table].kind == TableKind::kCount) {
    for (const CountTable::Entry& entry : engine.counts(table).Sorted()) {
      weights[entry.row] = entry.estimate;
    }
    return weights;
  }
  const TraceBuffer& trace = engine.trace(table);
  for (const auto& [symbol, count] : CountElements(FindHotStreams(trace.sequences(), options))) {
    weights[trace.rows()[symbol]] = count;
  }
  return weights;
}

double ComputeOverlap(const Weights& reference, const Weights& estimate) {
  std::map<ProbeRow, CountPair> pairs;
  for (const auto& [row, weight] : reference) pairs[row].reference = weight;
  for (const auto& [row, weight] : estimate) pairs[row].estimate = weight;
  std::vector<CountPair> list;
  for (const auto& [row, pair] : pairs) list.push_back(pair);
  return Overlap(list);
}

uint64_t CountRecords(const ProductionEngine& engine, size_t table) {
  const bool is_count = engine.set().tables()[table].kind == TableKind::kCount;
  return is_count ? engine.counts(table).total() : engine.trace(table).total();
}

uint64_t CountDropped(const ProductionEngine& engine, size_t table) {
  const bool is_count = engine.set().tables()[table].kind == TableKind::kCount;
  return is_count ? engine.counts(table).dropped() : engine.trace(table).dropped();
}

// Returns "stride" or "caller, stride".
std::string NamesOf(ProbeKeySet keys) {
  std::string names;
  for (ProbeKeySet rest = keys; rest != 0; rest &= rest - 1) {
    if (!names.empty()) names += ", ";
    names += NameOf(static_cast<ProbeKey>(std::countr_zero(rest)));
  }
  return names;
}

void AddNotes(const ProbedStream& probed, std::span<const ProductionEngine> engines, Table* table) {
  for (size_t i = 0; i < probed.set().tables().size(); ++i) {
    const std::string& name = probed.set().tables()[i].name;
    uint64_t dropped = 0;
    for (const ProductionEngine& engine : engines) {
      dropped = std::max(dropped, CountDropped(engine, i));
      if (const uint64_t unknown = engine.unknown_records(i); unknown != 0) {
        table->AddNote(
            FormatCount(unknown) + " of " + FormatCount(unknown + CountRecords(engine, i)) +
            " records of " + name +
            " are left out, as the bursts do not know: " + NamesOf(engine.unknown_fields(i)));
      }
    }
    if (dropped == 0) continue;
    table->AddNote(FormatCount(dropped) + " records of " + name +
                   " were dropped, because it was full; --max-rows N allows more");
  }
  for (const std::string& note : probed.Notes()) table->AddNote(note);
}

}  // namespace

Table ListProbes(const ProbedStream& probed, const ProductionEngine& engine,
                 const ProbeReportOptions& options) {
  const ProductionSet& set = probed.set();
  const bool is_table = options.format == Format::kTable;
  const std::vector<ProbeKey> fields = FieldsOf(set);
  const bool has_traces =
      std::ranges::count(set.tables(), TableKind::kTrace, &ProbeTable::kind) != 0;
  std::vector<Column> columns = {{"table", "table"}};
  for (const ProbeKey field : fields) {
    const std::string name(NameOf(field));
    columns.push_back({name, name, FindKind(field, is_table)});
    if (IsCodeAddress(field) && !is_table) {
      columns.push_back({name + "_module", "", Column::kPath});
      columns.push_back({name + "_address", "", Column::kAddress});
    }
  }
  if (has_traces) {
    columns.push_back({"stream", "stream"});
    columns.push_back({"length", "length", Column::kCount});
  }
  columns.push_back({"count", "count", Column::kCount});
  columns.push_back({"share", "share", Column::kShare});
  if (probed.is_sample()) columns.push_back({"records", "records", Column::kCount});
  Table table(std::move(columns));
  AddEngineFields(probed, engine, &table);

  const auto is_full = [&options](uint64_t rows) {
    return options.top != 0 && rows >= options.top;
  };
  for (size_t i = 0; i < set.tables().size(); ++i) {
    const ProbeTable& probe_table = set.tables()[i];
    uint64_t rows = 0;
    if (probe_table.kind == TableKind::kCount) {
      const CountTable& counts = engine.counts(i);
      for (const CountTable::Entry& entry : counts.Sorted()) {
        if (is_full(rows++)) break;
        std::vector<Cell> cells = {probe_table.name};
        for (const ProbeKey field : fields) {
          const auto found = std::ranges::find(probe_table.fields, field);
          const bool has_field = found != probe_table.fields.end();
          const uint64_t value = has_field ? entry.row[found - probe_table.fields.begin()] : 0;
          cells.push_back(has_field ? MakeCell(probed, field, value, is_table) : Cell());
          if (IsCodeAddress(field) && !is_table) AppendLocation(probed, value, &cells);
        }
        if (has_traces) cells.insert(cells.end(), 2, Cell());
        cells.push_back(RoundedCount(entry.estimate));
        cells.push_back(entry.estimate / counts.total_estimate());
        if (probed.is_sample()) cells.push_back(entry.count);
        table.AddRow(std::move(cells));
      }
      if (is_full(counts.rows()) && counts.rows() > options.top) {
        table.AddSummary(FormatCount(options.top) + " of " + FormatCount(counts.rows()) +
                         " rows of " + probe_table.name);
      }
      continue;
    }
    const TraceBuffer& trace = engine.trace(i);
    const HotStreams streams = FindHotStreams(trace.sequences(), options.streams);
    for (const HotStream& stream : streams.streams) {
      if (is_full(rows++)) break;
      std::vector<Cell> cells = {probe_table.name};
      for (const ProbeKey field : fields) {
        cells.insert(cells.end(), IsCodeAddress(field) && !is_table ? 3 : 1, Cell());
      }
      cells.push_back(StreamText(probed, probe_table, trace, stream, options.format));
      cells.push_back(uint64_t{stream.symbols.size()});
      cells.push_back(stream.frequency);
      cells.push_back(static_cast<double>(stream.heat()) / static_cast<double>(streams.length));
      if (probed.is_sample()) cells.emplace_back();
      table.AddRow(std::move(cells));
    }
    table.AddField("coverage_" + probe_table.name, streams.Coverage());
    table.AddSummary(FormatCount(uint64_t{streams.streams.size()}) + " hot streams of " +
                     probe_table.name + " with " + FormatShare(streams.Coverage()) + " of " +
                     FormatCount(streams.length) + " elements");
  }
  AddNotes(probed, {&engine, 1}, &table);
  return table;
}

Table ListOverlaps(const ProbedProgram& program, const ProbeReportOptions& options) {
  Table table({{"sample_freq", "sample freq", Column::kCount},
               {"burst_length", "burst length", Column::kCount},
               {"table", "table"},
               {"overlap", "overlap", Column::kShare},
               {"recorded", "recorded", Column::kCount},
               {"exhaustive", "exhaustive", Column::kCount},
               {"recorded_share", "share", Column::kShare},
               {"bursts", "bursts", Column::kCount}});
  table.AddField("instructions", program.instructions());
  const ProductionEngine& reference = program.engines().front();
  for (size_t i = 0; i < program.set().tables().size(); ++i) {
    const Weights reference_weights = FindWeights(reference, i, options.streams);
    const uint64_t exhaustive = CountRecords(reference, i);
    for (size_t e = 1; e < program.engines().size(); ++e) {
      const ProductionEngine& engine = program.engines()[e];
      const uint64_t recorded = CountRecords(engine, i);
      table.AddRow({engine.sample_freq(), engine.burst_length(), program.set().tables()[i].name,
                    ComputeOverlap(reference_weights, FindWeights(engine, i, options.streams)),
                    recorded, exhaustive,
                    exhaustive == 0
                        ? Cell()
                        : Cell(static_cast<double>(recorded) / static_cast<double>(exhaustive)),
                    engine.bursts()});
    }
  }
  AddNotes(program, program.engines(), &table);
  return table;
}

}  // namespace hbbp::tools
