#include "truth/gcov_modules.h"

#include <map>
#include <optional>
#include <tuple>

#include "format.h"
#include "isa/control_flow.h"
#include "truth/source_lines.h"

namespace hbbp::tools {
namespace {

// LineCounts has the count of each line, by file, and by function where several have the same line.
class LineCounts {
 public:
  explicit LineCounts(const std::vector<GcovLine>& lines) {
    for (const GcovLine& line : lines) {
      counts_[line.file][line.line][line.function] += line.count;
    }
  }

  bool HasFile(const std::string& file) const { return counts_.count(file) != 0; }

  std::optional<double> Find(const std::string& file, uint64_t line,
                             const std::string& function) const {
    const auto in_file = counts_.find(file);
    if (in_file == counts_.end()) return std::nullopt;
    const auto functions = in_file->second.find(line);
    if (functions == in_file->second.end()) return std::nullopt;
    const auto count = functions->second.size() == 1 ? functions->second.begin()
                                                     : functions->second.find(function);
    if (count == functions->second.end()) return std::nullopt;
    return static_cast<double>(count->second);
  }

 private:
  std::map<std::string, std::map<uint64_t, std::map<std::string, uint64_t>>> counts_;
};

// Returns " -O2" for "GNU C17 12.2.0 -mtune=generic -g -O2"; empty if the code was not optimised.
std::string Optimisation(const std::string& producer) {
  const size_t at = producer.rfind(" -O");
  if (at == std::string::npos) return "";
  const std::string option = producer.substr(at + 1, producer.find(' ', at + 1) - at - 1);
  return option == "-O0" ? "" : option;
}

// ModuleLines has the instructions of one module whose lines have counts.
class ModuleLines {
 public:
  ModuleLines(const LineCounts& lines, const std::string& path, const ElfImage& image)
      : lines_(lines), path_(path), image_(image) {}

  void Add(const LineRange& range);
  void AddTo(ReferenceBuilder* counts);

  const std::string& optimisation() const { return optimisation_; }
  double instructions() const { return instructions_; }
  double of_several_blocks() const { return of_several_blocks_; }

 private:
  struct Line {
    double count = 0;
    bool is_one_block = true;
    uint64_t end = 0;  // end of its last piece
    std::vector<uint64_t> instructions;
  };

  const LineCounts& lines_;
  const std::string& path_;
  const ElfImage& image_;
  std::map<std::tuple<std::string, uint64_t, std::string>, Line> found_;
  std::string optimisation_;
  double instructions_ = 0;
  double of_several_blocks_ = 0;
};

void ModuleLines::Add(const LineRange& range) {
  if (!lines_.HasFile(range.file)) return;
  if (optimisation_.empty()) optimisation_ = Optimisation(range.producer);
  const std::string function = image_.FunctionName({range.start});
  const std::optional<double> count = lines_.Find(range.file, range.line, function);
  if (!count) return;
  Line& line = found_[{range.file, range.line, function}];
  line.count = *count;
  if (!line.instructions.empty() && line.end != range.start) line.is_one_block = false;
  line.end = range.end;
  for (uint64_t address = range.start; address < range.end;) {
    ControlFlow flow;
    if (!DecodeControlFlow(image_.CodeAt({address}, kMaxInstructionLength), address, &flow)) break;
    line.instructions.push_back(address);
    address += flow.length;
    const bool is_call = flow.kind == BranchKind::kCall || flow.kind == BranchKind::kIndirectCall;
    if (EndsBlock(flow.kind) && !is_call && address < range.end) line.is_one_block = false;
  }
}

void ModuleLines::AddTo(ReferenceBuilder* counts) {
  for (const auto& [key, line] : found_) {
    for (const uint64_t instruction : line.instructions) {
      if (line.count > 0) counts->Add(path_, instruction, line.count);
    }
    const double executed = line.count * static_cast<double>(line.instructions.size());
    instructions_ += executed;
    if (!line.is_one_block) of_several_blocks_ += executed;
  }
}

}  // namespace

StatusOr<std::vector<ReferenceModule>> CountsFromGcov(const std::vector<GcovLine>& lines,
                                                      const std::string& name, ModuleImages* images,
                                                      std::vector<std::string>* notes) {
  const LineCounts line_counts(lines);
  ReferenceBuilder counts;
  double instructions = 0, of_several_blocks = 0;
  for (const ProfiledModule& module : images->modules()) {
    if (!module.path.starts_with('/')) continue;
    const StatusOr<const ElfImage*> image = images->Open(module.path);
    if (!image.ok() && image.status().code() == StatusCode::kMismatch) return image.status();
    if (!image.ok()) continue;
    ModuleLines module_lines(line_counts, module.path, **image);
    const Status read =
        ForEachLineRange(module.path, [&](const LineRange& range) { module_lines.Add(range); });
    if (!read.ok()) continue;
    if (!module_lines.optimisation().empty()) {
      return MakeStatus(StatusCode::kUnsupported,
                        "%s: %s was compiled with %s, and the counts of gcov are sound only for "
                        "unoptimised code: compile it with -O0 -g --coverage",
                        name.c_str(), module.path.c_str(), module_lines.optimisation().c_str());
    }
    module_lines.AddTo(&counts);
    instructions += module_lines.instructions();
    of_several_blocks += module_lines.of_several_blocks();
  }
  if (instructions == 0) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: no module of the profile has code of its source lines: profile the "
                      "program that was compiled with -O0 -g --coverage, where its sources are",
                      name.c_str());
  }
  notes->push_back(
      "gcov counts source lines, which is sound only for unoptimised code; " +
      FormatShare(of_several_blocks / instructions) +
      " of the instructions are on lines of several blocks, which need not have run equally often");
  return counts.Take();
}

}  // namespace hbbp::tools
