// The file format of speedscope: for each thread, the instructions by stack, which has the module,
// the function, what is inlined in it, and the line.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "export/code_runs.h"
#include "export/exporter.h"
#include "export/file_name.h"
#include "export/json_text.h"
#include "mix/pivot_input.h"
#include "symbols/demangle.h"

namespace hbbp {
namespace {

using Stack = std::vector<uint32_t>;  // of frames, outermost first

struct Frame {
  std::string name;
  std::string_view file;
  uint32_t line = 0;

  auto operator<=>(const Frame&) const = default;
};

// Numbers different values in the order in which they come.
template <typename Value>
class Numbers {
 public:
  uint32_t Find(Value value) {
    const auto [known, is_new] =
        numbers_.try_emplace(std::move(value), static_cast<uint32_t>(values_.size()));
    if (is_new) values_.push_back(&known->first);
    return known->second;
  }
  const std::vector<const Value*>& values() const { return values_; }

 private:
  std::map<Value, uint32_t> numbers_;
  std::vector<const Value*> values_;
};

// What a thread executed.
struct ThreadStacks {
  std::map<uint32_t, double> instructions;  // by stack
  double all = 0;
};

class StackCollector {
 public:
  explicit StackCollector(const ExportSubject& subject)
      : subject_(subject), check_(subject.work.cancel), runs_(subject) {}

  void Collect(const PivotInput& input) {
    uint32_t last = kNoIndex;
    std::vector<std::pair<uint32_t, uint32_t>> stacks;  // and their instructions, of that block
    for (const PivotObservation& observation : input.observations) {
      check_.Step();
      if (observation.block != last) {
        last = observation.block;
        stacks.clear();
        const PivotBlock& block = input.blocks[last];
        for (const CodeRun& run : runs_.Split(block)) {
          stacks.emplace_back(stacks_.Find(MakeStack(block.module, run)), run.instructions);
        }
      }
      ThreadStacks& thread = threads_[observation.thread];
      for (const auto& [stack, length] : stacks) {
        thread.instructions[stack] += observation.estimate.count * length;
        thread.all += observation.estimate.count * length;
      }
    }
  }

  const Numbers<Frame>& frames() const { return frames_; }
  const Numbers<Stack>& stacks() const { return stacks_; }
  const std::map<uint32_t, ThreadStacks>& threads() const { return threads_; }

 private:
  Stack MakeStack(uint32_t module, const CodeRun& run) {
    const std::string& path = subject_.analysis.data().modules[module].path;
    Stack stack = {frames_.Find({std::string(FileName(path)), path})};
    for (auto frame = run.frames.rbegin(); frame != run.frames.rend(); ++frame) {
      stack.push_back(frames_.Find({Demangle(frame->function), frame->file, frame->function_line}));
    }
    const LineFrame& innermost = run.frames.front();
    if (!innermost.file.empty() && innermost.line != 0) {
      std::string name = std::string(FileName(innermost.file)) + ":";
      name += std::to_string(innermost.line);
      stack.push_back(frames_.Find({std::move(name), innermost.file, innermost.line}));
    }
    return stack;
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  CodeRuns runs_;
  Numbers<Frame> frames_;
  Numbers<Stack> stacks_;
  std::map<uint32_t, ThreadStacks> threads_;
};

void WriteFrames(const Numbers<Frame>& frames, ExportSink* sink) {
  const char* separator = "";
  for (const Frame* frame : frames.values()) {
    sink->Write(separator);
    separator = ",\n";
    sink->Write("{\"name\":" + Quoted(frame->name));
    if (!frame->file.empty()) sink->Write(",\"file\":" + Quoted(frame->file));
    if (frame->line != 0) sink->Write(",\"line\":" + std::to_string(frame->line));
    sink->Write("}");
  }
}

void WriteThread(const std::string& name, const ThreadStacks& thread, const Numbers<Stack>& stacks,
                 ExportSink* sink) {
  uint64_t all = 0;
  for (const auto& [stack, instructions] : thread.instructions) all += WholeCount(instructions);
  sink->Write("{\"type\":\"sampled\",\"name\":" + Quoted(name));
  sink->Write(",\"unit\":\"none\",\"startValue\":0,\"endValue\":");
  sink->WriteNumber(all);
  sink->Write(",\n\"samples\":[");
  const char* separator = "";
  for (const auto& [stack, instructions] : thread.instructions) {
    sink->Write(separator);
    separator = ",";
    const char* open = "[";
    for (const uint32_t frame : *stacks.values()[stack]) {
      sink->Write(open);
      open = ",";
      sink->WriteNumber(frame);
    }
    sink->Write("]");
  }
  sink->Write("],\n\"weights\":[");
  separator = "";
  for (const auto& [stack, instructions] : thread.instructions) {
    sink->Write(separator);
    separator = ",";
    sink->WriteNumber(WholeCount(instructions));
  }
  sink->Write("]}");
}

Status WriteSpeedscope(const ExportSubject& subject, ExportSink* sink) {
  HBBP_ASSIGN_OR_RETURN(const PivotInput input, FindCountedBlocks(subject));
  StackCollector collector(subject);
  collector.Collect(input);
  const ProfileData& data = subject.analysis.data();
  const auto busiest =
      std::max_element(collector.threads().begin(), collector.threads().end(),
                       [](const auto& a, const auto& b) { return a.second.all < b.second.all; });
  sink->Write("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
  sink->Write("\"exporter\":\"hbbp\",\"name\":" + Quoted(data.command) + ",\n");
  sink->Write("\"activeProfileIndex\":");
  sink->WriteNumber(static_cast<uint64_t>(std::distance(collector.threads().begin(), busiest)));
  sink->Write(",\n\"shared\":{\"frames\":[\n");
  WriteFrames(collector.frames(), sink);
  sink->Write("]},\n\"profiles\":[\n");
  const char* separator = "";
  for (const auto& [index, stacks] : collector.threads()) {
    const ThreadRecord& thread = data.threads[index];
    sink->Write(separator);
    separator = ",\n";
    WriteThread(thread.name + " " + std::to_string(thread.tid), stacks, collector.stacks(), sink);
  }
  sink->Write("]}\n");
  return OkStatus();
}

}  // namespace

constexpr Exporter kSpeedscopeExporter = {
    "speedscope", "JSON for speedscope.app: the instructions of each thread by function and line",
    false, &WriteSpeedscope};

}  // namespace hbbp
