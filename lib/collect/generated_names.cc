// NameGeneratedCode, which a snapshot of a session calls, reads the files that JITs write for perf:
// first jitdumps (AddFromDump), then the map (AddFromMap). Both keep the functions that something
// was counted in, and Cut divides the copied code at their bounds. FunctionsWithCounts, which
// ImportPerfData calls, reads the map of a recorded process, whose memory is gone.
#include "collect/generated_names.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/files.h"
#include "image/process_memory.h"
#include "perf_data/jit_dump.h"
#include "perf_data/perf_map.h"

namespace hbbp {
namespace {

constexpr uint64_t kMaxMapBytes = 256 << 20;
constexpr uint64_t kMaxFunctionBytes = 16 << 20;

struct Function {
  std::vector<uint8_t> bytes;
  std::string name;
  CodeLines lines = {};
};
using Functions = std::map<uint64_t, Function>;  // by start; no overlaps

bool IsUnnamed(const ModuleRecord& module) {
  return module.kind == ModuleKind::kAnonymous &&
         std::all_of(module.chunks.begin(), module.chunks.end(),
                     [](const CodeChunk& chunk) { return chunk.name.empty(); });
}

// Returns the addresses that something was counted at, sorted.
std::vector<uint64_t> CountedAddresses(const ProfileData& data, uint32_t module,
                                       CancelCheck* check) {
  std::vector<uint64_t> addresses;
  for (const IpCount& count : data.counts) {
    check->Step();
    if (count.module == module) addresses.push_back(count.offset);
  }
  for (const BranchCount& branch : data.branches) {
    check->Step();
    if (branch.from_module == module) addresses.push_back(branch.from);
    if (branch.to_module == module) addresses.push_back(branch.to);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

bool HasAddressIn(const std::vector<uint64_t>& addresses, uint64_t start, uint64_t size) {
  const auto first = std::lower_bound(addresses.begin(), addresses.end(), start);
  return first != addresses.end() && *first - start < size;
}

// Adds a function unless another one that was added before overlaps it.
void Add(uint64_t start, Function function, Functions* functions) {
  const auto next = functions->lower_bound(start);
  if (next != functions->end() && next->first < start + function.bytes.size()) return;
  if (next != functions->begin()) {
    const auto& [before, other] = *std::prev(next);
    if (before + other.bytes.size() > start) return;
  }
  functions->emplace_hint(next, start, std::move(function));
}

// Calls visit(distance from `start`, the bytes that were copied there). `copies` are by rising
// address.
template <typename Visit>
void VisitCopies(const std::vector<CodeChunk>& copies, uint64_t start, size_t size, Visit&& visit) {
  auto copy_at = std::partition_point(copies.begin(), copies.end(), [start](const CodeChunk& copy) {
    return copy.offset + copy.bytes.size() <= start;
  });
  for (; copy_at != copies.end() && copy_at->offset < start + size; ++copy_at) {
    const CodeChunk& copy = *copy_at;
    const uint64_t from = std::max(copy.offset, start);
    const uint64_t to = std::min(copy.offset + copy.bytes.size(), start + size);
    visit(static_cast<size_t>(from - start),
          std::span(copy.bytes).subspan(from - copy.offset, to - from));
  }
}

bool MatchesCopies(const std::vector<CodeChunk>& copies, uint64_t start,
                   std::span<const uint8_t> bytes) {
  bool matches = true;
  VisitCopies(copies, start, bytes.size(), [&](size_t at, std::span<const uint8_t> copy) {
    matches = matches && std::equal(copy.begin(), copy.end(), bytes.begin() + at);
  });
  return matches;
}

// A module of code without names in which something was counted.
struct Unnamed {
  std::vector<CodeChunk>* copies;
  std::vector<uint64_t> addresses;
  Functions functions;
};

void AddFromDump(const std::string& path, CancelCheck* check, std::vector<Unnamed>* unnamed,
                 Status* status) {
  StatusOr<UniqueFd> file = OpenOwnFile(path);
  if (!file.ok()) return;
  StatusOr<JitDumpReader> reader = JitDumpReader::FromFd(*std::move(file), path);
  if (!reader.ok()) {
    *status = reader.status();
    return;
  }
  while (const std::optional<JitCode> code = reader->Next()) {
    check->CheckNow();
    for (Unnamed& module : *unnamed) {
      if (HasAddressIn(module.addresses, code->address, code->bytes.size()) &&
          MatchesCopies(*module.copies, code->address, code->bytes)) {
        Add(code->address,
            {{code->bytes.begin(), code->bytes.end()}, std::string(code->name), code->lines},
            &module.functions);
      }
    }
  }
  if (!reader->problem().empty()) *status = Status(StatusCode::kBadFormat, reader->problem());
}

// Returns the code of a function whose bounds are known: the bytes that were copied, and for the
// rest those in memory now, up to the first byte that neither has.
std::vector<uint8_t> ReadFunction(pid_t pid, const JitSymbol& symbol,
                                  const std::vector<CodeChunk>& copies) {
  std::vector<uint8_t> bytes(symbol.size);
  size_t known = ReadProcessMemory(pid, RuntimeAddress{symbol.address}, bytes);
  VisitCopies(copies, symbol.address, bytes.size(), [&](size_t at, std::span<const uint8_t> copy) {
    std::copy(copy.begin(), copy.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    if (at <= known) known = std::max(known, at + copy.size());
  });
  bytes.resize(known);
  return bytes;
}

void AddFromMap(pid_t pid, const std::string& path, CancelCheck* check,
                std::vector<Unnamed>* unnamed, Status* status) {
  const StatusOr<std::string> text = ReadOwnTextFile(path, kMaxMapBytes);
  if (!text.ok()) {
    if (text.status().code() == StatusCode::kBadFormat) *status = text.status();
    return;
  }
  const std::vector<JitSymbol> symbols = ParsePerfMap(*text, check);
  for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
    check->Step();
    if (symbol->size > kMaxFunctionBytes) continue;
    for (Unnamed& module : *unnamed) {
      if (!HasAddressIn(module.addresses, symbol->address, symbol->size)) continue;
      std::vector<uint8_t> bytes = ReadFunction(pid, *symbol, *module.copies);
      if (bytes.empty()) continue;
      Add(symbol->address, {std::move(bytes), std::string(symbol->name), {}}, &module.functions);
    }
  }
}

// Appends the parts of the copy that lie in no function.
void AddRest(const CodeChunk& copy, const Functions& functions, std::vector<CodeChunk>* chunks) {
  const uint64_t end = copy.offset + copy.bytes.size();
  uint64_t from = copy.offset;
  const auto add_up_to = [&](uint64_t to) {
    if (from >= to) return;
    const auto part = std::span(copy.bytes).subspan(from - copy.offset, to - from);
    chunks->push_back({from, {part.begin(), part.end()}});
  };
  auto function = functions.upper_bound(from);
  if (function != functions.begin()) --function;
  for (; function != functions.end() && function->first < end; ++function) {
    add_up_to(std::min(function->first, end));
    from = std::max(from, function->first + function->second.bytes.size());
  }
  add_up_to(end);
}

void Cut(Functions&& functions, std::vector<CodeChunk>* chunks) {
  std::vector<CodeChunk> cut;
  for (const CodeChunk& copy : *chunks) AddRest(copy, functions, &cut);
  for (auto& [start, function] : functions) {
    cut.push_back(
        {start, std::move(function.bytes), std::move(function.name), std::move(function.lines)});
  }
  SortChunks(&cut);
  *chunks = std::move(cut);
}

}  // namespace

std::string PathOfPerfMap(pid_t pid) {
  const std::string number = std::to_string(pid == 0 ? ::getpid() : pid);
  return "/tmp/perf-" + number + ".map";
}

Status NameGeneratedCode(pid_t pid, const JitFiles& files, ProfileData* data, CancelCheck* check) {
  CancelCheck unchecked(nullptr);
  if (check == nullptr) check = &unchecked;
  std::vector<Unnamed> unnamed;
  for (uint32_t i = 0; i < data->modules.size(); ++i) {
    if (!IsUnnamed(data->modules[i])) continue;
    std::vector<uint64_t> addresses = CountedAddresses(*data, i, check);
    if (!addresses.empty()) {
      unnamed.push_back({&data->modules[i].chunks, std::move(addresses), {}});
    }
  }
  // Files may be large, so they are read only if something needs a name.
  if (unnamed.empty()) return OkStatus();
  Status status;
  for (const std::string& dump : files.dumps) AddFromDump(dump, check, &unnamed, &status);
  AddFromMap(pid, files.map, check, &unnamed, &status);
  for (Unnamed& module : unnamed) {
    if (!module.functions.empty()) Cut(std::move(module.functions), module.copies);
  }
  return status;
}

StatusOr<std::vector<NamedRange>> FunctionsWithCounts(const std::string& map,
                                                      const ProfileData& data, uint32_t module,
                                                      CancelCheck* check) {
  CancelCheck unchecked(nullptr);
  if (check == nullptr) check = &unchecked;
  HBBP_ASSIGN_OR_RETURN(const std::string text, ReadOwnTextFile(map, kMaxMapBytes));
  const std::vector<uint64_t> addresses = CountedAddresses(data, module, check);
  const std::vector<JitSymbol> symbols = ParsePerfMap(text, check);
  std::vector<NamedRange> functions;
  for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
    if (!HasAddressIn(addresses, symbol->address, symbol->size)) continue;
    const ModuleAddress start{symbol->address};
    AddRange({{start, start + symbol->size}, std::string(symbol->name)}, &functions);
  }
  return functions;
}

}  // namespace hbbp
