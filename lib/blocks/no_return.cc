#include "blocks/no_return.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "blocks/function_scan.h"
#include "isa/control_flow.h"

namespace hbbp {
namespace {

// Functions that never return are small, and so are the sets of them that jump to each other.
constexpr uint64_t kMaxSize = 4096;
constexpr size_t kMaxFunctions = 16;
// Kernels resume behind the traps of warnings and return through thunks that move the stack
// pointer, so that there only names are evidence.
constexpr uint64_t kKernelStart = uint64_t{1} << 63;

constexpr std::string_view kNames[] = {
    // C and POSIX
    "_Exit", "__assert", "__assert_fail", "__assert_perror_fail", "__chk_fail", "__fortify_fail",
    "__longjmp_chk", "__stack_chk_fail", "_exit", "_longjmp", "abort", "err", "errx", "exit",
    "longjmp", "pthread_exit", "quick_exit", "siglongjmp", "thrd_exit", "verr", "verrx",
    // C++
    "_Unwind_Resume", "_ZSt10unexpectedv", "_ZSt9terminatev", "__clang_call_terminate",
    "__cxa_bad_cast", "__cxa_bad_typeid", "__cxa_call_terminate", "__cxa_call_unexpected",
    "__cxa_deleted_virtual", "__cxa_pure_virtual", "__cxa_rethrow", "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    // Fortran
    "_gfortran_error_stop_numeric", "_gfortran_error_stop_string", "_gfortran_os_error",
    "_gfortran_os_error_at", "_gfortran_runtime_error", "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric", "_gfortran_stop_string"};

// Returns whether `name` is a mangled function of namespace std that begins with `__throw_` or
// that reports a failed assertion.
bool IsThrowHelper(std::string_view name) {
  for (const std::string_view space : {"_ZSt", "_ZNSt3__1"}) {
    if (!name.starts_with(space)) continue;
    std::string_view rest = name.substr(space.size());
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
    for (const std::string_view helper :
         {"__throw_", "__glibcxx_assert_fail", "__libcpp_verbose_abort"}) {
      if (rest.starts_with(helper)) return true;
    }
  }
  return false;
}

bool IsSystemCall(std::span<const uint8_t> bytes) {
  return bytes.size() == 2 && ((bytes[0] == 0x0f && bytes[1] == 0x05) || bytes[0] == 0xcd);
}

}  // namespace

bool IsNoReturnName(std::string_view name, bool is_import) {
  if (!is_import && !name.starts_with('_')) return false;
  return std::ranges::find(kNames, name) != std::end(kNames) || IsThrowHelper(name) ||
         name.starts_with("_ZN4core9panicking");  // Rust
}

bool NoReturn::IsCall(std::span<const uint8_t> bytes, ModuleAddress address,
                      const ControlFlow& flow) {
  if (flow.kind == BranchKind::kIndirectCall) return IsThroughImport(bytes, address + flow.length);
  return flow.kind == BranchKind::kCall && IsFunction({flow.target});
}

bool NoReturn::IsFunction(ModuleAddress start) {
  const auto [known, is_new] = functions_.try_emplace(start, false);
  if (is_new) known->second = HasNoWayOut(start);
  return known->second;
}

bool NoReturn::HasNoWayOut(ModuleAddress start) const {
  std::vector<ModuleAddress> pending = {start};
  std::vector<ModuleAddress> seen;
  while (!pending.empty()) {
    const ModuleAddress address = pending.back();
    pending.pop_back();
    const std::optional<AddressRange> range = code_->FunctionAround(address);
    if (!range) return false;
    if (std::ranges::find(seen, range->start) != seen.end()) continue;
    if (seen.size() == kMaxFunctions) return false;
    seen.push_back(range->start);
    constexpr std::string_view kStub = "@plt";
    std::string name = code_->FunctionName(address);
    const bool is_stub = name.ends_with(kStub);
    if (is_stub) name.resize(name.size() - kStub.size());
    if (IsNoReturnName(name, is_stub)) continue;
    if (is_stub || address.value >= kKernelStart) return false;
    const auto exits = FindExits(*range);
    if (!exits) return false;
    pending.insert(pending.end(), exits->begin(), exits->end());
  }
  return true;
}

std::optional<std::vector<ModuleAddress>> NoReturn::FindExits(const AddressRange& range) const {
  const uint64_t size = range.end - range.start;
  if (size > kMaxSize) return std::nullopt;
  const auto code = code_->CodeAt(range.start, size);
  if (code.size() < size || code_->HasDistantHandlers(range)) return std::nullopt;
  std::vector<ModuleAddress> exits;
  ControlFlow last;
  std::span<const uint8_t> last_bytes;
  bool is_padded = false;
  const bool is_last = EndsBeforePadding(range.end);
  // Every instruction counts, because exceptions and the like reach code that no jump leads to.
  for (uint64_t offset = 0; offset < size;) {
    const ModuleAddress address = range.start + offset;
    ControlFlow flow;
    if (!DecodeControlFlow(code.subspan(offset), address.value, &flow)) return std::nullopt;
    const auto bytes = code.subspan(offset, flow.length);
    offset += flow.length;
    is_padded = IsPadding(bytes);
    if (is_padded) continue;
    last = flow;
    last_bytes = bytes;
    switch (flow.kind) {
      case BranchKind::kReturn:
        return std::nullopt;
      case BranchKind::kIndirectJump:
        if (!IsThroughImport(bytes, range.start + offset)) return std::nullopt;
        break;
      case BranchKind::kSystem:
        if (!IsSystemCall(bytes)) return std::nullopt;
        break;
      case BranchKind::kJump:
      case BranchKind::kConditional:
        // clang has jumps that are never reached lead to the end of the function.
        if (!range.Contains({flow.target}) && !(flow.target == range.end.value && is_last)) {
          exits.push_back({flow.target});
        }
        break;
      default:
        break;
    }
  }
  if (last_bytes.empty()) return std::nullopt;
  if (!FallsThrough(last.kind)) return exits;
  const bool is_call = last.kind == BranchKind::kCall || last.kind == BranchKind::kIndirectCall;
  if (!is_call) return std::nullopt;
  if (is_padded || is_last) return exits;
  // Where a symbol divides a function in assembly, the next part may follow.
  if (last.kind == BranchKind::kIndirectCall) {
    return IsThroughImport(last_bytes, range.end) ? std::optional(exits) : std::nullopt;
  }
  exits.push_back({last.target});
  return exits;
}

bool NoReturn::EndsBeforePadding(ModuleAddress end) const {
  const auto code = code_->CodeAt(end, kMaxInstructionLength);
  ControlFlow flow;
  if (code.empty() || code[0] == 0 || code[0] == 0xcc) return true;
  return DecodeControlFlow(code, end.value, &flow) && IsPadding(code.first(flow.length));
}

bool NoReturn::IsThroughImport(std::span<const uint8_t> bytes, ModuleAddress end) const {
  // ff 15 is call *displacement(%rip), and ff 25 is jmp *displacement(%rip).
  constexpr size_t kLength = 6;
  if (bytes.size() < kLength) return false;
  const auto form = bytes.last(kLength);
  if (form[0] != 0xff || (form[1] != 0x15 && form[1] != 0x25)) return false;
  int32_t displacement = 0;
  std::memcpy(&displacement, form.data() + 2, sizeof(displacement));
  return IsNoReturnName(code_->ImportAt(end + static_cast<uint64_t>(int64_t{displacement})), true);
}

}  // namespace hbbp
