// Writes a report as JSON. Each function at the top level makes the JSON of one list of the report,
// and ReportToJson, which html_page.cc calls, puts them together and escapes the text for a
// <script> element.
#include "report_json.h"

#include <hbbp/analysis.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace hbbp::tools {
namespace {

using Json = nlohmann::ordered_json;

// Increase it with every change that the page must follow.
constexpr int kVersion = 5;
constexpr int kDigits = 6;

// JSON has neither infinity nor NaN, so these become null.
Json Rounded(double number) {
  if (!std::isfinite(number)) return nullptr;
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), number, std::chars_format::scientific, kDigits - 1);
  double rounded = 0;
  std::from_chars(text, end.ptr, rounded);
  // Whole numbers are shorter without their ".0".
  if (std::abs(rounded) < 9e15 && rounded == std::trunc(rounded)) {
    return static_cast<int64_t>(rounded);
  }
  return rounded;
}

// Addresses are text, because JavaScript's numbers cannot hold those of kernels.
Json Address(uint64_t address) {
  char text[16];
  return std::string(text, std::to_chars(text, text + sizeof(text), address, 16).ptr);
}

Json Index(uint32_t index) { return index == kNotListed ? Json(-1) : Json(index); }

// Returns {key: [value of each item]}.
template <typename Item, typename... Fields>
Json Columns(const std::vector<Item>& items, std::pair<const char*, Fields>... fields) {
  Json columns = Json::object();
  const auto add = [&](const char* key, const auto& value) {
    Json column = Json::array();
    for (const Item& item : items) column.push_back(value(item));
    columns[key] = std::move(column);
  };
  (add(fields.first, fields.second), ...);
  return columns;
}

Json Pairs(const std::vector<std::pair<std::string, uint64_t>>& counters) {
  Json pairs = Json::array();
  for (const auto& [name, value] : counters) pairs.push_back({name, value});
  return pairs;
}

Json Sources(const Report& report) {
  Json sources = Json::array();
  for (const ReportSource& source : report.sources) {
    sources.push_back({{"kind", source.kind},
                       {"event", source.event},
                       {"unit", source.unit},
                       {"period", source.period},
                       {"frequency_hz", source.frequency_hz},
                       {"samples", source.samples},
                       {"taken_branches", source.taken_branches},
                       {"lost", source.lost},
                       {"throttled", source.throttled},
                       {"unmapped", source.unmapped},
                       {"unexplained", source.unexplained},
                       {"superseded", source.superseded},
                       {"reasons", Pairs(source.unexplained_reasons)},
                       {"counters", Pairs(source.counters)},
                       {"note", source.note}});
  }
  return sources;
}

Json Modules(const Report& report) {
  Json modules = Json::array();
  for (const ReportModule& module : report.modules) {
    modules.push_back({{"path", module.path},
                       {"build_id", module.build_id},
                       {"kind", module.kind},
                       {"code", module.code},
                       {"problem", module.problem},
                       {"samples", module.samples}});
  }
  return modules;
}

Json Threads(const Report& report) {
  Json threads = Json::array();
  for (const ReportThread& thread : report.threads) {
    threads.push_back({{"pid", thread.pid},
                       {"tid", thread.tid},
                       {"name", thread.name},
                       {"samples", thread.samples},
                       {"instructions", Rounded(thread.instructions)},
                       {"error", Rounded(thread.error)}});
  }
  return threads;
}

Json Tasks(const Report& report) {
  Json tasks = Json::array();
  for (const ReportTask& task : report.tasks) {
    tasks.push_back({{"pid", Index(task.pid)}, {"thread", Index(task.thread)}});
  }
  return tasks;
}

// Returns the task that ran the whole block, or task, count and error of each task.
Json Parts(const ReportBlock& block) {
  if (block.parts.size() == 1) return block.parts.front().task;
  Json parts = Json::array();
  for (const ReportPart& part : block.parts) {
    parts.push_back({part.task, Rounded(part.count), Rounded(part.error)});
  }
  return parts;
}

Json Properties(const Report& report) {
  Json properties = Json::array();
  for (const ReportProperty& property : report.properties) {
    properties.push_back({{"key", property.key}, {"values", property.values}});
  }
  return properties;
}

Json Functions(const Report& report) {
  using Item = ReportFunction;
  return Columns(
      report.functions, std::pair("name", [](const Item& f) { return f.name; }),
      std::pair("module", [](const Item& f) { return f.module; }),
      std::pair("start", [](const Item& f) { return Address(f.start); }),
      std::pair("size", [](const Item& f) { return f.end - f.start; }),
      std::pair("instructions", [](const Item& f) { return Rounded(f.instructions); }),
      std::pair("error", [](const Item& f) { return Rounded(f.error); }),
      std::pair("samples", [](const Item& f) { return f.samples; }),
      std::pair("source", [](const Item& f) {
        return f.file == kNotListed ? Json(nullptr) : Json({f.file, f.first_line, f.last_line});
      }));
}

// Returns length, tuple and text of each instruction; its file and line if the line is known, and
// the function if it was inlined.
Json Code(const ReportBlock& block) {
  Json code = Json::array();
  for (const ReportInstruction& instruction : block.instructions) {
    Json row = {instruction.length, instruction.tuple, instruction.text};
    if (instruction.file != kNotListed) {
      row.push_back(instruction.file);
      row.push_back(instruction.line);
      if (instruction.inlined != kNotListed) row.push_back(instruction.inlined);
    }
    code.push_back(std::move(row));
  }
  return code;
}

Json Blocks(const Report& report) {
  using Item = ReportBlock;
  return Columns(report.blocks, std::pair("module", [](const Item& b) { return b.module; }),
                 std::pair("function", [](const Item& b) { return Index(b.function); }),
                 std::pair("start", [](const Item& b) { return Address(b.start); }),
                 std::pair("size", [](const Item& b) { return b.end - b.start; }),
                 std::pair("count", [](const Item& b) { return Rounded(b.count); }),
                 std::pair("error", [](const Item& b) { return Rounded(b.error); }),
                 std::pair("samples", [](const Item& b) { return b.samples; }),
                 std::pair("source", [](const Item& b) { return b.source; }),
                 std::pair("biased", [](const Item& b) { return b.is_biased ? 1 : 0; }),
                 std::pair("loop", [](const Item& b) { return Index(b.loop); }),
                 std::pair("tasks", [](const Item& b) { return Parts(b); }),
                 std::pair("code", [](const Item& b) { return Code(b); }));
}

Json Edges(const Report& report) {
  using Item = ReportEdge;
  return Columns(report.edges, std::pair("from", [](const Item& e) { return e.from; }),
                 std::pair("to", [](const Item& e) { return e.to; }),
                 std::pair("kind", [](const Item& e) { return e.kind; }),
                 std::pair("count", [](const Item& e) { return Rounded(e.count); }));
}

Json Rest(const Report& report) {
  using Item = ReportRest;
  return Columns(report.rest, std::pair("module", [](const Item& r) { return r.module; }),
                 std::pair("function", [](const Item& r) { return Index(r.function); }),
                 std::pair("tuple", [](const Item& r) { return r.tuple; }),
                 std::pair("task", [](const Item& r) { return Index(r.task); }),
                 std::pair("instructions", [](const Item& r) { return Rounded(r.instructions); }),
                 std::pair("error", [](const Item& r) { return Rounded(r.error); }));
}

Json Numbers(const std::vector<double>& numbers) {
  Json rounded = Json::array();
  for (const double number : numbers) rounded.push_back(Rounded(number));
  return rounded;
}

Json Mixes(const Report& report) {
  Json mixes = Json::array();
  for (const ReportMix& mix : report.mixes) {
    mixes.push_back({{"key", mix.key},
                     {"values", mix.values},
                     {"errors", Numbers(mix.errors)},
                     {"share_errors", Numbers(mix.share_errors)}});
  }
  return mixes;
}

Json Ratios(const Report& report) {
  Json ratios = Json::array();
  for (const ReportRatio& ratio : report.ratios) {
    ratios.push_back({{"group", ratio.group},
                      {"name", ratio.name},
                      {"value", Rounded(ratio.value)},
                      {"unit", ratio.unit},
                      {"error", Rounded(ratio.error)}});
  }
  return ratios;
}

Json Loops(const Report& report) {
  using Item = ReportLoop;
  return Columns(report.loops, std::pair("module", [](const Item& l) { return l.module; }),
                 std::pair("function", [](const Item& l) { return Index(l.function); }),
                 std::pair("header", [](const Item& l) { return Address(l.header); }),
                 std::pair("depth", [](const Item& l) { return l.depth; }),
                 std::pair("parent", [](const Item& l) { return Index(l.parent); }),
                 std::pair("blocks", [](const Item& l) { return l.blocks; }),
                 std::pair("entries", [](const Item& l) { return Rounded(l.entries); }),
                 std::pair("iterations", [](const Item& l) { return Rounded(l.iterations); }),
                 std::pair("trips", [](const Item& l) { return Rounded(l.trips); }),
                 std::pair("trips_error", [](const Item& l) { return Rounded(l.trips_error); }),
                 std::pair("irreducible", [](const Item& l) { return l.is_irreducible ? 1 : 0; }),
                 std::pair("instructions", [](const Item& l) { return Rounded(l.instructions); }),
                 std::pair("error", [](const Item& l) { return Rounded(l.error); }));
}

// Returns {line: text} of each source file.
Json SourceText(const Report& report) {
  Json files = Json::array();
  for (const std::map<uint32_t, std::string>& lines : report.source_text) {
    Json file = Json::object();
    for (const auto& [line, text] : lines) file[std::to_string(line)] = text;
    files.push_back(std::move(file));
  }
  return files;
}

Json Slices(const Report& report) {
  const ReportSlices& slices = report.slices;
  Json timelines = Json::array();
  for (const ReportTimeline& timeline : slices.timelines) {
    Json rows = Json::array();
    for (const std::vector<double>& row : timeline.instructions) rows.push_back(Numbers(row));
    timelines.push_back({{"key", timeline.key},
                         {"values", timeline.values},
                         {"instructions", std::move(rows)},
                         {"other_values", timeline.other_values}});
  }
  return {{"width_ns", slices.width_ns},
          {"count", slices.count},
          {"joined", slices.joined},
          {"samples", slices.samples},
          {"instructions", Numbers(slices.instructions)},
          {"without_time", Rounded(slices.without_time)},
          {"timelines", std::move(timelines)}};
}

Json AddressOrNull(uint64_t address) {
  return address == HBBP_NO_ADDRESS ? Json(nullptr) : Address(address);
}

// Returns name and buckets of each latency or level.
template <typename Item>
Json Histograms(const std::vector<Item>& items) {
  Json histograms = Json::array();
  for (const Item& item : items) {
    Json buckets = Json::array();
    for (const ReportIbsBucket& bucket : item.buckets) {
      buckets.push_back({bucket.first_cycles, bucket.end_cycles, bucket.samples});
    }
    histograms.push_back({{"name", item.name}, {"buckets", std::move(buckets)}});
  }
  return histograms;
}

Json IbsLoads(const ReportIbs& ibs) {
  using Item = ReportIbsLoads;
  return Columns(ibs.loads, std::pair("module", [](const Item& l) { return l.module; }),
                 std::pair("function", [](const Item& l) { return Index(l.function); }),
                 std::pair("address", [](const Item& l) { return AddressOrNull(l.address); }),
                 std::pair("name", [](const Item& l) { return l.name; }),
                 std::pair("text", [](const Item& l) { return l.text; }),
                 std::pair("levels", [](const Item& l) { return Histograms(l.levels); }));
}

Json IbsAccesses(const ReportIbsAccesses& accesses) {
  using Item = IbsAccessRow;
  return {
      {"row_count", accesses.row_count},
      {"rows", Columns(accesses.rows, std::pair("pid", [](const Item& a) { return a.pid; }),
                       std::pair("module", [](const Item& a) { return Index(a.module); }),
                       std::pair("address", [](const Item& a) { return AddressOrNull(a.address); }),
                       std::pair("size", [](const Item& a) { return a.size; }),
                       std::pair("name", [](const Item& a) { return a.name; }),
                       std::pair("loads", [](const Item& a) { return a.loads; }),
                       std::pair("stores", [](const Item& a) { return a.stores; }),
                       std::pair("misses", [](const Item& a) { return a.misses; }),
                       std::pair("miss_cycles", [](const Item& a) { return a.miss_cycles; }),
                       std::pair("local", [](const Item& a) { return a.local; }),
                       std::pair("remote", [](const Item& a) { return a.remote; }),
                       std::pair("threads", [](const Item& a) { return a.threads; }),
                       std::pair("node", [](const Item& a) { return a.nodes; }))}};
}

// Returns what was sampled of the instructions of blocks: the block and the instruction's number in
// it, samples by event, and ops of IBS, which may be none.
Json SampledCode(const Report& report) {
  struct Item {
    size_t block;
    size_t at;
    const ReportInstruction* instruction;
  };
  std::vector<Item> items;
  for (size_t block = 0; block < report.blocks.size(); ++block) {
    const std::vector<ReportInstruction>& code = report.blocks[block].instructions;
    for (size_t at = 0; at < code.size(); ++at) {
      if (code[at].ops || !code[at].samples.empty()) items.push_back({block, at, &code[at]});
    }
  }
  const auto ops = [](const Item& i) { return i.instruction->ops.value_or(IbsOps()); };
  return Columns(items, std::pair("block", [](const Item& i) { return i.block; }),
                 std::pair("at", [](const Item& i) { return i.at; }),
                 std::pair("samples", [](const Item& i) { return i.instruction->samples; }),
                 std::pair("ops", [&](const Item& i) { return ops(i).samples; }),
                 std::pair("misses", [&](const Item& i) { return ops(i).dc_misses; }),
                 std::pair("mean_miss", [&](const Item& i) {
                   const std::optional<double> cycles = ops(i).MeanMissCycles();
                   return cycles ? Rounded(*cycles) : Json(nullptr);
                 }));
}

Json Ibs(const Report& report) {
  using Item = ReportIbsRow;
  const ReportIbs& ibs = report.ibs;
  return {
      {"events", ibs.events},
      {"totals", ibs.totals},
      {"row_count", ibs.row_count},
      {"rows", Columns(ibs.rows, std::pair("module", [](const Item& r) { return r.module; }),
                       std::pair("function", [](const Item& r) { return Index(r.function); }),
                       std::pair("address", [](const Item& r) { return AddressOrNull(r.address); }),
                       std::pair("name", [](const Item& r) { return r.name; }),
                       std::pair("text", [](const Item& r) { return r.text; }),
                       std::pair("values", [](const Item& r) { return r.values; }))},
      {"latencies", Histograms(ibs.latencies)},
      {"load_count", ibs.load_count},
      {"loads", IbsLoads(ibs)},
      {"lines", IbsAccesses(ibs.lines)},
      {"pages", IbsAccesses(ibs.pages)},
      {"objects", IbsAccesses(ibs.objects)},
      {"sampled_events", ibs.sampled_events},
      {"code", SampledCode(report)}};
}

// In JSON these characters occur in strings only.
std::string EscapedForScript(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      case '\x7f':
        text += "\\u007f";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace

std::string ReportToJson(const Report& report) {
  const Json json = {{"version", kVersion},
                     {"files", report.files},
                     {"command", report.command},
                     {"host", report.host},
                     {"library", report.library},
                     {"pid", report.pid},
                     {"start_time_ms", report.start_time_ns / 1'000'000},
                     {"duration_ns", report.duration_ns},
                     {"unit", report.unit},
                     {"estimator", report.estimator},
                     {"up_to_factor", report.is_up_to_factor},
                     {"caveats", report.caveats},
                     {"sources", Sources(report)},
                     {"modules", Modules(report)},
                     {"threads", Threads(report)},
                     {"thread_count", report.thread_count},
                     {"process_count", report.process_count},
                     {"tasks", Tasks(report)},
                     {"instructions", Rounded(report.instructions)},
                     {"function_count", report.function_count},
                     {"block_count", report.block_count},
                     {"biased_block_count", report.biased_block_count},
                     {"loop_count", report.loop_count},
                     {"properties", Properties(report)},
                     {"tuples", report.tuples},
                     {"functions", Functions(report)},
                     {"blocks", Blocks(report)},
                     {"edges", Edges(report)},
                     {"rest", Rest(report)},
                     {"mixes", Mixes(report)},
                     {"ratios", Ratios(report)},
                     {"loops", Loops(report)},
                     {"slices", Slices(report)},
                     {"ibs", Ibs(report)},
                     {"line_problems", report.line_problems},
                     {"source_files", report.source_files},
                     {"source_text", SourceText(report)},
                     {"source_states", report.source_states},
                     {"source_problems", report.source_problems},
                     {"inlined", report.inlined}};
  return EscapedForScript(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace hbbp::tools
