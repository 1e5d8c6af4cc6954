#include "count/callgrind_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "format.h"

namespace hbbp::tools {
namespace {

using Count = std::pair<uint64_t, uint64_t>;  // address, executions

std::string OneLine(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::vector<Count> Sorted(const CountedProcess::Counts& counts) {
  std::vector<Count> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Writes the lines of one module after another. Numbers of functions are valid in the whole file.
class Writer {
 public:
  void Module(const CountedModule& module, const std::vector<Count>& counts);
  std::string Take() { return std::move(text_); }

 private:
  // Starts the function around `address`, and returns where it ends.
  uint64_t Function(const CountedModule& module, uint64_t address);

  std::string text_;
  uint32_t modules_ = 0;
  uint32_t functions_ = 0;
};

uint64_t Writer::Function(const CountedModule& module, uint64_t address) {
  uint64_t end = UINT64_MAX;
  std::string name;
  if (module.image != nullptr) {
    if (const auto range = module.image->FunctionAround({address})) end = range->end.value;
    name = module.image->FunctionName({address});
  }
  if (name.empty()) name = module.image != nullptr ? FormatAddress(address) : "???";
  text_ += "fn=(" + std::to_string(++functions_) + ") " + Demangle(name.c_str()) + '\n';
  return std::max(end, address + 1);
}

void Writer::Module(const CountedModule& module, const std::vector<Count>& counts) {
  text_ += "\nob=(" + std::to_string(++modules_) + ") " + OneLine(module.path) + "\nfl=(1)";
  if (modules_ == 1) text_ += " ???";
  text_ += '\n';
  uint64_t function_end = 0;
  uint64_t last = 0;
  for (const auto& [address, count] : counts) {
    if (address >= function_end) function_end = Function(module, address);
    text_ +=
        last == 0 || address < last ? FormatAddress(address) : "+" + std::to_string(address - last);
    text_ += ' ' + std::to_string(count) + '\n';
    last = address;
  }
}

}  // namespace

std::string CallgrindText(const CountedProcess& process, std::string_view creator,
                          std::string_view command) {
  // sorted by path, so that the same counts give the same file
  std::vector<const CountedModule*> modules;
  for (const auto& [module, counts] : process.counts()) modules.push_back(module);
  std::sort(modules.begin(), modules.end(), [](const CountedModule* a, const CountedModule* b) {
    return std::pair(a->path, a->build_id) < std::pair(b->path, b->build_id);
  });
  std::string text = "# callgrind format\nversion: 1\ncreator: " + std::string(creator) +
                     "\npid: " + std::to_string(process.pid()) + "\ncmd: " + OneLine(command) +
                     "\npart: 1\n\n";
  for (const CountedModule* module : modules) {
    if (module->build_id.empty()) continue;
    text += "desc: Build ID: " + module->build_id + ' ' + OneLine(module->path) + '\n';
  }
  const std::string total = std::to_string(process.Total());
  text += "\npositions: instr\nevents: Ir\nsummary: " + total + '\n';
  Writer writer;
  for (const CountedModule* module : modules) {
    writer.Module(*module, Sorted(process.counts().at(module)));
  }
  return text + writer.Take() + "\ntotals: " + total + '\n';
}

}  // namespace hbbp::tools
