#include "trace/code_walk.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "support/catch.h"
#include "support/seccomp_filter.h"

namespace hbbp::trace {
namespace {

// Maps two pages of code, and nothing after them.
class CodePages {
 public:
  CodePages() {
    pages_ = static_cast<uint8_t*>(
        ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages_ != MAP_FAILED);
    ::munmap(pages_ + 2 * kPage, kPage);
    std::memset(pages_, 0x90, 2 * kPage);
  }
  ~CodePages() { ::munmap(pages_, 2 * kPage); }

  uint64_t Put(size_t offset, const std::vector<uint8_t>& code) {
    std::memcpy(pages_ + offset, code.data(), code.size());
    return reinterpret_cast<uint64_t>(pages_) + offset;
  }

  static constexpr size_t kPage = 4096;

 private:
  uint8_t* pages_;
};

TEST_CASE("the walk ends at the first branch") {
  CodePages pages;
  const uint64_t start = pages.Put(0, {0x48, 0x89, 0xc3, 0x90, 0x75, 0x05});  // mov, nop, jne
  const CodeWalk walk = WalkToBranch(start);
  CHECK(walk.reason == StopReason::kDynamicBranch);
  CHECK(walk.branch.address == start + 4);
  CHECK(walk.branch.kind == BranchKind::kConditional);
  CHECK(walk.instructions == 2);
  CHECK(walk.knows_stack);
  CHECK(walk.stack_change == 0);
}

TEST_CASE("atomic instructions are noticed") {
  CodePages pages;
  const std::vector<std::vector<uint8_t>> atomics = {
      {0xf0, 0x0f, 0xb1, 0x17},        // lock cmpxchg [rdi], edx
      {0xf0, 0x48, 0x0f, 0xc1, 0x07},  // lock xadd [rdi], rax
      {0x64, 0xf0, 0xff, 0x07},        // lock inc dword fs:[rdi]
      {0x87, 0x07},                    // xchg [rdi], eax
      {0x66, 0x44, 0x87, 0x07},        // xchg [rdi], r8w
  };
  const std::vector<std::vector<uint8_t>> others = {
      {0x87, 0xc7},              // xchg edi, eax
      {0xff, 0x07},              // inc dword [rdi]
      {0xb8, 0xf0, 0x87, 0, 0},  // mov eax, 0x87f0
  };
  const auto passes = [&](std::vector<uint8_t> code) {
    // This walks to a jump over one nop, and there to a conditional branch.
    code.insert(code.end(), {0xeb, 0x01, 0x90, 0x74, 0x00});
    const uint64_t start = pages.Put(0, code);
    const uint64_t end = start + code.size() - 2;
    CHECK_FALSE(HasAtomicBefore(end, end));
    CHECK_FALSE(HasAtomicBefore(end + 1, start));
    return HasAtomicBefore(end, start);
  };
  for (const auto& code : atomics) CHECK(passes(code));
  for (const auto& code : others) CHECK_FALSE(passes(code));
}

TEST_CASE("system calls are walked over") {
  CodePages pages;
  const uint64_t start = pages.Put(0, {0x0f, 0x05, 0xc3});
  const CodeWalk walk = WalkToBranch(start);
  CHECK(walk.reason == StopReason::kDynamicBranch);
  CHECK(walk.branch.address == start + 2);
}

TEST_CASE("the return from a signal handler is not walked over, nor what may block SIGTRAP") {
  CodePages pages;
  for (const auto& code : {
           std::vector<uint8_t>{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xc3},  // mov rax
           {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xc3},                                  // mov eax
           {0xb8, 0x0f, 0, 0, 0, 0x90, 0x0f, 0x05, 0xc3},
           {0xb8, 0x0e, 0, 0, 0, 0x0f, 0x05, 0xc3},  // rt_sigprocmask
       }) {
    CHECK(WalkToBranch(pages.Put(0, code)).reason == StopReason::kSystemCall);
  }
  const uint64_t start = pages.Put(0, {0x0f, 0x05, 0xc3});
  CHECK(WalkToBranch(start, 15).reason == StopReason::kSystemCall);
  CHECK(WalkToBranch(start, 14).reason == StopReason::kSystemCall);
  CHECK(WalkToBranch(start, 13).reason == StopReason::kDynamicBranch);
  // Another number is moved meanwhile.
  const uint64_t other = pages.Put(0, {0xb8, 0x0d, 0, 0, 0, 0x0f, 0x05, 0xc3});
  CHECK(WalkToBranch(other, 15).reason == StopReason::kDynamicBranch);
}

TEST_CASE("the stack pointer is followed, until something unusual happens to it") {
  CodePages pages;
  // push rbp; push r15; sub rsp, 0x28; push 1; pop rax; add rsp, 0x100; call
  CodeWalk walk = WalkToBranch(
      pages.Put(0, {0x55, 0x41, 0x57, 0x48, 0x83, 0xec, 0x28, 0x6a, 0x01, 0x58, 0x48,
                    0x81, 0xc4, 0x00, 0x01, 0x00, 0x00, 0xe8, 0x00, 0x00, 0x00, 0x00}));
  CHECK(walk.reason == StopReason::kDynamicBranch);
  CHECK(walk.knows_stack);
  CHECK(walk.stack_change == -8 - 8 - 0x28 - 8 + 8 + 0x100);
  for (const auto& code : {std::vector<uint8_t>{0xc9, 0xc3},  // leave
                           {0x48, 0x83, 0xe4, 0xf0, 0xc3},    // and rsp, -16
                           {0x48, 0x89, 0xec, 0xc3},          // mov rsp, rbp
                           {0x48, 0x8b, 0xe5, 0xc3},          // the same, other form
                           {0x48, 0x8d, 0x65, 0xd8, 0xc3},    // lea rsp, [rbp - 40]
                           {0x5c, 0xc3}}) {                   // pop rsp
    walk = WalkToBranch(pages.Put(0, code));
    CHECK(walk.reason == StopReason::kDynamicBranch);
    CHECK_FALSE(walk.knows_stack);
  }
  walk = WalkToBranch(pages.Put(0, {0x49, 0x89, 0xec, 0x4c, 0x8b, 0xe5, 0x41, 0x5c, 0xc3}));
  CHECK(walk.knows_stack);  // r12, not rsp
  CHECK(walk.stack_change == 8);
}

TEST_CASE("a walk that leaves the mapped pages ends there") {
  CodePages pages;
  const CodeWalk walk = WalkToBranch(pages.Put(2 * CodePages::kPage - 100, {0x90}));
  CHECK(walk.reason == StopReason::kUnreadableCode);
  CHECK(walk.instructions == 100);
  CHECK(WalkToBranch(0x10).reason == StopReason::kUnreadableCode);
}

TEST_CASE("an instruction may lie across pages, or end where the pages end") {
  CodePages pages;
  const uint64_t across = pages.Put(CodePages::kPage - 3, {0xe9, 0x01, 0x02, 0x03, 0x00});
  CHECK(WalkToBranch(across).branch.target.constant == across + 5 + 0x30201);
  const uint64_t last = pages.Put(2 * CodePages::kPage - 1, {0xc3});
  CHECK(WalkToBranch(last - 5).branch.kind == BranchKind::kReturn);
}

TEST_CASE("traps, far transfers and undecodable bytes have different reasons") {
  CodePages pages;
  CHECK(WalkToBranch(pages.Put(0, {0xcc})).reason == StopReason::kTrap);
  CHECK(WalkToBranch(pages.Put(0, {0x0f, 0x0b})).reason == StopReason::kTrap);
  CHECK(WalkToBranch(pages.Put(0, {0xcb})).reason == StopReason::kFarTransfer);
  CHECK(WalkToBranch(pages.Put(0, {0xcd, 0x80})).reason == StopReason::kFarTransfer);
  CHECK(WalkToBranch(pages.Put(0, {0x06})).reason == StopReason::kUndecodable);
}

TEST_CASE("endless straight code ends the walk") {
  CodePages pages;
  CHECK(WalkToBranch(pages.Put(0, {0x90})).reason == StopReason::kInstructionLimit);
}

TEST_CASE("code is read where a filter refuses mincore") {
  constexpr int kNoFilter = 1, kIsUnreadable = 2, kReadsNothing = 3;
  CodePages pages;
  const uint64_t start = pages.Put(0, {0x90, 0xc3});
  const pid_t child = ::fork();
  if (child == 0) {
    if (!RefuseSystemCall(SYS_mincore)) ::_exit(kNoFilter);
    if (WalkToBranch(start).reason != StopReason::kDynamicBranch) ::_exit(kIsUnreadable);
    const StopReason behind = WalkToBranch(start + 2 * CodePages::kPage).reason;
    ::_exit(behind == StopReason::kUnreadableCode ? 0 : kReadsNothing);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) HBBP_SKIP("no seccomp filters here");
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hbbp::trace
