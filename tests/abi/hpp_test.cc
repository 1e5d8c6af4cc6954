// hbbp.hpp as a program that is compiled as C++17 sees it.
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <hbbp/hbbp.hpp>
#include <iostream>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(__cplusplus == 201703L, "the wrapper is for C++17");
static_assert(!std::is_copy_constructible_v<hbbp::session>);
static_assert(!std::is_copy_constructible_v<hbbp::profile>);
static_assert(!std::is_copy_constructible_v<hbbp::mix>);
static_assert(std::is_nothrow_move_constructible_v<hbbp::profile>);
static_assert(std::is_base_of_v<std::runtime_error, hbbp::error>);

namespace {

int failures = 0;
const char memory_to_read[16] = {};

void Check(bool condition, const char* what, int line) {
  if (condition) return;
  std::cerr << "line " << line << ": failed: " << what << "\n";
  ++failures;
}
#define CHECK(condition) Check((condition), #condition, __LINE__)

template <typename Body>
hbbp_status StatusOf(Body&& body) {
  try {
    body();
  } catch (const hbbp::error& error) {
    CHECK(std::strlen(error.what()) > 0);
    return error.status();
  }
  return HBBP_OK;
}

volatile std::uint64_t work_done;

void Work() {
  const clock_t begin = clock();
  while (clock() - begin < CLOCKS_PER_SEC / 20) {
    for (int i = 0; i < 100'000; ++i) work_done = work_done + 1;
  }
}

void TestHost(const std::string& profile_path) {
  hbbp::cancel_flag flag;
  CHECK(!flag.is_set());
  flag.set();
  CHECK(flag.is_set());
  const auto profile = hbbp::profile::load(profile_path);
  CHECK(StatusOf([&] { profile.resolve(&flag); }) == HBBP_ERROR_CANCELLED);
  flag.set(false);
  CHECK(StatusOf([&] { profile.resolve(&flag); }) == HBBP_OK);
  CHECK(StatusOf([&] { profile.resolve(); }) == HBBP_OK);

  flag.set();
  CHECK(StatusOf([&] { hbbp::fed_session().snapshot(flag); }) == HBBP_ERROR_CANCELLED);
  CHECK(StatusOf([&] { hbbp::session().snapshot(flag); }) == HBBP_ERROR_CANCELLED);
  flag.set(false);
  CHECK(StatusOf([&] { hbbp::session().snapshot(flag); }) == HBBP_OK);
  auto source = hbbp::detail::sized<hbbp_source_options>();
  source.cancel = flag.get();
  hbbp::profile changed = hbbp::profile::load(profile_path);
  CHECK(StatusOf([&] { changed.set_source_options(source); }) == HBBP_OK);
  source.flags = 1u << 31;
  CHECK(StatusOf([&] { changed.set_source_options(source); }) == HBBP_ERROR_INVALID_ARGUMENT);
  hbbp_import_options import = {};
  import.max_memory = 1;
  CHECK(StatusOf([&] { hbbp::profile::import_recording(profile_path, import); }) ==
        HBBP_ERROR_INVALID_ARGUMENT);

  std::pmr::synchronized_pool_resource pool;
  const hbbp_allocator allocator = hbbp::allocator_of(&pool);
  void* memory = allocator.allocate(100, 64, allocator.user_data);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  allocator.deallocate(memory, 100, 64, allocator.user_data);
  const hbbp_allocator none = hbbp::allocator_of(std::pmr::null_memory_resource());
  CHECK(none.allocate(1, 1, none.user_data) == nullptr);
  auto options = hbbp::detail::sized<hbbp_session_options>();
  options.allocator = &allocator;
  options.max_memory = 8u << 20;
  options.max_overhead = 0.01;
  hbbp::session session(options);
  const hbbp_status status = StatusOf([&] { session.start(); });
  if (status != HBBP_OK) return;  // TestSession says why
  Work();
  session.stop();
  const hbbp_session_info info = session.info();
  CHECK(info.cpu_ns > 0);
  CHECK(info.memory_bytes > 0);
  CHECK(info.peak_memory_bytes <= options.max_memory);
  CHECK(info.period_factor >= 1);
}

void TestErrors(const std::string& folder) {
  CHECK(StatusOf([] { hbbp::session().stop(); }) == HBBP_ERROR_INVALID_STATE);
  CHECK(StatusOf([&] { hbbp::profile::load(folder + "/none"); }) == HBBP_ERROR_NOT_FOUND);
  auto options = hbbp::detail::sized<hbbp_session_options>();
  options.period = options.frequency_hz = 1;
  CHECK(StatusOf([&] { hbbp::session{options}; }) == HBBP_ERROR_INVALID_ARGUMENT);
  hbbp::session with_code;
  with_code.add_code(memory_to_read, sizeof(memory_to_read), "bytes");
  CHECK(with_code.snapshot().modules().size() == 1);
  CHECK(StatusOf([&] { with_code.add_code(memory_to_read, 0, ""); }) ==
        HBBP_ERROR_INVALID_ARGUMENT);
  hbbp::session never_started;
  hbbp::profile empty = never_started.snapshot();
  CHECK(empty.blocks().empty());
  CHECK(empty.ibs_sums().empty());
  CHECK(empty.ibs_buckets().empty());
  CHECK(empty.ibs_lines().empty());
  CHECK(empty.loops().empty());
  CHECK(empty.loops_of_blocks().empty());
  CHECK(empty.slices().empty());
  CHECK(StatusOf([&] { empty.select_slice(0); }) == HBBP_ERROR_NOT_FOUND);
  CHECK(empty.instruction_mix().rows().empty());
  CHECK(empty.pivot_by({}).rows() == 0);
  CHECK(StatusOf([&] { empty.source_of(0, 0); }) == HBBP_ERROR_NOT_FOUND);
  CHECK(StatusOf([] { hbbp::taxonomy("["); }) == HBBP_ERROR_INVALID_ARGUMENT);
  CHECK(StatusOf([&] { hbbp::taxonomy::load(folder + "/none"); }) == HBBP_ERROR_NOT_FOUND);
  empty.set_estimator(HBBP_ESTIMATOR_TREE);
  CHECK(empty.estimator().estimator == HBBP_ESTIMATOR_TREE);
  CHECK(StatusOf([&] { empty.set_estimator(HBBP_ESTIMATOR_TREE, "{"); }) == HBBP_ERROR_BAD_FORMAT);
  CHECK(StatusOf([&] { empty.save(folder + "/none/profile"); }) == HBBP_ERROR_NOT_FOUND);
  CHECK(StatusOf([&] { empty.instruction_mix(1u << 20); }) == HBBP_ERROR_INVALID_ARGUMENT);
}

void TestLists(const hbbp::profile& profile) {
  std::uint64_t samples = 0;
  for (const hbbp_source_info& source : profile.sources()) samples += source.samples;
  CHECK(samples == profile.info().samples);
  CHECK(profile.threads().size() == hbbp_profile_thread_count(profile.get()));
  CHECK(profile.modules().size() == hbbp_profile_module_count(profile.get()));
  CHECK(profile.branches().empty());
  CHECK(profile.counters(0).empty());
  CHECK(profile.counters(1).empty());
  std::uint64_t unexplained = 0;
  CHECK(hbbp_profile_unexplained_at(profile.get(), 0, &unexplained, nullptr) == HBBP_OK);
  for (const hbbp_counter& reason : profile.unexplained_reasons(0)) unexplained -= reason.value;
  CHECK(unexplained == 0);
  double in_blocks = 0;
  for (const hbbp_block& block : profile.blocks())
    in_blocks += block.count * block.instruction_count;
  double in_functions = 0;
  for (const hbbp_function& function : profile.functions()) in_functions += function.instructions;
  const hbbp::mix mix = profile.instruction_mix(HBBP_MIX_BY_FUNCTION);
  double in_rows = 0;
  for (const hbbp_mix_row& row : mix.rows()) in_rows += row.instructions;
  CHECK(in_blocks > 0);
  CHECK(std::abs(in_functions / in_blocks - 1) < 1e-9);
  CHECK(std::abs(mix.total() / in_blocks - 1) < 1e-9);
  CHECK(in_rows == mix.total());

  const hbbp::taxonomy groups("[mine]\ncalls: category = call, return\n");
  CHECK(groups.names() == std::vector<std::string>{"mine"});
  hbbp_pivot_query query = {};
  query.rows = "function";
  query.columns = "mine";
  query.taxonomy = groups.get();
  const hbbp::pivot pivot = profile.pivot_by(query);
  CHECK(pivot.rows() == mix.rows().size());
  CHECK(pivot.columns() >= 1);
  CHECK(std::string(pivot.label(HBBP_PIVOT_COLUMNS, 0).text).size() > 0);
  const double whole = pivot.cell(HBBP_PIVOT_ALL).value;
  CHECK(std::abs(whole / mix.total() - 1) < 1e-9);
  double in_cells = 0;
  for (std::size_t row = 0; row < pivot.rows(); ++row) {
    for (std::size_t column = 0; column < pivot.columns(); ++column) {
      in_cells += pivot.cell(row, column).value;
    }
  }
  CHECK(std::abs(in_cells / whole - 1) < 1e-9);
  CHECK(StatusOf([&] { pivot.cell(pivot.rows()); }) == HBBP_ERROR_NOT_FOUND);
  query.rows = "functoin";
  CHECK(StatusOf([&] { profile.pivot_by(query); }) == HBBP_ERROR_INVALID_ARGUMENT);
}

// Samples in the first and in the fourth.
void TestSlices(const hbbp::profile& profile) {
  const std::vector<hbbp_slice> slices = profile.slices();
  CHECK(slices.size() == 4);
  CHECK(slices.at(3).start_ns == 3 * HBBP_SHORTEST_SLICE_NS);
  CHECK(slices.at(3).end_ns == 4 * HBBP_SHORTEST_SLICE_NS);
  CHECK(slices.at(0).samples == 1 && slices.at(1).samples == 0 && slices.at(3).samples == 1);
  const hbbp::mix mix = profile.instruction_mix(HBBP_MIX_BY_SLICE);
  CHECK(mix.rows().size() == 2);
  for (const hbbp_mix_row& row : mix.rows()) {
    CHECK(row.slice == 0 || row.slice == 3);
    CHECK(std::abs(row.instructions - mix.total() / 2) < 1e-9);
    CHECK(std::abs(profile.select_slice(row.slice).instruction_mix().total() - row.instructions) <
          1e-9);
  }
}

void TestPartsKeepTheEstimator(hbbp::profile profile) {
  profile.set_estimator(HBBP_ESTIMATOR_EBS);
  const hbbp::profile slice = profile.select_slice(0);
  CHECK(slice.estimator().estimator == HBBP_ESTIMATOR_EBS);
  hbbp_profile* handle = nullptr;
  CHECK(hbbp_profile_select_thread(profile.get(), profile.threads().at(0).tid, &handle, nullptr) ==
        HBBP_OK);
  const hbbp::profile thread(handle);
  CHECK(thread.estimator().estimator == HBBP_ESTIMATOR_EBS);
}

void TestFedSession() {
  auto options = hbbp::detail::sized<hbbp_feed_options>();
  options.slice_ns = 1;
  CHECK(StatusOf([&] { hbbp::fed_session{options}; }) == HBBP_ERROR_INVALID_ARGUMENT);
  options.slice_ns = HBBP_SHORTEST_SLICE_NS;
  hbbp::fed_session session(options);
  CHECK(StatusOf([&] { session.start(); }) == HBBP_ERROR_INVALID_STATE);
  CHECK(StatusOf([&] { session.feed_perf_records("", 0); }) == HBBP_ERROR_INVALID_STATE);
  auto source = hbbp::detail::sized<hbbp_feed_source>();
  CHECK(StatusOf([&] { session.add_source(source); }) == HBBP_ERROR_INVALID_ARGUMENT);
  source.kind = HBBP_SOURCE_LBR;
  source.event = HBBP_EVENT_TAKEN_BRANCHES;
  const std::uint32_t index = session.add_source(source);
  CHECK(StatusOf([&] { session.add_ids(index, {1}); }) == HBBP_ERROR_INVALID_ARGUMENT);
  const std::uint8_t code[] = {0x90, 0xeb, 0xfd};  // a loop
  hbbp_feed_event event = {};
  event.kind = HBBP_FEED_CODE;
  event.address = 0x7000;
  event.size = sizeof(code);
  event.code = code;
  event.time_ns = 1;
  session.feed(std::vector<hbbp_feed_event>{event});
  const std::vector<hbbp_branch_entry> stack(11, {0x7001, 0x7000, 0});
  hbbp_feed_sample sample = {};
  sample.time_ns = 2;
  sample.period = 100;
  sample.branches = stack.data();
  sample.branch_count = 11;
  session.feed(index, {sample});
  CHECK(session.info().waiting == 2);
  sample.time_ns += 3 * HBBP_SHORTEST_SLICE_NS;
  session.finish_round();
  session.finish_round();
  CHECK(session.info().waiting == 0);
  session.flush();
  hbbp::fed_session moved = std::move(session);
  moved.feed(index, {sample});
  moved.flush();
  TestSlices(moved.snapshot());
  TestPartsKeepTheEstimator(moved.snapshot());
  const hbbp::profile profile = moved.snapshot().select_slice(0);
  const std::vector<hbbp_loop> loops = profile.loops();
  CHECK(loops.size() == 1);
  CHECK(loops.at(0).header == 0x7000);
  CHECK(loops.at(0).flags == 0);
  CHECK(loops.at(0).trip_basis == HBBP_TRIPS_UNKNOWN);
  CHECK(std::abs(loops.at(0).iterations - 100) < 1e-9);
  CHECK(std::abs(loops.at(0).own_instructions - 200) < 1e-9);
  CHECK(profile.loops_of_blocks() == std::vector<std::uint32_t>{0});
  const std::vector<hbbp_block> blocks = profile.blocks();
  CHECK(blocks.size() == 1);
  CHECK(blocks.at(0).source == HBBP_SOURCE_LBR);
  CHECK(std::abs(blocks.at(0).count - 100) < 1e-9);
}

int TestSession(const std::string& folder) {
  auto options = hbbp::detail::sized<hbbp_session_options>();
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 500'000;
  hbbp::session session(options);
  try {
    session.start();
  } catch (const hbbp::error& error) {
    if (error.status() != HBBP_ERROR_PERMISSION) throw;
    std::cout << "SKIPPED: " << error.what() << std::endl;
    return 77;
  }
  CHECK(session.info().running == 1);
  Work();
  hbbp::session moved = std::move(session);
  moved.stop();
  CHECK(moved.info().running == 0);
  const hbbp::profile profile = moved.snapshot();
  TestLists(profile);
  const std::string path = folder + "/profile";
  profile.save(path);
  const hbbp::profile loaded = hbbp::profile::load(path);
  CHECK(loaded.blocks().size() == profile.blocks().size());
  TestLists(loaded);
  std::remove(path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const temporary = getenv("TMPDIR");
  std::string folder = std::string(temporary != nullptr ? temporary : "/tmp") + "/hbbp-hpp-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }
  TestErrors(folder);
  TestFedSession();
  if (argc > 1) TestHost(argv[1]);
  const int skipped = TestSession(folder);
  CHECK(rmdir(folder.c_str()) == 0);
  return failures != 0 ? 1 : skipped;
}
