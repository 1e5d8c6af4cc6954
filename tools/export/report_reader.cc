// Reads a report from a profile. Reader reads sources and modules, then functions, loops and the
// blocks with most instructions; the remaining blocks are summed up. Threads of blocks are
// distinguished as long as the page stays small. Pivots give the mixes, ratios and slices at the
// end. html_page.cc calls ReadReport.
#include "report_reader.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "debug_info_options.h"
#include "error_sum.h"
#include "estimator_option.h"
#include "format.h"
#include "profile_view.h"
#include "report_edges.h"
#include "report_ibs.h"
#include "report_loops.h"
#include "report_pivots.h"
#include "report_slices.h"
#include "report_source.h"
#include "report_tasks.h"

namespace hbbp::tools {
namespace {

// Threads are distinguished as long as that adds no more rows than this to the page.
constexpr size_t kReportTaskRows = 12000;

std::vector<std::pair<std::string, uint64_t>> Pairs(const std::vector<hbbp_counter>& counters) {
  std::vector<std::pair<std::string, uint64_t>> pairs;
  for (const hbbp_counter& counter : counters) pairs.emplace_back(counter.name, counter.value);
  return pairs;
}

ReportSource ToReport(const SourceView& source) {
  ReportSource out;
  out.kind = SourceName(source.kind);
  out.event = EventNameOf(source);
  out.unit = UnitName(source.unit);
  out.period = source.period;
  out.frequency_hz = source.frequency_hz;
  out.samples = source.samples;
  out.taken_branches = source.taken_branches;
  out.lost = source.lost;
  out.throttled = source.throttled;
  out.unmapped = source.unmapped;
  out.unexplained = source.unexplained;
  out.superseded = source.superseded;
  out.unexplained_reasons = Pairs(source.unexplained_reasons);
  out.counters = Pairs(source.counters);
  out.note = source.note;
  return out;
}

double Instructions(const hbbp_block& block) { return block.count * block.instruction_count; }

class Reader {
 public:
  explicit Reader(const PageRequest& request)
      : request_(request),
        analysis_(*request.analysis),
        source_files_(request.with_source_text, &report_) {}

  Report Read() {
    ReadRun();
    ReadFunctions();
    ReadLoops(analysis_, listed_, &report_, &loop_of_block_);
    ReadBlocks();
    source_files_.Finish();
    ReadMixes(analysis_, &report_);
    ReadRatios(analysis_, &report_);
    ReadSlices(analysis_, &report_);
    ReadIbs(analysis_, listed_, &report_);
    report_.line_problems = DebugInfoOptions::ProblemsInShort(analysis_);
    return std::move(report_);
  }

 private:
  void ReadRun() {
    const hbbp_profile_info info = analysis_.get_profile().info();
    const std::vector<SourceView> sources = Sources(analysis_);
    report_.files = request_.files;
    report_.command = info.command;
    report_.host = info.host;
    report_.library = hbbp_version_string();
    report_.pid = info.pid;
    report_.start_time_ns = info.start_time_ns;
    report_.duration_ns = info.duration_ns;
    report_.unit = UnitOf(sources);
    report_.is_up_to_factor = IsUpToFactor(sources) && !IsByModelOfTime(sources);
    report_.caveats = Caveats(sources);
    if (!sources.empty()) report_.estimator = EstimatorName(sources.front().estimator);
    for (const SourceView& source : sources) report_.sources.push_back(ToReport(source));
    for (const ModuleView& module : Modules(analysis_)) {
      report_.modules.push_back({module.path, FormatHex(module.build_id, module.build_id_size),
                                 ModuleKindName(module.kind), CodeName(module.code), module.problem,
                                 module.samples});
    }
  }

  void ReadFunctions() {
    const std::vector<hbbp_function> functions = analysis_.functions();
    report_.instructions = TotalInstructions(functions);
    std::vector<uint32_t> order(functions.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return functions[a].instructions > functions[b].instructions;
    });
    const uint64_t limit = request_.functions != 0 ? request_.functions : kReportFunctions;
    listed_.assign(functions.size(), kNotListed);
    for (const hbbp_function& function : functions) modules_.push_back(function.module);
    report_.function_count = functions.size();
    for (const uint32_t index : order) {
      if (report_.functions.size() == limit) break;
      const hbbp_function& function = functions[index];
      listed_[index] = static_cast<uint32_t>(report_.functions.size());
      report_.functions.push_back({Demangle(function.name), function.module, function.start,
                                   function.end, function.instructions, function.standard_error,
                                   function.samples});
    }
  }

  uint32_t ListedFunction(const hbbp_block& block) const {
    return block.function < listed_.size() ? listed_[block.function] : kNotListed;
  }

  // Returns true for each block that the report lists in full.
  std::vector<bool> ChooseBlocks(const std::vector<hbbp_block>& blocks) const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      if (ListedFunction(blocks[i]) != kNotListed) order.push_back(i);
    }
    const uint64_t limit =
        std::min<uint64_t>(order.size(), request_.blocks != 0 ? request_.blocks : kReportBlocks);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return Instructions(blocks[a]) > Instructions(blocks[b]);
    });
    std::vector<bool> is_chosen(blocks.size());
    for (uint64_t i = 0; i < limit; ++i) is_chosen[order[i]] = true;
    return is_chosen;
  }

  void ReadBlocks() {
    const std::vector<hbbp_block> blocks = analysis_.blocks();
    InstructionTuples tuples = InstructionTuples::Read(analysis_, &report_);
    BlockTasks tasks = BlockTasks::Read(analysis_, &report_);
    const std::vector<bool> is_chosen = ChooseBlocks(blocks);
    std::vector<uint32_t> listed_blocks(blocks.size(), kNotListed);
    report_.block_count = blocks.size();
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].flags & HBBP_BLOCK_BIASED) ++report_.biased_block_count;
      if (!is_chosen[i]) continue;
      listed_blocks[i] = static_cast<uint32_t>(report_.blocks.size());
      AddBlock(i, blocks[i], &tuples);
    }
    ReadEdges(analysis_, listed_, listed_blocks, &report_);
    do {
      AddParts(blocks, is_chosen, tasks);
      AddRest(blocks, is_chosen, tasks, &tuples);
    } while (TaskRows() > kReportTaskRows && tasks.DistinguishFewer());
  }

  void AddBlock(uint32_t index, const hbbp_block& block, InstructionTuples* tuples) {
    std::vector<ReportInstruction> code = ReadCode(index, block, tuples);
    ReportBlock& out = report_.blocks.emplace_back();
    out.module = block.module;
    out.function = ListedFunction(block);
    out.start = block.start;
    out.end = block.end;
    out.count = block.count;
    out.error = block.standard_error;
    out.samples = block.samples;
    out.source = SourceName(block.source);
    out.loop = loop_of_block_[index];
    out.is_biased = (block.flags & HBBP_BLOCK_BIASED) != 0;
    AddText(block.module, &code);
    AddLines(block.module, out.function, &code);
    out.instructions = std::move(code);
  }

  // Reads the instructions that the mix counts, which has names for everything that can be decoded.
  std::vector<ReportInstruction> ReadCode(uint32_t index, const hbbp_block& block,
                                          InstructionTuples* tuples) const {
    const auto counted = tuples->Of(index);
    auto next = counted.begin();
    std::vector<ReportInstruction> code;
    for (uint64_t address = block.start; address < block.end;) {
      const hbbp_instruction instruction = analysis_.decode(block.module, address);
      while (next != counted.end() && next->address < address) ++next;
      const bool is_counted = next != counted.end() && next->address == address;
      ReportInstruction& out = code.emplace_back();
      out.address = address;
      out.length = instruction.length;
      out.text = instruction.mnemonic;
      out.tuple = is_counted ? next->tuple : tuples->Unknown();
      address += instruction.length;
    }
    return code;
  }

  void AddParts(const std::vector<hbbp_block>& blocks, const std::vector<bool>& is_chosen,
                const BlockTasks& tasks) {
    auto out = report_.blocks.begin();
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      if (is_chosen[i]) (out++)->parts = tasks.SplitByTask(i, blocks[i]);
    }
  }

  void AddRest(const std::vector<hbbp_block>& blocks, const std::vector<bool>& is_chosen,
               const BlockTasks& tasks, InstructionTuples* tuples) {
    struct Sum {
      double instructions = 0;
      ErrorSum error;
    };
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, Sum> rest;
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      if (is_chosen[i]) continue;
      const hbbp_block& block = blocks[i];
      std::map<uint32_t, uint32_t> times;  // number of occurrences of each tuple
      const auto counted = tuples->Of(i);
      for (const InstructionTuples::Instruction& instruction : counted) ++times[instruction.tuple];
      if (counted.size() < block.instruction_count) {
        times[tuples->Unknown()] += block.instruction_count - static_cast<uint32_t>(counted.size());
      }
      for (const ReportPart& part : tasks.SplitByTask(i, block)) {
        for (const auto& [tuple, count] : times) {
          Sum& sum = rest[{block.module, ListedFunction(block), tuple, part.task}];
          sum.instructions += part.count * count;
          sum.error.Add(block.source, part.error * count);
        }
      }
    }
    for (const BlockTasks::WithoutCode& part : tasks.without_code()) {
      Sum& sum = rest[{modules_[part.function], listed_[part.function], tuples->NoCode(),
                       tasks.TaskOf(part)}];
      sum.instructions += part.instructions;
      sum.error.Add(HBBP_SOURCE_EBS, part.error);
    }
    report_.rest.clear();
    for (const auto& [key, sum] : rest) {
      const auto& [module, function, tuple, task] = key;
      report_.rest.push_back({module, function, tuple, task, sum.instructions, sum.error.Value()});
    }
  }

  // Returns the number of rows that tasks add to the page.
  size_t TaskRows() const {
    size_t rows = 0;
    for (const ReportBlock& block : report_.blocks) rows += block.parts.size() - 1;
    const auto is_alike = [](const ReportRest& a, const ReportRest& b) {
      return std::tie(a.module, a.function, a.tuple) == std::tie(b.module, b.function, b.tuple);
    };
    for (size_t i = 1; i < report_.rest.size(); ++i) {
      if (is_alike(report_.rest[i - 1], report_.rest[i])) ++rows;
    }
    return rows;
  }

  void AddText(uint32_t module, std::vector<ReportInstruction>* code) const {
    for (ReportInstruction& instruction : *code) {
      const auto disassembly = analysis_.try_disassemble(module, instruction.address);
      if (disassembly) instruction.text = disassembly->text;
    }
  }

  // A module without debug information has no lines, which is not a failure of the report.
  void AddLines(uint32_t module, uint32_t function, std::vector<ReportInstruction>* code) {
    std::vector<hbbp_line_frame> frames;
    hbbp_line_range range = {};
    for (ReportInstruction& instruction : *code) {
      if (instruction.address >= range.end || instruction.address < range.start) {
        const Status found =
            CatchError([&] { frames = analysis_.lines_of(module, instruction.address, &range); });
        if (!found.ok()) return;
      }
      if (frames.empty()) continue;
      const hbbp_line_frame& frame = frames.front();
      if (frame.line == 0 || *frame.file == '\0') continue;
      instruction.file = source_files_.Add(module, frame.file);
      instruction.line = frame.line;
      source_files_.AddLine(function, instruction.file, frame.line);
      AddLineOfFunction(module, function, frames.back());
      if (frames.size() > 1) instruction.inlined = Inlined(frame.function);
    }
  }

  void AddLineOfFunction(uint32_t module, uint32_t function, const hbbp_line_frame& outermost) {
    if (outermost.line == 0 || *outermost.file == '\0') return;
    const uint32_t file = source_files_.Add(module, outermost.file);
    source_files_.AddFunctionLine(function, file, outermost.line);
    if (outermost.function_line != 0 && outermost.function_line < outermost.line) {
      source_files_.AddFunctionLine(function, file, outermost.function_line);
    }
  }

  uint32_t Inlined(const std::string& symbol) {
    const auto [it, is_new] = inlined_.try_emplace(symbol, report_.inlined.size());
    if (is_new) report_.inlined.push_back(Demangle(symbol.c_str()));
    return it->second;
  }

  const PageRequest& request_;
  const hbbp::analysis& analysis_;
  Report report_;
  ReportSourceFiles source_files_;
  std::unordered_map<std::string, uint32_t> inlined_;  // index by symbol
  std::vector<uint32_t> loop_of_block_;
  std::vector<uint32_t> listed_;   // index in the report, by function of the analysis
  std::vector<uint32_t> modules_;  // by function of the analysis
};

}  // namespace

Report ReadReport(const PageRequest& request) { return Reader(request).Read(); }

}  // namespace hbbp::tools
