#include "base/proc_stat.h"

#include <sys/mman.h>
#include <unistd.h>

#include <climits>

#include "base/linux_constants.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr char kProcess[] = "42 (a) b (c)) S 1 42 42 0 -1 4194560 123 9 7 1 0 0";
constexpr char kForked[] = "42 (a) S 1 42 42 0 -1 4194624 123 9 7 1 0 0";
constexpr char kThreadOfKernel[] = "10 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 0";

TEST_CASE("/proc/PID/stat: page faults, what is of the kernel, and what has executed") {
  const std::optional<ProcStat> process = ParseProcStat(kProcess);
  REQUIRE(process);
  CHECK_FALSE(process->is_of_kernel);
  CHECK(process->has_executed);
  CHECK(process->page_faults == 130);
  CHECK_FALSE(ParseProcStat(kForked)->has_executed);
  const std::optional<ProcStat> thread = ParseProcStat(kThreadOfKernel);
  REQUIRE(thread);
  CHECK(thread->is_of_kernel);
  CHECK(thread->page_faults == 0);
  for (const char* const text : {"", "42", "42 (a", "42 (a)", "42 (a) S 1 2 3", "42 (a) S x"}) {
    CHECK_FALSE(ParseProcStat(text));
  }
}

TEST_CASE("/proc/PID/stat: of a process that there is, and of none") {
  constexpr size_t kCount = 100;
  const std::optional<ProcStat> before = ReadProcStat(::getpid());
  REQUIRE(before);
  CHECK_FALSE(before->is_of_kernel);
  void* const memory = ::mmap(nullptr, kCount * kPageBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  (void)::madvise(memory, kCount * kPageBytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < kCount; ++i) static_cast<volatile uint8_t*>(memory)[i * kPageBytes] = 1;
  ::munmap(memory, kCount * kPageBytes);
  const std::optional<ProcStat> after = ReadProcStat(::getpid());
  REQUIRE(after);
  CHECK(after->page_faults >=
        before->page_faults + kCount / 2);  // fewer where the kernel makes several
  CHECK_FALSE(ReadProcStat(INT_MAX));
}

}  // namespace
}  // namespace hbbp
