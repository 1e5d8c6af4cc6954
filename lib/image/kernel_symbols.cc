#include "image/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/linux_constants.h"
#include "image/symbol_choice.h"

namespace hbbp {
namespace {

constexpr uint64_t kMaxKallsymsBytes = 1ull << 30;

// A line is "ffffffff81000000 T name" and, for modules, "\t[module]".
struct Line {
  uint64_t address = 0;
  char type = 0;
  std::string_view name;
  std::string_view module;
};

bool ParseLine(std::string_view text, Line* line) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line->address, 16);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.size() < 4 || text[0] != ' ' || text[2] != ' ') return false;
  line->type = text[1];
  text.remove_prefix(3);
  size_t name_end = std::min(text.find('\t'), text.size());
  line->name = text.substr(0, name_end);
  text.remove_prefix(name_end);
  if (text.starts_with("\t[") && text.ends_with(']')) {
    line->module = text.substr(2, text.size() - 3);
  }
  return !line->name.empty();
}

// Returns 0 if the type is not that of a function.
uint8_t RankOfType(char type) {
  switch (type) {
    case 'T':
      return 3;
    case 'W':
    case 'w':
      return 2;
    case 't':
      return 1;
    default:
      return 0;
  }
}

}  // namespace

StatusOr<std::unique_ptr<KernelSymbols>> KernelSymbols::Read() { return Open("/proc/kallsyms"); }

StatusOr<std::unique_ptr<KernelSymbols>> KernelSymbols::Open(const std::string& path) {
  HBBP_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kMaxKallsymsBytes));
  StatusOr<std::unique_ptr<KernelSymbols>> symbols = Parse(std::move(text));
  if (!symbols.ok()) return symbols.status().Annotate(path);
  return symbols;
}

StatusOr<std::unique_ptr<KernelSymbols>> KernelSymbols::Parse(std::string text) {
  std::unique_ptr<KernelSymbols> symbols(new KernelSymbols(std::move(text)));
  HBBP_RETURN_IF_ERROR(symbols->ParseText());
  return symbols;
}

Status KernelSymbols::ParseText() {
  std::string_view rest = text_;
  bool any_address = false;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    size_t line_end = std::min(rest.find('\n'), rest.size());
    Line line;
    if (!ParseLine(rest.substr(0, line_end), &line)) {
      return MakeStatus(StatusCode::kBadFormat, "line %d is not a kernel symbol", line_number);
    }
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
    any_address |= line.address != 0;
    uint8_t rank = RankOfType(line.type);
    if (rank != 0) functions_.push_back({{line.address}, line.name, line.module, rank});
  }
  if (!any_address && !text_.empty()) {
    return MakeStatus(StatusCode::kPermission,
                      "the kernel hides its addresses; as root: sysctl kernel.kptr_restrict=0");
  }
  std::ranges::sort(functions_, [](const Function& a, const Function& b) {
    return a.start != b.start ? a.start < b.start : IsBetter(a, b);
  });
  auto same_start = [](const Function& a, const Function& b) { return a.start == b.start; };
  functions_.erase(std::unique(functions_.begin(), functions_.end(), same_start), functions_.end());
  return OkStatus();
}

bool KernelSymbols::IsBetter(const Function& a, const Function& b) {
  if (a.rank != b.rank) return a.rank > b.rank;
  // These are second names of code that runs before the kernel is at the address it was linked for.
  constexpr std::string_view kEarly = "__pi_";
  const bool a_is_early = a.name.starts_with(kEarly);
  if (a_is_early != b.name.starts_with(kEarly)) return !a_is_early;
  return IsBetterName(a.name, b.name);
}

ModuleAddress KernelSymbols::EndOf(const Function& function) const {
  const Function* next = &function + 1;
  bool is_last = next == functions_.data() + functions_.size();
  if (!is_last && next->module == function.module) return next->start;
  uint64_t page_end = function.start.value | (kPageBytes - 1);
  if (page_end > UINT64_MAX - kPageBytes - 1) return {UINT64_MAX};
  ModuleAddress guess{page_end + 1 + kPageBytes};
  return is_last ? guess : std::min(guess, next->start);
}

const KernelSymbols::Function* KernelSymbols::Find(ModuleAddress address) const {
  auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (after == functions_.begin()) return nullptr;
  const Function& function = *std::prev(after);
  return address < EndOf(function) ? &function : nullptr;
}

std::span<const uint8_t> KernelSymbols::CodeAt(ModuleAddress, size_t) const { return {}; }

std::span<const uint8_t> KernelSymbols::DataAt(ModuleAddress, size_t) const { return {}; }

std::optional<AddressRange> KernelSymbols::FunctionAround(ModuleAddress address) const {
  const Function* function = Find(address);
  if (function == nullptr) return std::nullopt;
  return AddressRange{function->start, EndOf(*function)};
}

std::string KernelSymbols::FunctionName(ModuleAddress address) const {
  const Function* function = Find(address);
  return function == nullptr ? std::string() : std::string(function->name);
}

std::optional<ModuleAddress> KernelSymbols::AddressOf(std::string_view name) const {
  const std::string wanted = " " + std::string(name);
  for (size_t at = text_.find(wanted); at != std::string::npos; at = text_.find(wanted, at + 1)) {
    const size_t start = text_.rfind('\n', at) + 1;  // npos + 1 is 0
    const size_t end = std::min(text_.find('\n', at), text_.size());
    Line line;
    const auto whole = std::string_view(text_).substr(start, end - start);
    if (ParseLine(whole, &line) && line.name == name && line.module.empty()) {
      return ModuleAddress{line.address};
    }
  }
  return std::nullopt;
}

std::string KernelSymbols::KernelModule(ModuleAddress address) const {
  const Function* function = Find(address);
  return function == nullptr ? std::string() : std::string(function->module);
}

}  // namespace hbbp
