#include "trace/code_walk.h"

#include <sys/syscall.h>

#include "base/linux_constants.h"
#include "trace/program_memory.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kMaxInstructions = 4096;

// CodeWindow copies the program's code, a window at a time.
class CodeWindow {
 public:
  // Returns at least one whole instruction, if there is one, or nullptr if no code is mapped there.
  const uint8_t* At(uint64_t ip) {
    if (ip >= start_ && ip - start_ + kMaxInstructionLength <= size_) {
      return bytes_ + (ip - start_);
    }
    start_ = ip;
    size_ = sizeof(bytes_);
    if (ReadProgramMemory(ip, bytes_, size_)) return bytes_;
    size_ = kPageBytes - ip % kPageBytes;
    if (size_ > sizeof(bytes_)) size_ = sizeof(bytes_);
    if (ReadProgramMemory(ip, bytes_, size_)) return bytes_;
    size_ = 0;
    return nullptr;
  }

  size_t SizeAt(uint64_t ip) const { return start_ + size_ - ip; }

 private:
  uint64_t start_ = 0;
  uint64_t size_ = 0;
  uint8_t bytes_[256];
};

int32_t Signed32(const uint8_t* bytes) {
  int32_t value;
  __builtin_memcpy(&value, bytes, sizeof(value));
  return value;
}

// Follows what an instruction that is not a branch does to rsp.
void FollowStack(const uint8_t* code, size_t length, CodeWalk* walk) {
  // Decoded before: it was read. NOLINTNEXTLINE(*-core.UndefinedBinaryOperatorResult)
  const size_t rex = (code[0] & 0xf0) == 0x40 ? 1 : 0;
  if (length <= rex) return;
  const uint8_t opcode = code[rex];
  const uint8_t modrm = length > rex + 1 ? code[rex + 1] : 0;
  const bool wide = rex != 0 && (code[0] & 8) != 0;
  const bool rm_is_extended = rex != 0 && (code[0] & 1) != 0;
  const bool reg_is_extended = rex != 0 && (code[0] & 4) != 0;
  if ((opcode & 0xf8) == 0x50 || opcode == 0x68 || opcode == 0x6a || opcode == 0x9c ||
      (opcode == 0xff && (modrm & 0x38) == 0x30)) {  // push, pushf
    walk->stack_change -= 8;
    // NOLINTNEXTLINE(bugprone-branch-clone): the order counts
  } else if (opcode == 0x5c && !rm_is_extended) {  // pop rsp
    walk->knows_stack = false;
  } else if ((opcode & 0xf8) == 0x58 || opcode == 0x8f || opcode == 0x9d) {  // pop, popf
    walk->stack_change += 8;
  } else if (wide && !rm_is_extended && (opcode == 0x83 || opcode == 0x81) &&
             (modrm == 0xec || modrm == 0xc4)) {  // sub or add of a constant
    const int64_t amount =
        opcode == 0x83 ? static_cast<int8_t>(code[rex + 2]) : Signed32(code + rex + 2);
    walk->stack_change += modrm == 0xc4 ? amount : -amount;
  } else if (opcode == 0xc9 || opcode == 0xc8) {  // leave, enter
    walk->knows_stack = false;
  } else if (wide && !rm_is_extended && (modrm & 0xc7) == 0xc4 &&
             (opcode < 0x40 || opcode == 0x81 || opcode == 0x83 || opcode == 0x89)) {  // to rsp
    walk->knows_stack = false;
  } else if (wide && !reg_is_extended && (modrm & 0x38) == 0x20 &&
             (opcode == 0x8b || opcode == 0x8d ||
              (opcode < 0x40 && (opcode & 2) != 0))) {  // mov, lea, arithmetic to rsp
    walk->knows_stack = false;
  }
}

// Recognizes mov $imm32, %eax and mov $imm32, %rax.
bool MovesConstantToRax(const uint8_t* code, size_t length, uint64_t* constant) {
  const bool is_short = length == 5 && code[0] == 0xb8;
  const bool is_long = length == 7 && code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0;
  if (!is_short && !is_long) return false;
  *constant = static_cast<uint64_t>(int64_t{Signed32(code + length - 4)});
  return true;
}

bool IsPrefix(uint8_t byte) {
  switch (byte) {
    case 0x26:           // es
    case 0x2e:           // cs
    case 0x36:           // ss
    case 0x3e:           // ds
    case 0x64 ... 0x67:  // fs, gs, operand size, address size
    case 0xf2:           // repne
    case 0xf3:           // rep
      return true;
    default:
      return (byte & 0xf0) == 0x40;
  }
}

// Recognizes a lock prefix, and xchg with memory, which needs none.
bool IsAtomic(const uint8_t* code, size_t length) {
  size_t i = 0;
  while (i < length && IsPrefix(code[i])) ++i;
  if (i < length && code[i] == 0xf0) return true;
  return i + 1 < length && (code[i] == 0x86 || code[i] == 0x87) && code[i + 1] < 0xc0;
}

}  // namespace

CodeWalk WalkToBranch(uint64_t ip, uint64_t rax) {
  CodeWalk walk;
  CodeWindow window;
  for (; walk.instructions < kMaxInstructions; ++walk.instructions) {
    const uint8_t* code = window.At(ip);
    if (code == nullptr) {
      walk.reason = StopReason::kUnreadableCode;
      return walk;
    }
    const size_t size = window.SizeAt(ip);
    ControlFlow flow;
    if (!DecodeControlFlow({code, size}, ip, &flow)) {
      walk.reason = StopReason::kUndecodable;
      return walk;
    }
    // NOLINTNEXTLINE(*-core.UndefinedBinaryOperatorResult): see FollowStack
    const bool is_system_call = flow.kind == BranchKind::kSystem && code[0] == 0x0f && code[1] == 5;
    if (flow.kind == BranchKind::kNone) {
      FollowStack(code, flow.length, &walk);
      walk.has_atomic = walk.has_atomic || IsAtomic(code, flow.length);
      MovesConstantToRax(code, flow.length, &rax);
    } else if (is_system_call && (rax == SYS_rt_sigreturn || rax == SYS_rt_sigprocmask)) {
      walk.reason = StopReason::kSystemCall;
      return walk;
    } else if (!is_system_call) {
      if (flow.kind == BranchKind::kTrap) {
        walk.reason = StopReason::kTrap;
      } else if (DescribeBranch(code, size, ip, &walk.branch)) {
        walk.reason = StopReason::kDynamicBranch;
      } else {
        walk.reason = StopReason::kFarTransfer;
      }
      return walk;
    }
    ip += flow.length;
  }
  walk.reason = StopReason::kInstructionLimit;
  return walk;
}

bool HasAtomicBefore(uint64_t branch, uint64_t ip) {
  bool has_atomic = false;
  for (uint64_t instructions = 0; instructions < kMaxInstructions;) {
    const CodeWalk walk = WalkToBranch(ip);
    if (walk.reason != StopReason::kDynamicBranch) return false;
    has_atomic = has_atomic || walk.has_atomic;
    if (walk.branch.address == branch) return has_atomic;
    if (!IsResolvedByCode(walk.branch)) return false;
    ip = Evaluate(walk.branch, MachineState{}).next;
    instructions += walk.instructions + 1;
  }
  return false;
}

}  // namespace hbbp::trace
