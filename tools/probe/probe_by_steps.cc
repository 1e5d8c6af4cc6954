#include "probe/probe_by_steps.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "image/process_memory.h"

namespace hbbp::tools {
namespace {

AddressRegisters ReadRegisters(pid_t tid) {
  user_regs_struct r = {};
  AddressRegisters registers;
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &r) != 0) return registers;
  registers.general = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
                       r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
  registers.fs_base = r.fs_base;
  registers.gs_base = r.gs_base;
  return registers;
}

class SteppedProgram : public SteppedProcess {
 public:
  SteppedProgram(pid_t pid, ProbedProgram* program) : pid_(pid), program_(*program) {
    program->Start(pid);
  }

  InstructionKind Before(pid_t tid, uint64_t address) override {
    const ProbedCode::Entry& entry = program_.code().Decode(address);
    Next& next = next_[tid];
    // The first iteration of a repeated instruction counts.
    if (next.pc == address) return entry.kind;
    next = {};
    next.pc = address;
    const bool has_access = entry.memory.size != 0;
    if (has_access || program_.needs_registers()) next.registers = ReadRegisters(tid);
    if (has_access) {
      next.address = entry.memory.Address(next.registers);
      next.size = entry.memory.size;
      if (program_.needs_value()) next.value = ReadValue(next);
    }
    return entry.kind;
  }

  void Completed(pid_t tid, uint64_t address, uint64_t next_address) override {
    Next& next = next_[tid];
    if (next.pc != address) next = {};
    if (next.size != 0 && program_.needs_value() && program_.code().At(address).memory.is_written) {
      next.value = ReadValue(next);
    }
    InstructionEvent event;
    event.next = next_address;
    event.address = next.address;
    event.size = next.size;
    event.value = next.value;
    event.registers = &next.registers.general;
    program_.Execute(static_cast<uint32_t>(tid), address, event);
    next.pc = kNone;
  }

  void ThreadEnded(pid_t tid) override {
    next_.erase(tid);
    program_.EndThread(static_cast<uint32_t>(tid));
  }
  void Unmap(uint64_t start, uint64_t size) override { program_.code().Unmap(start, size); }
  void UnmapAll() override { program_.code().UnmapAll(); }
  void Executed() override {
    next_.clear();
    program_.Start(pid_);
  }
  Status Ended() override { return OkStatus(); }

 private:
  // A non-canonical address, which no instruction has.
  static constexpr uint64_t kNone = uint64_t{1} << 63;

  // The next instruction of a thread.
  struct Next {
    uint64_t pc = kNone;
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t value = 0;
    AddressRegisters registers;
  };

  uint64_t ReadValue(const Next& access) const {
    uint64_t value = 0;
    std::array<uint8_t, sizeof(value)> bytes{};
    const size_t size = std::min<uint64_t>(access.size, bytes.size());
    ReadProcessMemory(pid_, {access.address}, std::span(bytes).first(size));
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }

  pid_t pid_;
  ProbedProgram& program_;
  std::unordered_map<pid_t, Next> next_;
};

}  // namespace

StatusOr<StepResult> ProbeBySteps(StepRequest request, ProbedProgram* program) {
  bool is_first = true;
  request.start_process = [&is_first, program](pid_t pid) {
    return std::exchange(is_first, false) ? std::make_unique<SteppedProgram>(pid, program)
                                          : nullptr;
  };
  return StepThrough(request);
}

}  // namespace hbbp::tools
