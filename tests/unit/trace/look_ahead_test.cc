// Compares the look-ahead interpreter with the processor on real functions.
#include "trace/interpreter/look_ahead.h"

#include <cpuid.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "support/catch.h"
#include "support/sanitizer.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

volatile uint64_t g_sink;

int CompareInts(const void* a, const void* b) {
  const int x = *static_cast<const int*>(a);
  const int y = *static_cast<const int*>(b);
  return x < y ? -1 : x > y;
}

void SortInts() {
  int values[64];
  uint32_t seed = 12345;
  for (int& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<int>(seed >> 8);
  }
  std::qsort(values, 64, sizeof(int), CompareInts);
  g_sink = static_cast<uint64_t>(values[10]);
}

void PrintNumbers() {
  char text[200];
  std::snprintf(text, sizeof(text), "%d %s %x %lu %08.3f %e", -42, "text", 0xbeef,
                1234567890123456789ul, 3.14159, 2.5e-10);
  g_sink = static_cast<uint64_t>(text[3]);
}

void ParseNumbers() {
  double sum = 0;
  for (const char* text : {"3.14159265358979", "1e300", "-0x1.8p3", "123456789.123", "inf"}) {
    sum += std::strtod(text, nullptr);
  }
  g_sink = static_cast<uint64_t>(sum) + std::strtoul("0777", nullptr, 0);
}

void Strings() {
  char buffer[600];
  std::memset(buffer, 'x', sizeof(buffer));
  buffer[599] = '\0';
  g_sink = std::strlen(buffer) + std::strlen(buffer + 577);
  char other[600];
  std::memcpy(other, buffer, sizeof(buffer));
  std::memmove(other + 3, other, 200);
  g_sink = static_cast<uint64_t>(std::memcmp(other, buffer, 600)) +
           reinterpret_cast<uint64_t>(std::memchr(buffer, 'y', 599)) +
           reinterpret_cast<uint64_t>(std::strstr(buffer, "xxxy")) +
           static_cast<uint64_t>(std::strcmp(buffer, other));
}

uint64_t Hash(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

void Maps() {
  std::map<std::string, int> numbers;
  for (int i = 0; i < 40; ++i) numbers[std::to_string(i * 7919)] = i;
  uint64_t sum = 0;
  for (const auto& [text, number] : numbers) sum += Hash(text) * static_cast<uint64_t>(number);
  g_sink = sum;
}

struct NamedFunction {
  const char* name;
  void (*function)();
};

constexpr NamedFunction kFunctions[] = {{"sort", SortInts},
                                        {"print", PrintNumbers},
                                        {"parse", ParseNumbers},
                                        {"strings", Strings},
                                        {"map", Maps}};

TEST_CASE("Every instruction of real functions has the results that the processor has") {
  if (kHasSanitizer) HBBP_SKIP("functions of sanitizers are called, millions of instructions long");
  LookAheadFixture fixture;
  for (const NamedFunction& function : kFunctions) {
    INFO(function.name);
    const Comparison comparison = CompareSteps(&fixture, function.function);
    CHECK(comparison.difference == "");
    CHECK(comparison.compared + 200 > comparison.steps);
    for (const StopReason reason :
         {StopReason::kFarTransfer, StopReason::kUnknownBranch, StopReason::kUndecodable}) {
      CHECK(comparison.stops_of(reason) == 0);
    }
  }
}

TEST_CASE("Bursts of real functions are those that happen") {
  if (kHasSanitizer) HBBP_SKIP("functions of sanitizers are called, millions of instructions long");
  LookAheadFixture fixture;
  for (const uint32_t burst : {1u, 16u, 256u}) {
    for (const NamedFunction& function : kFunctions) {
      INFO(function.name << ", bursts of " << burst);
      const Comparison comparison = CompareBursts(&fixture, function.function, burst);
      CHECK(comparison.difference == "");
      CHECK(comparison.taken_branches > 0);
    }
  }
}

TEST_CASE("Bursts of real functions record where their instructions access memory") {
  if (kHasSanitizer) HBBP_SKIP("functions of sanitizers are called, millions of instructions long");
  LookAheadFixture fixture;
  for (const NamedFunction& function : kFunctions) {
    INFO(function.name);
    const Comparison comparison = CompareAccesses(&fixture, function.function, 256);
    CHECK(comparison.difference == "");
    CHECK(comparison.recorded_accesses > 100);
    CHECK(comparison.unrecorded_accesses * 100 < comparison.recorded_accesses);
  }
}

bool HasXsavec() {
  uint32_t eax, ebx, ecx, edx;
  return __get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 2) != 0;
}

// Saves, clears and restores a vector register, as the dynamic linker does.
[[gnu::noinline, gnu::target("xsavec,xsave")]] void SaveAndRestore() {
  alignas(64) static uint8_t area[16384];
  uint64_t got = 0;
  asm volatile(
      "mov $0x1234, %%rax\n\t"
      "movq %%rax, %%xmm3\n\t"
      "mov $0xee, %%eax\n\t"
      "xor %%edx, %%edx\n\t"
      "xsavec (%[area])\n\t"
      "pxor %%xmm3, %%xmm3\n\t"
      "mov $0xee, %%eax\n\t"
      "xor %%edx, %%edx\n\t"
      "xrstor (%[area])\n\t"
      "movq %%xmm3, %[got]\n\t"
      "cmp $0x1234, %[got]\n\t"
      "jne 1f\n\t"
      "nop\n\t"
      "1:"
      : [got] "=&r"(got)
      : [area] "r"(area)
      : "rax", "rdx", "xmm3", "memory", "cc");
  g_sink = got;
}

TEST_CASE("What xsave saved, xrstor restores") {
  if (!HasXsavec()) HBBP_SKIP("the processor has no xsavec");
  if (kHasThreadSanitizer) HBBP_SKIP("its shadow memory changes between a step and its prediction");
  LookAheadFixture fixture;
  const Comparison steps = CompareSteps(&fixture, SaveAndRestore);
  CHECK(steps.difference == "");
  CHECK(steps.stops_of(StopReason::kFarTransfer) == 0);
  CHECK(steps.stops_of(StopReason::kUnknownBranch) == 0);
  const Comparison bursts = CompareBursts(&fixture, SaveAndRestore, 100);
  CHECK(bursts.difference == "");
  CHECK(bursts.stops_of(StopReason::kUnknownBranch) == 0);
}

}  // namespace
}  // namespace hbbp::trace
