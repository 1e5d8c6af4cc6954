// Tests unknown values, stores, faults, code that changes, full tables and many threads.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/sanitizer.h"
#include "support/seccomp_filter.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/interpreter/overlay_memory.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kEnd = 0x1000;  // nothing is mapped there

// Has code on pages of its own, and runs it from a synthetic state.
class Snippet {
 public:
  explicit Snippet(std::initializer_list<uint8_t> code, size_t cache_bytes = 1 << 20)
      : fixture_(cache_bytes) {
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, 16 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    std::copy(code.begin(), code.end(), memory_);
    state_ = std::make_unique<MachineState>();
    state_->rip = reinterpret_cast<uint64_t>(memory_);
    state_->gpr[kRsp] = reinterpret_cast<uint64_t>(data() + 8 * kPage - 8);
    const uint64_t end = kEnd;
    std::memcpy(data() + 8 * kPage - 8, &end, sizeof(end));
    branches_.resize(1000);
  }
  ~Snippet() { munmap(memory_, 16 * kPage); }
  Snippet(const Snippet&) = delete;
  Snippet& operator=(const Snippet&) = delete;

  uint8_t* code() { return memory_; }
  uint8_t* data() { return memory_ + 8 * kPage; }
  uint64_t ip() const { return reinterpret_cast<uint64_t>(memory_); }
  MachineState& state() { return *state_; }
  LookAheadFixture& fixture() { return fixture_; }
  std::vector<TakenBranch>& branches() { return branches_; }
  const MachineState& result() { return fixture_.look_ahead()->state(); }

  RunResult Run(uint64_t limit = 100000, bool faults_are_caught = false) {
    fixture_.look_ahead()->Begin(*state_, faults_are_caught);
    return Continue(limit);
  }
  RunResult Continue(uint64_t limit = 100000) {
    return fixture_.look_ahead()->Run(branches_.data(), static_cast<uint32_t>(branches_.size()),
                                      limit);
  }

 private:
  LookAheadFixture fixture_;
  uint8_t* memory_;
  std::unique_ptr<MachineState> state_;
  std::vector<TakenBranch> branches_;
};

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

TEST_CASE("What is unknown passes on and stops where it decides a branch") {
  // rdtsc; mov ecx, eax; mov edx, 5; add edx, 1; test ecx, ecx; je +0; ret
  Snippet snippet(
      {0x0f, 0x31, 0x89, 0xc1, 0xba, 5, 0, 0, 0, 0x83, 0xc2, 1, 0x85, 0xc9, 0x74, 0, 0xc3});
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kUnknownBranch);
  CHECK(run.ip == snippet.ip() + 14);
  CHECK(run.instructions == 5);
  CHECK(run.branches == 0);
  CHECK(snippet.result().gpr[kRdx] == 6);
  CHECK((snippet.result().poison & (GprBit(kRax) | GprBit(kRcx) | kZfBit)) ==
        (GprBit(kRax) | GprBit(kRcx) | kZfBit));
  CHECK((snippet.result().poison & GprBit(kRdx)) == 0);
}

TEST_CASE("Unknown bytes in memory are unknown to loads of them and to no other loads") {
  // rdtsc; mov [rdi], al; mov [rdi+1], byte 7; movzx ecx, byte [rdi+1]; movzx edx, byte [rdi];
  // mov byte [rdi], 3; movzx esi, byte [rdi]; xor eax, eax; ret
  Snippet snippet({0x0f, 0x31, 0x88, 0x07, 0xc6, 0x47, 1,    7,    0x0f, 0xb6, 0x4f, 1,
                   0x0f, 0xb6, 0x17, 0xc6, 0x07, 3,    0x0f, 0xb6, 0x37, 0x31, 0xc0, 0xc3});
  snippet.state().gpr[kRdi] = Address(snippet.data() + 100);
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kUnreadableCode);
  CHECK(run.ip == kEnd);
  CHECK(run.branches == 1);
  CHECK(snippet.result().gpr[kRcx] == 7);
  CHECK(snippet.result().gpr[kRsi] == 3);
  CHECK(snippet.result().gpr[kRax] == 0);
  CHECK(snippet.result().poison == GprBit(kRdx));
  CHECK(snippet.data()[100] == 0);
  CHECK(snippet.data()[101] == 0);
}

TEST_CASE("Instructions are counted up to the first branch and up to the last one") {
  // nop; jmp +0; nop; rep stosb; jmp +0; nop; ud2
  Snippet snippet({0x90, 0xeb, 0, 0x90, 0xf3, 0xaa, 0xeb, 0, 0x90, 0x0f, 0x0b});
  snippet.state().gpr[kRdi] = Address(snippet.data());
  snippet.state().gpr[kRcx] = 50;
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kTrap);
  CHECK(run.branches == 2);
  CHECK(run.first_branch == 2);
  CHECK(run.last_branch == 5);
  CHECK(run.instructions == 6);
  const RunResult none = snippet.Continue();
  CHECK(none.branches == 0);
  CHECK(none.first_branch == 0);
  CHECK(none.last_branch == 0);
}

TEST_CASE("The instructions to a branch are counted where they run one at a time") {
  // rdtsc; xor eax, edx; jmp +0; xor ecx, eax; jmp +0; nop; ud2
  Snippet snippet({0x0f, 0x31, 0x31, 0xd0, 0xeb, 0, 0x31, 0xc1, 0xeb, 0, 0x90, 0x0f, 0x0b});
  const RunResult run = snippet.Run();
  CHECK(run.first_branch == 3);
  CHECK(run.last_branch == 5);
  CHECK(run.instructions == 6);
}

TEST_CASE("A branch behind the first one is waited for as any other") {
  // jmp +0; ret
  Snippet snippet({0xeb, 0, 0xc3});
  LookAhead* look_ahead = snippet.fixture().look_ahead();
  look_ahead->Begin(snippet.state(), false);
  const RunResult run = look_ahead->RunToDynamicBranch(snippet.branches().data(), 100, 1000);
  CHECK(run.reason == StopReason::kDynamicBranch);
  CHECK(run.ip == snippet.ip() + 2);
  CHECK(run.branches == 1);
}

// Runs the code, which accesses the second page of data.
bool BeginsInNewPage(Snippet* snippet, AccessTiming timing, bool counts_page_faults = true) {
  const FaultCatcher catcher;
  snippet->fixture().code_cache()->SetAccessTiming(timing, counts_page_faults);
  snippet->state().gpr[kRdi] = Address(snippet->data() + kPage + 200);
  snippet->state().gpr[kRsi] = Address(snippet->data() + 200);
  (void)snippet->Run(100000, true);
  return snippet->fixture().look_ahead()->stats().begins_in_new_page;
}

constexpr AccessTiming kNoFaults = {.hit = 40, .min_miss = 40, .max_miss = UINT16_MAX};

TEST_CASE("A burst knows whether its first instruction accesses a page of zeros") {
  // mov eax, [rdi]; mov byte [rdi], 1; inc byte [rdi]; rep movsb of 3 bytes: each, then ret
  for (const std::initializer_list<uint8_t> code :
       {std::initializer_list<uint8_t>{0x8b, 0x07, 0xc3},
        {0xc6, 0x07, 1, 0xc3},
        {0xfe, 0x07, 0xc3},
        {0xf3, 0xa4, 0xc3}}) {
    Snippet snippet(code);
    snippet.state().gpr[kRcx] = 3;
    snippet.data()[200] = 1;
    uint8_t* const page = snippet.data() + kPage;
    for (const size_t at : {size_t{0}, size_t{200}, kPage - 1}) {
      page[at] = 1;
      CHECK_FALSE(BeginsInNewPage(&snippet, kNoFaults));
      page[at] = 0;
    }
    page[kPage] = 1;  // of the next one
    CHECK(BeginsInNewPage(&snippet, kNoFaults));
    CHECK_FALSE(BeginsInNewPage(&snippet, kNoFaults, false));
    CHECK_FALSE(BeginsInNewPage(&snippet, {}));
    // Each first load of a page takes longer.
    CHECK_FALSE(BeginsInNewPage(&snippet, {.hit = 1, .min_miss = 0, .max_miss = 0}));
    CHECK(snippet.fixture().look_ahead()->stats().memory_use.page_faults != 0);
  }
}

TEST_CASE("A burst whose first instruction accesses nothing begins in no new page") {
  // nop; mov eax, [rdi]; ret, and lea rax, [rdi]; ret
  for (const std::initializer_list<uint8_t> code :
       {std::initializer_list<uint8_t>{0x90, 0x8b, 0x07, 0xc3}, {0x48, 0x8d, 0x07, 0xc3}}) {
    Snippet snippet(code);
    snippet.data()[kPage] = 0;
    CHECK_FALSE(BeginsInNewPage(&snippet, kNoFaults));
  }
}

TEST_CASE("What follows in a burst does not change where it began") {
  // mov eax, [rdi]; jmp +0; mov eax, [rsi]; jmp +0; ret
  Snippet snippet({0x8b, 0x07, 0xeb, 0, 0x8b, 0x06, 0xeb, 0, 0xc3});
  snippet.data()[kPage] = 0;
  snippet.data()[200] = 1;
  snippet.branches().resize(1);
  CHECK(BeginsInNewPage(&snippet, kNoFaults));
  (void)snippet.Continue();
  CHECK(snippet.fixture().look_ahead()->stats().begins_in_new_page);
  std::swap(snippet.data()[200], snippet.data()[kPage]);
  CHECK_FALSE(BeginsInNewPage(&snippet, kNoFaults));
  (void)snippet.Continue();
  CHECK_FALSE(snippet.fixture().look_ahead()->stats().begins_in_new_page);
}

TEST_CASE("A page that cannot be read is not a new one") {
  // mov eax, [rdi]; ret
  Snippet snippet({0x8b, 0x07, 0xc3});
  REQUIRE(mprotect(snippet.data() + kPage, kPage, PROT_NONE) == 0);
  CHECK_FALSE(BeginsInNewPage(&snippet, kNoFaults));
}

TEST_CASE("A store to an unknown address, and a push and a pop of something unknown") {
  // rdtsc; push rax; pop rcx; pop rdx; mov [rcx], edx
  Snippet snippet({0x0f, 0x31, 0x50, 0x59, 0x5a, 0x89, 0x11, 0xc3});
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kUnknownStore);
  CHECK(run.ip == snippet.ip() + 5);
  CHECK(snippet.result().poison == (GprBit(kRax) | GprBit(kRcx)));
  CHECK(snippet.result().gpr[kRdx] == kEnd);
  CHECK(snippet.result().gpr[kRsp] == snippet.state().gpr[kRsp] + 8);
}

TEST_CASE("Accesses at unknown addresses are not recorded") {
  // rdtsc; mov rdi, rax; scasb; mov rsi, rax; lea rdi, [rbx]; movsb; mov ecx, [rbx]; mov rsp, rax;
  // mov edx, [rbx + 8]; call rcx
  Snippet snippet({0x0f, 0x31, 0x48, 0x89, 0xc7, 0xae, 0x48, 0x89, 0xc6, 0x48, 0x8d, 0x3b,
                   0xa4, 0x8b, 0x0b, 0x48, 0x89, 0xc4, 0x8b, 0x53, 0x08, 0xff, 0xd1});
  const uint64_t data = Address(snippet.data());
  snippet.state().gpr[kRbx] = data + 64;
  RecordedAccess log[8];
  REQUIRE(snippet.fixture().code_cache()->SetRecordedKinds(SetOf(RecordedKind::kAddress)));
  snippet.fixture().look_ahead()->SetAccessLog(log, 8);
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kUnknownBranch);
  REQUIRE(run.accesses == 2);
  const auto offset = [&](uint64_t of) {
    return static_cast<uint32_t>(snippet.ip() + of) & 0xffffff;
  };
  CHECK(log[0] == RecordedAccess{data + 64, 0, offset(13)});
  CHECK(log[1] == RecordedAccess{data + 72, 0, offset(18)});
}

TEST_CASE("Values that are known are recorded") {
  // xor edx, edx; mov ecx, 7; div ecx; xor edx, edx; idiv qword [rbx]; xor eax, eax; div bh;
  // rdtsc; mov rsi, rax; mov edx, 30; call next; next: xor edx, edx; mov rax, rdx; div rsi; ret
  Snippet snippet({0x31, 0xd2, 0xb9, 0x07, 0x00, 0x00, 0x00, 0xf7, 0xf1, 0x31, 0xd2,
                   0x48, 0xf7, 0x3b, 0x31, 0xc0, 0xf6, 0xf7, 0x0f, 0x31, 0x48, 0x89,
                   0xc6, 0xba, 0x1e, 0x00, 0x00, 0x00, 0xe8, 0x00, 0x00, 0x00, 0x00,
                   0x31, 0xd2, 0x48, 0x89, 0xd0, 0x48, 0xf7, 0xf6, 0xc3});
  const uint64_t data = Address(snippet.data()) + 0x500;
  snippet.state().gpr[kRbx] = data;
  const int64_t divisor = -3;
  std::memcpy(snippet.data() + 0x500, &divisor, sizeof(divisor));
  RecordedAccess log[16];
  const RecordedKinds kinds =
      SetOf(RecordedKind::kDivisor) | SetOf(RecordedKind::kRsi) | SetOf(RecordedKind::kRdx);
  REQUIRE(snippet.fixture().code_cache()->SetRecordedKinds(kinds));
  snippet.fixture().look_ahead()->SetAccessLog(log, 16);
  const RunResult run = snippet.Run();
  const auto offset = [&](uint64_t of) {
    return static_cast<uint32_t>(snippet.ip() + of) & 0xffffff;
  };
  // rsi is unknown.
  REQUIRE(run.accesses == 4);
  CHECK(log[0] == RecordedAccess{7, 0, offset(7), RecordedKind::kDivisor});
  CHECK(log[1] ==
        RecordedAccess{static_cast<uint64_t>(divisor), 0, offset(11), RecordedKind::kDivisor});
  CHECK(log[2] == RecordedAccess{data >> 8 & 0xff, 0, offset(16), RecordedKind::kDivisor});
  CHECK(log[3] == RecordedAccess{30, 0, offset(28), RecordedKind::kRdx});
}

TEST_CASE("A push of an unknown word in memory, and an exchange with the address itself") {
  // rdtsc; mov [rdi], rax; push qword [rdi]; pop rcx; xor eax, eax; mov rbx, rsi;
  // xchg [rbx], rbx; mov rdx, [rsi]; ret
  Snippet snippet({0x0f, 0x31, 0x48, 0x89, 0x07, 0xff, 0x37, 0x59, 0x31, 0xc0,
                   0x48, 0x89, 0xf3, 0x48, 0x87, 0x1b, 0x48, 0x8b, 0x16, 0xc3});
  snippet.state().gpr[kRdi] = Address(snippet.data());
  snippet.state().gpr[kRsi] = Address(snippet.data() + 256);
  snippet.data()[256] = 77;
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kUnreadableCode);
  CHECK(run.instructions == 9);
  CHECK(snippet.result().poison == GprBit(kRcx));
  CHECK(snippet.result().gpr[kRbx] == 77);
  CHECK(snippet.result().gpr[kRdx] == snippet.state().gpr[kRsi]);
}

TEST_CASE("Stores are seen by later loads, across lines and pages, and never reach memory") {
  // mov [rdi], rax; mov rcx, [rdi+1]; mov edx, [rdi+4]; add [rdi], rax; mov rbx, [rdi]; ret
  Snippet snippet({0x48, 0x89, 0x07, 0x48, 0x8b, 0x4f, 1, 0x8b, 0x57, 4, 0x48, 0x01, 0x07, 0x48,
                   0x8b, 0x1f, 0xc3});
  snippet.state().gpr[kRax] = 0x1122334455667788;
  for (const size_t offset : {size_t{64}, size_t{60}, kPage - 3, kPage - 8}) {
    INFO(offset);
    snippet.state().gpr[kRdi] = Address(snippet.data() + offset);
    snippet.data()[offset + 8] = 0xcc;
    const RunResult run = snippet.Run();
    CHECK(run.reason == StopReason::kUnreadableCode);
    CHECK(snippet.result().gpr[kRcx] == 0xcc11223344556677);
    CHECK(snippet.result().gpr[kRdx] == 0x11223344);
    CHECK(snippet.result().gpr[kRbx] == 0x22446688aaccef10);
    CHECK(snippet.data()[offset] == 0);
    snippet.data()[offset + 8] = 0;
  }
}

TEST_CASE("A load that would fault stops before it, whether faults are caught or pages probed") {
  // mov eax, 1; mov ecx, [rdi]; ret
  Snippet snippet({0xb8, 1, 0, 0, 0, 0x8b, 0x0f, 0xc3});
  REQUIRE(mprotect(snippet.data() + kPage, kPage, PROT_NONE) == 0);
  FaultCatcher catcher;
  for (const bool caught : {false, true}) {
    for (const uint64_t address :
         {Address(snippet.data() + kPage), Address(snippet.data() + kPage - 2), uint64_t{8},
          uint64_t{0x8000000000000000}, ~uint64_t{0} - 1}) {
      INFO(caught << ' ' << address);
      snippet.state().gpr[kRdi] = address;
      const RunResult run = snippet.Run(1000, caught);
      CHECK(run.reason == StopReason::kUnreadableMemory);
      CHECK(run.ip == snippet.ip() + 5);
      CHECK(run.instructions == 1);
      CHECK(snippet.result().gpr[kRax] == 1);
    }
  }
}

TEST_CASE("Pages that are not in memory are not read where that might block") {
  Snippet snippet({0x8b, 0x0f, 0xc3});  // mov ecx, [rdi]; ret
  const auto is_in_memory = [&snippet](int page) {
    unsigned char residency = 0;
    REQUIRE(mincore(snippet.data() + page * kPage, kPage, &residency) == 0);
    return (residency & 1) != 0;
  };
  FaultCatcher catcher;
  for (const int page : {1, 2}) {
    REQUIRE_FALSE(is_in_memory(page));
    snippet.state().gpr[kRdi] = Address(snippet.data()) + static_cast<uint64_t>(page) * kPage;
    const bool may_block = page == 2;
    if (may_block) snippet.fixture().code_cache()->SetReadsMayBlock();
    const RunResult run = snippet.Run(1000, true);
    CHECK(run.instructions == (may_block ? 0 : 2));
    CHECK((run.reason == StopReason::kUnreadableMemory) == may_block);
    CHECK(snippet.fixture().look_ahead()->stats().missing_pages == (may_block ? 1 : 0));
    CHECK(is_in_memory(page) != may_block);
  }
  // Memory is read as before.
  snippet.state().gpr[kRdi] = Address(snippet.data() + kPage);
  CHECK(snippet.Run(1000, true).instructions == 2);
}

TEST_CASE("Forbidden memory is not touched") {
  Snippet snippet({0x8b, 0x0f, 0xc3});  // mov ecx, [rdi]; ret
  snippet.state().gpr[kRdi] = Address(snippet.data());
  const ForbiddenRange range = {Address(snippet.data()), Address(snippet.data()) + kPage};
  snippet.fixture().code_cache()->SetForbiddenRanges(&range, 1);
  CHECK(snippet.Run().reason == StopReason::kUnreadableMemory);
  snippet.fixture().code_cache()->SetForbiddenRanges(nullptr, 0);
  CHECK(snippet.Run().reason == StopReason::kUnreadableCode);
}

TEST_CASE("A division that would fault, traps, system calls") {
  Snippet division({0x31, 0xc9, 0xf7, 0xf1});  // xor ecx, ecx; div ecx
  RunResult run = division.Run();
  CHECK(run.reason == StopReason::kTrap);
  CHECK(run.ip == division.ip() + 2);

  Snippet overflow({0x48, 0xf7, 0xf9});  // idiv rcx
  overflow.state().gpr[kRax] = uint64_t{1} << 63;
  overflow.state().gpr[kRdx] = ~uint64_t{0};
  overflow.state().gpr[kRcx] = ~uint64_t{0};
  CHECK(overflow.Run().reason == StopReason::kTrap);
  overflow.state().gpr[kRcx] = 1;
  run = overflow.Run(1);
  CHECK(run.reason == StopReason::kInstructionLimit);
  CHECK(overflow.result().gpr[kRax] == uint64_t{1} << 63);

  Snippet system({0xb8, 39, 0, 0, 0, 0x0f, 0x05});  // mov eax, 39; syscall
  run = system.Run();
  CHECK(run.reason == StopReason::kSystemCall);
  CHECK(run.ip == system.ip() + 5);
  CHECK(system.result().gpr[kRax] == 39);

  Snippet trap({0x90, 0xcc});
  CHECK(trap.Run().reason == StopReason::kTrap);
  Snippet invalid({0x90, 0x06});
  run = invalid.Run();
  CHECK(run.reason == StopReason::kUndecodable);
  CHECK(run.ip == invalid.ip() + 1);
}

TEST_CASE("A loop ends at the limit, exactly, and can be continued") {
  Snippet snippet({0xff, 0xc1, 0xeb, 0xfc});  // inc ecx; jmp back
  RunResult run = snippet.Run(101);
  CHECK(run.reason == StopReason::kInstructionLimit);
  CHECK(run.instructions == 101);
  CHECK(run.branches == 50);
  CHECK(snippet.result().gpr[kRcx] == 51);
  CHECK(run.ip == snippet.ip() + 2);
  run = snippet.Continue(3);
  CHECK(run.instructions == 3);
  CHECK(snippet.result().gpr[kRcx] == 52);
  run = snippet.fixture().look_ahead()->Run(snippet.branches().data(), 7, 1000);
  CHECK(run.reason == StopReason::kFull);
  CHECK(run.branches == 7);
  CHECK(snippet.branches()[6].from == snippet.ip() + 2);
  CHECK(snippet.branches()[6].to == snippet.ip());
}

TEST_CASE("Walking to dynamic branches stops before each but the first") {
  // jmp +0; test ecx, ecx; je +0; jmp +0; ret
  Snippet snippet({0xeb, 0, 0x85, 0xc9, 0x74, 0, 0xeb, 0, 0xc3});
  LookAhead* look_ahead = snippet.fixture().look_ahead();
  look_ahead->Begin(snippet.state(), false);
  RunResult run = look_ahead->RunToDynamicBranch(snippet.branches().data(), 100, 1000);
  CHECK(run.reason == StopReason::kDynamicBranch);
  CHECK(run.ip == snippet.ip() + 4);
  CHECK(run.branches == 1);
  run = look_ahead->RunToDynamicBranch(snippet.branches().data(), 100, 1000);
  CHECK(run.reason == StopReason::kDynamicBranch);
  CHECK(run.ip == snippet.ip() + 8);
  CHECK(run.branches == 2);
  run = look_ahead->RunToDynamicBranch(snippet.branches().data(), 100, 1000);
  CHECK(run.reason == StopReason::kUnreadableCode);
  CHECK(run.branches == 1);
}

TEST_CASE("Code that the program rewrote is decoded again") {
  // jmp next; next: mov eax, 1; ret
  Snippet snippet({0xeb, 0, 0xb8, 1, 0, 0, 0, 0xc3});
  snippet.Run();
  snippet.Run();
  CHECK(snippet.result().gpr[kRax] == 1);
  snippet.code()[3] = 2;
  snippet.Run();
  CHECK(snippet.result().gpr[kRax] == 2);
  REQUIRE(mprotect(snippet.code(), kPage, PROT_NONE) == 0);
  CHECK(snippet.Run().reason == StopReason::kUnreadableCode);
}

TEST_CASE("Code that the burst itself stored to is not run") {
  // mov byte [rdi], 2; mov eax, 1; ret: rdi points to the operand of the second
  Snippet snippet({0xc6, 0x07, 2, 0xb8, 1, 0, 0, 0, 0xc3});
  snippet.state().gpr[kRdi] = snippet.ip() + 4;
  RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kCodeWasWritten);
  CHECK(run.ip == snippet.ip() + 3);
  CHECK(run.instructions == 1);
  // The store is on the same page, but not in the same line.
  snippet.state().gpr[kRdi] = snippet.ip() + 1024;
  run = snippet.Run();
  CHECK(run.reason == StopReason::kUnreadableCode);
  CHECK(snippet.result().gpr[kRax] == 1);
  // jmp to code stored before: mov byte [rdi], 0x90; jmp rdi
  Snippet jump({0xc6, 0x07, 0x90, 0xff, 0xe7});
  jump.state().gpr[kRdi] = Address(jump.data());
  run = jump.Run();
  CHECK(run.reason == StopReason::kCodeWasWritten);
  CHECK(run.ip == Address(jump.data()));
}

TEST_CASE("The overlay fills up") {
  // loop: mov [rdi], eax; add rdi, 64; jmp loop
  Snippet snippet({0x89, 0x07, 0x48, 0x83, 0xc7, 64, 0xeb, 0xf8});
  std::vector<uint8_t> memory(OverlayMemory::kLines * 64 + 4096);
  snippet.state().gpr[kRdi] = Address(memory.data()) / 64 * 64 + 64;
  const RunResult run = snippet.Run(10'000'000);
  CHECK(run.reason == StopReason::kFull);
  const RunResult more = snippet.Continue(10'000'000);
  CHECK(more.reason == StopReason::kOverlayFull);
  CHECK(more.ip == snippet.ip());
  CHECK(snippet.result().gpr[kRdi] ==
        snippet.state().gpr[kRdi] + uint64_t{OverlayMemory::kLines} * 64);
  // Reset discards all of it.
  CHECK(snippet.Run(10'000'000).reason == StopReason::kFull);
}

TEST_CASE(
    "A burst that fills new pages ends after some of them, and one that reads them does not") {
  constexpr uint64_t kPages = 64;
  const FaultCatcher catcher;
  const std::vector<uint8_t> memory((kPages + 1) * kPage);
  // Each first access to a page takes as long as a page fault.
  constexpr AccessTiming kAllFault = {.hit = 1, .min_miss = 0, .max_miss = 0};
  const auto run = [&](uint8_t opcode) {
    // loop: mov to or from [rdi]; add rdi, 4096; jmp loop
    Snippet snippet({opcode, 0x07, 0x48, 0x81, 0xc7, 0, 0x10, 0, 0, 0xeb, 0xf5});
    snippet.branches().resize(kPages);
    snippet.fixture().code_cache()->SetAccessTiming(kAllFault);
    snippet.state().gpr[kRdi] = Address(memory.data());
    return snippet.Run(100000, true);
  };
  const RunResult stores = run(0x89);
  CHECK(stores.reason == StopReason::kOverlayFull);
  CHECK(stores.branches >= 4);
  CHECK(stores.branches <= 16);
  const RunResult loads = run(0x8b);
  CHECK(loads.reason == StopReason::kFull);
  CHECK(loads.branches == kPages);
}

TEST_CASE("String instructions repeat, overlap, go backward and are bounded") {
  // rep movsb; mov rcx, rdx; rep stosq; ret
  Snippet snippet({0xf3, 0xa4, 0x48, 0x89, 0xd1, 0xf3, 0x48, 0xab, 0xc3});
  for (size_t i = 0; i < 1000; ++i) snippet.data()[i] = static_cast<uint8_t>(i * 7);
  snippet.state().gpr[kRsi] = Address(snippet.data());
  snippet.state().gpr[kRdi] = Address(snippet.data() + 3);  // repeats the first three
  snippet.state().gpr[kRcx] = 500;
  snippet.state().gpr[kRdx] = 10;
  snippet.state().gpr[kRax] = 0x0101010101010101;
  RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kUnreadableCode);
  CHECK(run.instructions == 4);
  CHECK(snippet.result().gpr[kRdi] == Address(snippet.data() + 3 + 500 + 80));
  CHECK(snippet.result().gpr[kRcx] == 0);
  CHECK(snippet.fixture().look_ahead()->stats().memory_use.empty_repeats == 0);

  // rep movsb; mov rcx, rdx; rep stosq; ret, of nothing
  Snippet empty({0xf3, 0xa4, 0x48, 0x89, 0xd1, 0xf3, 0x48, 0xab, 0xc3});
  empty.state().gpr[kRcx] = empty.state().gpr[kRdx] = 0;
  CHECK(empty.Run().instructions == 4);
  CHECK(empty.fixture().look_ahead()->stats().memory_use.empty_repeats == 2);

  // loop: lodsb; cmp al, ... : check what was copied, by a loop over the overlay:
  // rep movsb; mov rsi, rdx; lodsq; ret
  Snippet copied({0xf3, 0xa4, 0x48, 0x89, 0xd6, 0x48, 0xad, 0xc3});
  for (size_t i = 0; i < 1000; ++i) copied.data()[i] = static_cast<uint8_t>(i + 1);
  copied.state().gpr[kRsi] = Address(copied.data());
  copied.state().gpr[kRdi] = Address(copied.data() + 3);
  copied.state().gpr[kRcx] = 500;
  copied.state().gpr[kRdx] = Address(copied.data() + 300);
  copied.Run();
  CHECK(copied.result().gpr[kRax] == 0x0201030201030201);

  // repne scasb over a long stretch without the byte
  Snippet scan({0xf2, 0xae, 0xc3});
  std::vector<uint8_t> memory(4 << 20);
  scan.state().gpr[kRdi] = Address(memory.data());
  scan.state().gpr[kRcx] = memory.size();
  scan.state().gpr[kRax] = 1;
  run = scan.Run();
  CHECK(run.reason == StopReason::kInstructionLimit);
  CHECK(run.ip == scan.ip());
  CHECK(run.instructions == 0);
  CHECK(scan.result().gpr[kRcx] < memory.size());
}

TEST_CASE("Copies keep unknown bytes unknown") {
  // rdtsc; mov [rsi], eax; mov ecx, 8; rep movsb; mov edx, [rdi-8]; mov ebx, [rdi-4]; ret
  Snippet snippet({0x0f, 0x31, 0x89, 0x06, 0xb9, 8, 0, 0, 0, 0xf3, 0xa4, 0x8b, 0x57, 0xf8, 0x8b,
                   0x5f, 0xfc, 0xc3});
  snippet.state().gpr[kRsi] = Address(snippet.data());
  snippet.state().gpr[kRdi] = Address(snippet.data() + 200);
  snippet.data()[4] = 9;
  CHECK(snippet.Run().reason == StopReason::kUnreadableCode);
  CHECK(snippet.result().gpr[kRbx] == 9);
  CHECK(snippet.result().poison == (GprBit(kRax) | GprBit(kRdx)));
}

TEST_CASE("A full code cache stops the burst until it is flushed") {
  Snippet snippet({0xeb, 0}, 512);
  for (size_t i = 0; i < 200; ++i) {
    snippet.code()[2 * i] = 0xeb;  // jmp +0
    snippet.code()[2 * i + 1] = 0;
  }
  CHECK(!snippet.fixture().code_cache()->FlushIfFull());
  const RunResult run = snippet.Run();
  CHECK(run.reason == StopReason::kCodeCacheFull);
  CHECK(run.branches > 0);
  CHECK(run.branches < 20);
  CHECK(run.ip == snippet.ip() + 2 * run.branches);
  CHECK(snippet.Continue().reason == StopReason::kCodeCacheFull);
  CHECK(snippet.fixture().code_cache()->FlushIfFull());
  CHECK(snippet.fixture().code_cache()->used_bytes() < 100);
  CHECK(snippet.Continue().reason == StopReason::kCodeCacheFull);
  CHECK(snippet.Continue().branches == 1);
}

TEST_CASE("Nothing happens below the caller's stack pointer but for a few words") {
  Snippet snippet({0xff, 0xc1, 0xeb, 0xfc});
  CHECK(snippet.Run(1000).instructions == 1000);
  CHECK(snippet.fixture().look_ahead()->Run(snippet.branches().data(), 0, 1000).reason ==
        StopReason::kFull);
}

// Runs the same instructions for ever.
std::vector<uint8_t> LoopOf(std::initializer_list<uint8_t> instruction) {
  std::vector<uint8_t> code(instruction);
  const auto back = static_cast<uint8_t>(-static_cast<int>(code.size() + 2));
  code.push_back(0xeb);  // jmp to the start
  code.push_back(back);
  return code;
}

TEST_CASE("However long a run, handlers leave nothing on the stack of the interpreter") {
  const std::vector<std::vector<uint8_t>> loops = {
      LoopOf({0xc5, 0xfe, 0x6f, 0x07}),        // vmovdqu (%rdi), %ymm0
      LoopOf({0xc5, 0xfe, 0x7f, 0x07}),        // vmovdqu %ymm0, (%rdi)
      LoopOf({0xc5, 0xf9, 0x6f, 0x07}),        // vmovdqa (%rdi), %xmm0
      LoopOf({0xc5, 0xfb, 0x10, 0x07}),        // vmovsd (%rdi), %xmm0
      LoopOf({0xc5, 0xf5, 0xfe, 0x07}),        // vpaddd (%rdi), %ymm1, %ymm0
      LoopOf({0xc4, 0xe2, 0x71, 0x00, 0x07}),  // vpshufb (%rdi), %xmm1, %xmm0
      LoopOf({0xc4, 0xe2, 0x79, 0x20, 0x07}),  // vpmovsxbw (%rdi), %xmm0
      LoopOf({0xc4, 0xe2, 0x75, 0xb8, 0xc2}),  // vfmadd231ps %ymm2, %ymm1, %ymm0
      LoopOf({0xc5, 0xfd, 0xd7, 0xc0}),        // vpmovmskb %ymm0, %eax
      LoopOf({0x0f, 0x58, 0x07}),              // addps (%rdi), %xmm0
      LoopOf({0x66, 0x0f, 0x2f, 0x07}),        // comisd (%rdi), %xmm0
      LoopOf({0xa4}),
      LoopOf({0xae}),
      LoopOf({0xa7}),  // movsb, scasb, cmpsl
      LoopOf({0x48, 0x03, 0x07}),
      LoopOf({0x48, 0x01, 0x07}),  // add with (%rdi)
      LoopOf({0x48, 0xc1, 0x07, 3}),
      LoopOf({0xd1, 0xd8}),  // rolq, rcr
      LoopOf({0x0f, 0xc7, 0x0f}),
      LoopOf({0xf7, 0x27}),  // cmpxchg8b, mull
      LoopOf({0x9c, 0x9d}),
      LoopOf({0x50, 0x58}),               // pushf, popf; push, pop
      LoopOf({0xd9, 0x07, 0xdd, 0xd8})};  // flds, fstp
  for (const std::vector<uint8_t>& loop : loops) {
    for (const RegisterSet poison : {RegisterSet{0}, VectorBit(1) | GprBit(kRax)}) {
      Snippet snippet({});
      std::memcpy(snippet.code(), loop.data(), loop.size());
      INFO("code " << std::hex << unsigned{loop[0]} << ' ' << unsigned{loop[1]});
      snippet.state().has_vector_state = 1;
      snippet.state().mxcsr = 0x1f80;
      __builtin_ia32_fxsave64(snippet.state().fxsave);
      snippet.state().poison = poison;
      snippet.state().gpr[kRdi] = snippet.state().gpr[kRsi] = Address(snippet.data());
      LookAhead* look_ahead = snippet.fixture().look_ahead();
      const RunResult first = snippet.Run(200);
      const size_t used = look_ahead->MaxStackBytesUsed();
      REQUIRE(used > 0);
      for (int i = 0; i < 20; ++i) {
        if (snippet.Run(2000).reason == StopReason::kStackOverflow) break;
      }
      CHECK(first.reason != StopReason::kUndecodable);
      CHECK(first.reason != StopReason::kStackOverflow);
      CHECK(look_ahead->MaxStackBytesUsed() < used + 512);
      CHECK(look_ahead->MaxStackBytesUsed() < LookAhead::StackBytes() / 2);
    }
  }
}

TEST_CASE("An overflow of the interpreter's stack is noticed, and nothing is run after it") {
  Snippet snippet({0xff, 0xc1, 0xeb, 0xfc});
  CHECK(snippet.Run(1000).branches == 500);
  constexpr uint64_t kCanary = 0x5ca1'ab1e'0ddb'a115;
  auto* words = reinterpret_cast<uint64_t*>(snippet.fixture().look_ahead());
  size_t first = 0;
  while (words[first] != kCanary) ++first;
  REQUIRE(first < LookAhead::Size() / sizeof(uint64_t));
  size_t last = first;
  while (words[last + 1] == kCanary) ++last;
  words[(first + last) / 2] ^= 1;
  RunResult run = snippet.Run(1000);
  CHECK(run.reason == StopReason::kStackOverflow);
  CHECK(run.branches == 0);
  words[(first + last) / 2] ^= 1;
  run = snippet.Run(1000);
  CHECK(run.reason == StopReason::kStackOverflow);
  CHECK(run.instructions == 0);
}

TEST_CASE("Threads share a code cache that is flushed now and then") {
  LookAheadFixture fixture(64 << 10);
  // The functions call one another at many addresses: a: inc eax; call b; dec ecx; jne a; ret.
  auto* code = static_cast<uint8_t*>(
      mmap(nullptr, 16 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(code != MAP_FAILED);
  constexpr uint8_t kFunction[] = {0xff, 0xc0, 0xe8, 5,    0,    0,    0, 0xff,
                                   0xc9, 0x75, 0xf5, 0xc3, 0x83, 0xc0, 2, 0xc3};
  constexpr size_t kFunctions = 256;
  for (size_t i = 0; i < kFunctions; ++i) std::memcpy(code + 64 * i, kFunction, sizeof(kFunction));
  std::atomic<bool> is_done{false};
  std::atomic<int> wrong{0};
  std::vector<LookAhead*> look_aheads;
  for (int i = 0; i < 4; ++i) look_aheads.push_back(fixture.MakeLookAhead());
  std::vector<std::thread> threads;
  for (LookAhead* look_ahead : look_aheads) {
    threads.emplace_back([&, look_ahead] {
      std::vector<TakenBranch> branches(100);
      std::vector<uint8_t> stack(4096);
      auto state = std::make_unique<MachineState>();
      for (size_t i = 0; i < 4000; ++i) {
        state->rip = Address(code + 64 * (i * 37 % kFunctions));
        state->gpr[kRsp] = Address(stack.data() + 2048);
        state->gpr[kRcx] = 5;
        state->gpr[kRax] = 0;
        look_ahead->Begin(*state, false);
        const RunResult run = look_ahead->Run(branches.data(), 100, 1000);
        if (run.reason == StopReason::kCodeCacheFull) continue;
        // There are 5 calls, 5 returns, 4 jumps, and the last return, which leads nowhere.
        if (run.reason != StopReason::kUnreadableCode || run.branches != 15 ||
            look_ahead->state().gpr[kRax] != 15) {
          ++wrong;
        }
      }
    });
  }
  std::thread flusher([&] {
    while (!is_done) {
      fixture.code_cache()->FlushIfFull();
      usleep(100);
    }
  });
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  flusher.join();
  CHECK(wrong == 0);
  munmap(code, 16 * kPage);
}

LookAhead* handler_look_ahead;
const Snippet* handler_snippet;
std::vector<TakenBranch>* handler_branches;
RunResult handler_result;

// Runs the snippet, whose load faults, from a handler on the alternate stack.
void RunInHandler(int, siginfo_t*, void* frame) {
  auto context = static_cast<ucontext_t*>(frame);
  const greg_t ip = context->uc_mcontext.gregs[REG_RIP];
  const greg_t rdi = context->uc_mcontext.gregs[REG_RDI];
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(handler_snippet->ip());
  context->uc_mcontext.gregs[REG_RDI] = static_cast<greg_t>(kEnd);
  handler_look_ahead->Begin(*context, true);
  handler_result = handler_look_ahead->Run(handler_branches->data(),
                                           static_cast<uint32_t>(handler_branches->size()), 1000);
  context->uc_mcontext.gregs[REG_RIP] = ip;
  context->uc_mcontext.gregs[REG_RDI] = rdi;
}

RunResult RunOnAlternateStack(Snippet* snippet) {
  static uint8_t memory[64 << 10];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  struct sigaction action = {};
  action.sa_sigaction = &RunInHandler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaltstack(&stack, nullptr);
  ::sigaction(SIGUSR1, &action, nullptr);
  handler_look_ahead = snippet->fixture().look_ahead();
  handler_snippet = snippet;
  handler_branches = &snippet->branches();
  ::raise(SIGUSR1);
  return handler_result;
}

TEST_CASE("Nothing is run where a filter does not let it leave the alternate stack") {
  if (kHasThreadSanitizer) HBBP_SKIP("the sanitizer makes this call, too, and ends if it fails");
  constexpr int kNoFilter = 1, kNoFault = 2, kHasRun = 3;
  Snippet snippet({0xeb, 0x00, 0x8b, 0x07, 0xc3});  // jmp .+2; mov (%rdi), %eax; ret
  const pid_t child = ::fork();
  if (child == 0) {
    const FaultCatcher catcher;
    const RunResult usual = RunOnAlternateStack(&snippet);
    if (usual.reason != StopReason::kUnreadableMemory || usual.branches != 1) ::_exit(kNoFault);
    if (!RefuseSystemCall(SYS_sigaltstack)) ::_exit(kNoFilter);
    const RunResult refused = RunOnAlternateStack(&snippet);
    const bool has_run = refused.reason != StopReason::kSystemCallRefused || refused.branches != 0;
    ::_exit(has_run ? kHasRun : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) HBBP_SKIP("no seccomp filters here");
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hbbp::trace
