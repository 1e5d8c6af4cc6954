#include "report_reader.h"

#include <hbbp/source.h>
#include <hbbp/version.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "debug_info_options.h"
#include "error_sum.h"
#include "estimator_option.h"
#include "format.h"
#include "report_loops.h"
#include "report_pivots.h"
#include "report_slices.h"
#include "report_tasks.h"

namespace hbbp::tools {
namespace {

// Threads are told apart as long as the page does not grow by more rows than that.
constexpr size_t kReportTaskRows = 12000;

std::vector<std::pair<std::string, uint64_t>> Pairs(const std::vector<hbbp_counter>& counters) {
  std::vector<std::pair<std::string, uint64_t>> pairs;
  for (const hbbp_counter& counter : counters) pairs.emplace_back(counter.name, counter.value);
  return pairs;
}

ReportSource ToReport(const SourceView& source) {
  ReportSource out;
  out.kind = SourceName(source.source);
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
  explicit Reader(const ExportRequest& request) : request_(request) {}

  StatusOr<Report> Read() {
    HBBP_RETURN_IF_ERROR(ReadRun());
    HBBP_RETURN_IF_ERROR(ReadFunctions());
    HBBP_RETURN_IF_ERROR(ReadLoops(request_.profile, listed_, &report_, &loop_of_block_));
    HBBP_RETURN_IF_ERROR(ReadBlocks());
    HBBP_RETURN_IF_ERROR(ReadMixes(request_.profile, &report_));
    HBBP_RETURN_IF_ERROR(ReadRatios(request_.profile, &report_));
    HBBP_RETURN_IF_ERROR(ReadSlices(request_.profile, &report_));
    HBBP_ASSIGN_OR_RETURN(report_.line_problems, DebugInfoOptions::Problems(request_.profile));
    return std::move(report_);
  }

 private:
  Status ReadRun() {
    HBBP_INIT(hbbp_error, error);
    HBBP_INIT(hbbp_profile_info, info);
    if (hbbp_profile_get_info(request_.profile, &info, &error) != HBBP_OK) return ToStatus(error);
    HBBP_ASSIGN_OR_RETURN(const auto sources, Sources(request_.profile));
    HBBP_ASSIGN_OR_RETURN(const auto modules, Modules(request_.profile));
    report_.files = request_.files;
    report_.command = info.command;
    report_.host = info.host;
    report_.library = hbbp_version_string();
    report_.pid = info.pid;
    report_.start_time_ns = info.start_time_ns;
    report_.duration_ns = info.duration_ns;
    report_.unit = UnitOf(sources);
    report_.is_up_to_factor = IsUpToFactor(sources);
    report_.caveats = Caveats(sources);
    if (!sources.empty()) report_.estimator = EstimatorName(sources.front().estimator);
    for (const SourceView& source : sources) report_.sources.push_back(ToReport(source));
    for (const hbbp_module& module : modules) {
      report_.modules.push_back({module.path, FormatHex(module.build_id, module.build_id_size),
                                 ModuleKindName(module.kind), CodeName(module.code), module.problem,
                                 module.samples});
    }
    return Status();
  }

  Status ReadFunctions() {
    HBBP_ASSIGN_OR_RETURN(const auto functions, Functions(request_.profile));
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
    return Status();
  }

  uint32_t ListedFunction(const hbbp_block& block) const {
    return block.function < listed_.size() ? listed_[block.function] : kNotListed;
  }

  // True for the blocks that the report has in full.
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

  Status ReadBlocks() {
    HBBP_ASSIGN_OR_RETURN(const auto blocks, Blocks(request_.profile));
    HBBP_ASSIGN_OR_RETURN(InstructionTuples tuples,
                          InstructionTuples::Read(request_.profile, &report_));
    HBBP_ASSIGN_OR_RETURN(BlockTasks tasks, BlockTasks::Read(request_.profile, &report_));
    const std::vector<bool> is_chosen = ChooseBlocks(blocks);
    report_.block_count = blocks.size();
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].flags & HBBP_BLOCK_BIASED) ++report_.biased_block_count;
      if (is_chosen[i]) HBBP_RETURN_IF_ERROR(AddBlock(i, blocks[i], &tuples));
    }
    do {
      AddParts(blocks, is_chosen, tasks);
      AddRest(blocks, is_chosen, tasks, &tuples);
    } while (TaskRows() > kReportTaskRows && tasks.TellFewerApart());
    return OkStatus();
  }

  Status AddBlock(uint32_t index, const hbbp_block& block, InstructionTuples* tuples) {
    HBBP_ASSIGN_OR_RETURN(std::vector<ReportInstruction> code, ReadCode(index, block, tuples));
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
    AddLines(block.module, &code);
    out.instructions = std::move(code);
    return OkStatus();
  }

  // What the mix counts, which has names for all that can be decoded.
  StatusOr<std::vector<ReportInstruction>> ReadCode(uint32_t index, const hbbp_block& block,
                                                    InstructionTuples* tuples) const {
    const auto counted = tuples->Of(index);
    auto next = counted.begin();
    std::vector<ReportInstruction> code;
    for (uint64_t address = block.start; address < block.end;) {
      HBBP_INIT(hbbp_instruction, instruction);
      HBBP_INIT(hbbp_error, error);
      if (hbbp_profile_decode(request_.profile, block.module, address, &instruction, &error) !=
          HBBP_OK) {
        return ToStatus(error);
      }
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
      if (is_chosen[i]) (out++)->parts = tasks.PartsOf(i, blocks[i]);
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
      std::map<uint32_t, uint32_t> times;  // that a tuple occurs
      const auto counted = tuples->Of(i);
      for (const InstructionTuples::Instruction& instruction : counted) ++times[instruction.tuple];
      if (counted.size() < block.instruction_count) {
        times[tuples->Unknown()] += block.instruction_count - static_cast<uint32_t>(counted.size());
      }
      for (const ReportPart& part : tasks.PartsOf(i, block)) {
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

  // What the page grows by when tasks are told apart.
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
      HBBP_INIT(hbbp_disassembly, disassembly);
      if (hbbp_profile_disassemble(request_.profile, module, instruction.address, &disassembly,
                                   nullptr) == HBBP_OK) {
        instruction.text = disassembly.text;
      }
    }
  }

  // Without debug information there are no lines; that is no failure of the report.
  void AddLines(uint32_t module, std::vector<ReportInstruction>* code) {
    HBBP_INIT(hbbp_source_frame, frame);
    HBBP_INIT(hbbp_source_place, place);
    for (ReportInstruction& instruction : *code) {
      if (instruction.address >= place.end || instruction.address < place.start) {
        frame.struct_size = sizeof(frame);
        place = {};
        place.struct_size = sizeof(place);
        if (hbbp_profile_find_source(request_.profile, module, instruction.address, 1,
                                     sizeof(frame), &frame, &place, nullptr) != HBBP_OK) {
          return;
        }
      }
      if (place.frame_count == 0 || frame.line == 0 || *frame.file == '\0') continue;
      instruction.file = SourceFile(frame.file);
      instruction.line = frame.line;
      if (place.frame_count > 1) instruction.inlined = Inlined(frame.function);
    }
  }

  uint32_t SourceFile(const std::string& path) {
    const auto [it, is_new] = source_files_.try_emplace(path, report_.source_files.size());
    if (is_new) report_.source_files.push_back(path);
    return it->second;
  }

  uint32_t Inlined(const std::string& symbol) {
    const auto [it, is_new] = inlined_.try_emplace(symbol, report_.inlined.size());
    if (is_new) report_.inlined.push_back(Demangle(symbol.c_str()));
    return it->second;
  }

  const ExportRequest& request_;
  Report report_;
  std::unordered_map<std::string, uint32_t> source_files_;  // index by path
  std::unordered_map<std::string, uint32_t> inlined_;       // index by symbol
  std::vector<uint32_t> loop_of_block_;
  std::vector<uint32_t> listed_;   // by function of the profile: its index in the report
  std::vector<uint32_t> modules_;  // by function of the profile
};

}  // namespace

StatusOr<Report> ReadReport(const ExportRequest& request) { return Reader(request).Read(); }

}  // namespace hbbp::tools
