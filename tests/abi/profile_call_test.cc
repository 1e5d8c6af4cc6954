// Tests hbbp_profile_call, and the hottest blocks and functions of what it gives, by the C ABI and
// by hbbp.hpp.
#include <time.h>

#include <cstring>
#include <hbbp/hbbp.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks.h"

namespace hot {

__attribute__((noinline)) double Divide(double sum, int end) {
  for (int i = 1; i < end; i++) sum += 1.0 / i;
  return sum;
}

}  // namespace hot

namespace {

volatile double result;
volatile int end_of_loop = 1'000'000;

uint64_t CpuNs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Runs long enough for many samples.
void Work() {
  const uint64_t begin = CpuNs();
  while (CpuNs() - begin < 300'000'000) result = hot::Divide(result, end_of_loop);
}

void CountCalls(void* calls) {
  ++*static_cast<int*>(calls);
  Work();
}

void Throw(void*) { throw std::runtime_error("of the call"); }

hbbp_profile* TestCall() {
  int calls = 0;
  hbbp_profile* profile = nullptr;
  CHECK_OK(hbbp_profile_call(&CountCalls, &calls, nullptr, &profile, &error));
  CHECK(calls == 1 && profile != nullptr);
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "call",
              hbbp_profile_call(nullptr, nullptr, nullptr, &profile, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "profile",
              hbbp_profile_call(&CountCalls, &calls, nullptr, nullptr, &error));
  // What cannot be started is not called.
  HBBP_INIT(hbbp_session_options, options);
  options.source = HBBP_SOURCE_EXTERNAL;
  hbbp_profile* none = nullptr;
  CHECK_FAILS(HBBP_ERROR_INVALID_STATE, "external sources",
              hbbp_profile_call(&CountCalls, &calls, &options, &none, &error));
  options.source = -1;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "source",
              hbbp_profile_call(&CountCalls, &calls, &options, &none, &error));
  CHECK(calls == 1 && none == nullptr);
  return profile;
}

void TestExceptions() {
  bool is_caught = false;
  hbbp_profile* none = nullptr;
  try {
    (void)hbbp_profile_call(&Throw, nullptr, nullptr, &none, nullptr);
  } catch (const std::runtime_error&) {
    is_caught = true;
  }
  CHECK(is_caught && none == nullptr);
  is_caught = false;
  try {
    hbbp::profile_call([] { throw std::runtime_error("of the call"); });
  } catch (const std::runtime_error&) {
    is_caught = true;
  }
  CHECK(is_caught);
}

double Heat(const hbbp_block& block, hbbp_order order) {
  if (order == HBBP_ORDER_EXECUTIONS) return block.count;
  if (order == HBBP_ORDER_SAMPLES) return static_cast<double>(block.samples);
  return block.count * block.instruction_count;
}

double Heat(const hbbp_function& function, hbbp_order order) {
  return order == HBBP_ORDER_SAMPLES ? static_cast<double>(function.samples)
                                     : function.instructions;
}

// `sorted` has all of `list`, which is in order of module and address.
template <typename Item>
void CheckSorted(const std::vector<Item>& list, const std::vector<Item>& sorted, hbbp_order order) {
  CHECK(list.size() == sorted.size());
  double sum = 0, sum_of_sorted = 0;
  for (const Item& item : list) sum += Heat(item, order);
  for (size_t i = 0; i < sorted.size(); ++i) {
    sum_of_sorted += Heat(sorted[i], order);
    if (i == 0) continue;
    const Item& before = sorted[i - 1];
    CHECK(Heat(before, order) >= Heat(sorted[i], order));
    if (Heat(before, order) > Heat(sorted[i], order)) continue;
    CHECK(before.module < sorted[i].module ||
          (before.module == sorted[i].module && before.start < sorted[i].start));
  }
  CHECK(sum_of_sorted > 0.999 * sum && sum_of_sorted < 1.001 * sum + 1);
}

void TestHottest(const hbbp_profile* profile) {
  const hbbp::analysis analysis{hbbp::profile_view(profile)};
  const size_t all = analysis.block_count();
  for (hbbp_order order : {HBBP_ORDER_INSTRUCTIONS, HBBP_ORDER_EXECUTIONS, HBBP_ORDER_SAMPLES}) {
    CheckSorted(analysis.blocks(), analysis.hottest_blocks(all, order), order);
    if (order == HBBP_ORDER_EXECUTIONS) continue;
    CheckSorted(analysis.functions(), analysis.hottest_functions(SIZE_MAX, order), order);
  }
  const std::vector<hbbp_function> functions = analysis.hottest_functions(1);
  CHECK(functions.size() == 1);
  CHECK(std::strcmp(functions[0].name, "_ZN3hot6DivideEdi") == 0);
  CHECK(std::strcmp(functions[0].demangled_name, "hot::Divide(double, int)") == 0);
  const hbbp_block block = analysis.hottest_blocks(1).at(0);
  CHECK(std::strcmp(analysis.function_at(block.function).name, functions[0].name) == 0);

  // The rest of a list is what follows its beginning.
  hbbp_block two[2];
  size_t copied = 0;
  const std::vector<hbbp_block> blocks = analysis.hottest_blocks(3);
  CHECK_OK(hbbp_analysis_copy_hottest_blocks(analysis.get(), HBBP_ORDER_INSTRUCTIONS, 1, 2,
                                             sizeof(two[0]), two, &copied, &error));
  CHECK(copied == blocks.size() - 1);
  for (size_t i = 0; i < copied; ++i) CHECK(two[i].start == blocks[i + 1].start);
  CHECK_OK(hbbp_analysis_copy_hottest_blocks(analysis.get(), HBBP_ORDER_INSTRUCTIONS, SIZE_MAX,
                                             SIZE_MAX, sizeof(two[0]), two, &copied, &error));
  CHECK(copied == 0);
}

void TestWrongArguments(const hbbp_profile* profile) {
  const hbbp::analysis analysis{hbbp::profile_view(profile)};
  hbbp_block block;
  hbbp_function function;
  size_t copied = 0;
  const hbbp_order wrong = 99;
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "analysis",
              hbbp_analysis_copy_hottest_blocks(nullptr, HBBP_ORDER_SAMPLES, 0, 1, sizeof(block),
                                                &block, &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "order",
              hbbp_analysis_copy_hottest_blocks(analysis.get(), wrong, 0, 1, sizeof(block), &block,
                                                &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "blocks",
              hbbp_analysis_copy_hottest_blocks(analysis.get(), HBBP_ORDER_SAMPLES, 0, 1,
                                                sizeof(block), nullptr, &copied, &error));
  CHECK_FAILS(HBBP_ERROR_INVALID_ARGUMENT, "HBBP_ORDER_EXECUTIONS is of blocks",
              hbbp_analysis_copy_hottest_functions(analysis.get(), HBBP_ORDER_EXECUTIONS, 0, 1,
                                                   sizeof(function), &function, &copied, &error));
}

}  // namespace

int main() {
  hbbp_profile* const profile = TestCall();
  TestHottest(profile);
  TestWrongArguments(profile);
  hbbp_profile_destroy(profile);
  TestExceptions();
  CHECK(hbbp::profile_call(&Work).info().samples > 0);
  return end_of_checks();
}
