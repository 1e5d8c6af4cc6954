// Tests hbbp.hpp in a program that is compiled as C++17.
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
static_assert(!std::is_copy_constructible_v<hbbp::feed>);
static_assert(std::is_nothrow_copy_constructible_v<hbbp::profile_view>);
static_assert(!std::is_copy_constructible_v<hbbp::analysis>);
static_assert(!std::is_copy_constructible_v<hbbp::mix>);
static_assert(!std::is_copy_constructible_v<hbbp::pivot>);
static_assert(!std::is_copy_constructible_v<hbbp::ratios>);
static_assert(!std::is_copy_constructible_v<hbbp::loops>);
static_assert(!std::is_copy_constructible_v<hbbp::probe>);
static_assert(std::is_nothrow_move_constructible_v<hbbp::profile>);
static_assert(std::is_nothrow_move_constructible_v<hbbp::analysis>);
static_assert(std::is_nothrow_move_constructible_v<hbbp::session>);
static_assert(std::is_nothrow_move_constructible_v<hbbp::feed>);
static_assert(std::is_nothrow_move_constructible_v<hbbp::probe>);
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

// Without exceptions an error would end the program, so such cases are excluded then.
#if defined(__cpp_exceptions)
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
#define CHECK_STATUS(expected, ...) CHECK(StatusOf([&] { __VA_ARGS__; }) == (expected))
#else
#define CHECK_STATUS(expected, ...) \
  do {                              \
    if ((expected) == HBBP_OK) {    \
      __VA_ARGS__;                  \
    }                               \
  } while (false)
#endif

volatile std::uint64_t work_done;

void Work() {
  const clock_t begin = clock();
  while (clock() - begin < CLOCKS_PER_SEC / 20) {
    for (int i = 0; i < 100'000; ++i) work_done = work_done + 1;
  }
}

// Returns true if this machine can sample.
bool Start(hbbp::session* session) {
  hbbp_error failure = {};
  failure.struct_size = sizeof(failure);
  const hbbp_status status = hbbp_session_start(session->get(), &failure);
  if (status != HBBP_OK) std::cout << "SKIPPED: " << failure.message << std::endl;
  CHECK(status == HBBP_OK || status == HBBP_ERROR_PERMISSION);
  return status == HBBP_OK;
}

// Calls each function that takes a hbbp::work.
void TestWork(const std::string& profile_path, const std::string& directory) {
  hbbp::cancel_flag flag;
  CHECK(!flag.is_set());
  const auto profile = hbbp::profile::load(profile_path, flag);
  hbbp::session session;
  hbbp::feed feed;
  const hbbp::analysis analysis(profile, {}, flag);
  const std::uint32_t tid = profile.threads().at(0).tid;
  const std::string copy = directory + "/copy";
  for (const bool is_set : {true, false}) {
    flag.set(is_set);
    CHECK(flag.is_set() == is_set);
    const hbbp_status expected = is_set ? HBBP_ERROR_CANCELLED : HBBP_OK;
    CHECK_STATUS(expected, hbbp::profile::load(profile_path, flag));
    CHECK_STATUS(expected, profile.save(copy, flag));
    CHECK_STATUS(expected, hbbp::profile::merge({&profile, &profile}, flag));
    CHECK_STATUS(expected, profile.select_thread(tid, flag));
    CHECK_STATUS(expected, session.snapshot(flag));
    CHECK_STATUS(expected, feed.snapshot(flag));
    CHECK_STATUS(expected, hbbp::analysis(profile, {}, flag));
    CHECK_STATUS(expected, analysis.instruction_mix(HBBP_MIX_BY_MNEMONIC, flag));
    CHECK_STATUS(expected, analysis.pivot_by({}, flag));
    CHECK_STATUS(expected, analysis.ratios_of(nullptr, nullptr, flag));
    CHECK_STATUS(expected, analysis.find_loops(flag));
  }
  CHECK(std::remove(copy.c_str()) == 0);

  std::uint64_t calls = 0;
  const hbbp::work::progress count = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(all == 0 || done <= all);
    ++calls;
  };
  const hbbp::analysis counted(profile, {}, hbbp::work(&count));
  CHECK(calls > 0);
  flag.set();
  calls = 0;
  CHECK_STATUS(HBBP_ERROR_CANCELLED, hbbp::analysis(profile, {}, hbbp::work(&count, &flag)));
  flag.set(false);
  CHECK_STATUS(HBBP_OK, hbbp::analysis(profile, {}, hbbp::work(&count, &flag)));
  CHECK(calls > 0);
}

void TestAllocator() {
  std::pmr::synchronized_pool_resource pool;
  const hbbp_allocator allocator = hbbp::allocator_of(&pool);
  void* memory = allocator.allocate(100, 64, allocator.user_data);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  allocator.deallocate(memory, 100, 64, allocator.user_data);
#if defined(__cpp_exceptions)
  const hbbp_allocator none = hbbp::allocator_of(std::pmr::null_memory_resource());
  CHECK(none.allocate(1, 1, none.user_data) == nullptr);
#endif
  hbbp_session_options options = {};
  options.allocator = &allocator;
  options.max_memory = 8u << 20;
  options.max_overhead = 0.01;
  hbbp::session session(options);
  if (!Start(&session)) return;
  Work();
  session.stop();
  const hbbp_session_info info = session.info();
  CHECK(info.cpu_ns > 0);
  CHECK(info.memory_bytes > 0);
  CHECK(info.peak_memory_bytes <= options.max_memory);
  CHECK(info.period_factor >= 1);
}

void TestErrors(const std::string& directory) {
  CHECK_STATUS(HBBP_ERROR_INVALID_STATE, hbbp::session().stop());
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, hbbp::profile::load(directory + "/none"));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, hbbp::profile::import_recording(directory + "/none"));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::profile::merge({}));
  hbbp_import_options import = {};
  import.max_memory = 1;
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::profile::import_recording(directory, import));
  hbbp_session_options options = {};
  options.period = options.frequency_hz = 1;
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::session{options});
  hbbp::session with_code;
  with_code.add_code(memory_to_read, sizeof(memory_to_read), "bytes");
  CHECK(with_code.snapshot().modules().size() == 1);
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, with_code.add_code(memory_to_read, 0, ""));
  hbbp::session with_data;
  with_data.add_data(memory_to_read, sizeof(memory_to_read), "bytes");
  with_data.drop_data(memory_to_read, sizeof(memory_to_read));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, with_data.add_data(memory_to_read, 0, "bytes"));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::taxonomy("["));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, hbbp::taxonomy::load(directory + "/none"));
}

// Tests the profile of a session that never started.
void TestEmpty(const std::string& directory) {
  const hbbp::profile empty = hbbp::session().snapshot();
  CHECK(empty.sources().empty() && empty.threads().empty() && empty.modules().empty());
  CHECK(empty.slices().empty());
  CHECK(empty.ibs_buckets().empty() && empty.ibs_lines().empty());
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, empty.select_slice(0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, empty.select_thread(1));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, empty.select({}));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, empty.counters(0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, empty.save(directory + "/none/profile"));

  const hbbp::analysis analysis(empty);
  CHECK(analysis.blocks().empty() && analysis.functions().empty() && analysis.branches().empty());
  CHECK(analysis.modules().empty() && analysis.sources().empty());
  CHECK(analysis.ip_sums().empty());
  CHECK(analysis.ibs_sums().empty() && analysis.ibs_latencies().empty());
  CHECK(analysis.ibs_objects().empty());
  CHECK(analysis.block_features().empty());
  CHECK(analysis.find_loops().list().empty() && analysis.find_loops().of_blocks(0).empty());
  CHECK(analysis.instruction_mix().rows().empty());
  CHECK(analysis.pivot_by({}).rows() == 0);
  CHECK(!analysis.ratios_of().list().empty());
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, analysis.unexplained_reasons(0));
  const auto drop = [](const auto&) {};
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.export_as("profgen", drop, drop));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, analysis.export_as("prof", drop, drop));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, analysis.instruction_mix(1u << 20));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, analysis.ratios_of("x ="));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.block_at(0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.function_at(0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.find_block(0, 0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.decode(0, 0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.disassemble(0, 0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.lines_of(0, 0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.debug_problem(0));

  hbbp_analysis_options options = {};
  options.estimator = HBBP_ESTIMATOR_TREE;
  CHECK(hbbp::analysis(empty, options).info().estimator == HBBP_ESTIMATOR_TREE);
  options.tree = "{";
  CHECK_STATUS(HBBP_ERROR_BAD_FORMAT, hbbp::analysis(empty, options));
}

// Tests what needs no profile.
void TestNames() {
  const std::vector<hbbp_capability> capabilities = hbbp::capabilities().list();
  CHECK(capabilities.size() == 16);
  CHECK(std::string(capabilities.at(0).name) == "perf_event_open");
  const hbbp_event_code code = hbbp::find_event("r20c4");
  CHECK(code.config == 0x20c4);
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::detail::check([](hbbp_error* failure) {
                 return hbbp_event_find(nullptr, nullptr, failure);
               }));
  CHECK(hbbp::demangle("_ZN1a1fEi") == "a::f(int)");
  CHECK(hbbp::demangle("main") == "main");
  CHECK(hbbp::demangle("").empty());
  const std::vector<std::string> features = hbbp::block_feature_names();
  CHECK(features.size() == hbbp_block_feature_count() && features.at(0) == "length");
  CHECK(hbbp::count_interval(7, 0).low == 7 && hbbp::count_interval(7, 0).high == 7);
  CHECK(hbbp::count_interval(100, 50).high > 380);
  CHECK(hbbp::pivot::key_names().at(0) == "process");
  CHECK(hbbp::pivot::value_names().at(0) == "instructions");
  const hbbp::taxonomy built_in = hbbp::taxonomy::built_in();
  CHECK(built_in.names().at(0) == "groups");
  CHECK(!built_in.groups(0).empty());
  CHECK(built_in.groups(1000).empty());
}

void TestPivots(const hbbp::analysis& analysis, const hbbp::mix& mix) {
  const hbbp::taxonomy groups("[mine]\ncalls: category = call, return\n");
  CHECK(groups.names() == std::vector<std::string>{"mine"});
  CHECK(groups.groups(0) == std::vector<std::string>{"calls"});
  hbbp_pivot_query query = {};
  query.rows = "function";
  query.columns = "mine";
  query.taxonomy = groups.get();
  const hbbp::pivot pivot = analysis.pivot_by(query);
  CHECK(pivot.rows() == mix.rows().size() && pivot.rows_in_all() == pivot.rows());
  CHECK(pivot.columns() >= 1 && pivot.values() == 1);
  CHECK(pivot.keys(HBBP_PIVOT_ROWS) == 1 && pivot.keys(HBBP_PIVOT_COLUMNS) == 1);
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
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, pivot.cell(pivot.rows()));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, pivot.label(HBBP_PIVOT_ROWS, 0, 1));
  query.rows = "functoin";
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, analysis.pivot_by(query));
  const std::vector<hbbp_ratio> ratios = analysis.ratios_of("mine = calls", &groups).list();
  CHECK(std::string(ratios.at(0).name) == "instructions");
  CHECK(ratios.at(0).value <= mix.total());
}

void TestCode(const hbbp::analysis& analysis, const hbbp_block& block) {
  CHECK(analysis.try_find_block(block.module, block.start)->end == block.end);
  CHECK(analysis.try_decode(block.module, block.start).has_value());
  CHECK(analysis.try_disassemble(block.module, block.start)->address == block.start);
  CHECK(!analysis.try_find_block(9999, block.start).has_value());
  CHECK(!analysis.try_decode(block.module, HBBP_NO_ADDRESS).has_value());
  CHECK(!analysis.try_disassemble(block.module, HBBP_NO_ADDRESS).has_value());
  const hbbp_block found = analysis.find_block(block.module, block.end - 1);
  CHECK(found.start == block.start && found.count == block.count);
  std::uint64_t address = block.start;
  for (std::uint32_t i = 0; i < block.instruction_count; ++i) {
    const hbbp_instruction instruction = analysis.decode(block.module, address);
    const hbbp_disassembly disassembly = analysis.disassemble(block.module, address);
    CHECK(instruction.length == disassembly.length && instruction.mnemonic[0] != '\0');
    CHECK(disassembly.address == address && disassembly.text[0] != '\0');
    address += instruction.length;
  }
  CHECK(address == block.end);
}

void TestLists(const hbbp::profile& profile) {
  std::uint64_t samples = 0;
  for (const hbbp_source_info& source : profile.sources()) samples += source.samples;
  CHECK(samples == profile.info().samples);
  CHECK(profile.threads().size() == hbbp_profile_thread_count(profile.get()));
  CHECK(profile.modules().size() == hbbp_profile_module_count(profile.get()));
  for (const hbbp_counter& counter : profile.counters(0)) {
    CHECK(std::string(counter.name) == "sampled-events");
    CHECK(counter.value > 0);
  }
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, profile.counters(1));

  const hbbp::analysis analysis(profile);
  CHECK(analysis.branches().empty());
  CHECK(analysis.modules().size() == profile.modules().size());
  CHECK(analysis.get_profile().modules().size() == profile.modules().size());
  CHECK(analysis.get_profile().info().samples == samples);
  CHECK(analysis.block_count() == analysis.blocks().size());
  std::uint64_t unexplained = analysis.sources().at(0).unexplained;
  for (const hbbp_counter& reason : analysis.unexplained_reasons(0)) unexplained -= reason.value;
  CHECK(unexplained == 0);
  const std::vector<hbbp_block> blocks = analysis.blocks();
  const std::vector<hbbp_function> functions = analysis.functions();
  double in_blocks = 0;
  for (const hbbp_block& block : blocks) in_blocks += block.count * block.instruction_count;
  double in_functions = 0;
  for (const hbbp_function& function : functions) in_functions += function.instructions;
  CHECK(analysis.block_features().size() == blocks.size() * hbbp_block_feature_count());
  CHECK(analysis.block_at(blocks.size() - 1).start == blocks.back().start);
  CHECK(std::string(analysis.function_at(0).name) == functions.at(0).name);
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, analysis.block_at(blocks.size()));
  TestCode(analysis, blocks.at(0));
  CHECK(analysis.find_loops().of_blocks(blocks.size() + 1).size() == blocks.size());
  const hbbp::mix mix = analysis.instruction_mix(HBBP_MIX_BY_FUNCTION);
  double in_rows = 0;
  for (const hbbp_mix_row& row : mix.rows()) in_rows += row.instructions;
  CHECK(in_blocks > 0);
  std::string ranges;
  const auto append = [&ranges](std::string_view piece) { ranges += piece; };
  const auto drop = [](const char*) {};
  analysis.export_as("profgen", append, drop);
  CHECK(ranges.find(':') != std::string::npos);
#if defined(__cpp_exceptions)
  CHECK_STATUS(HBBP_ERROR_IO, analysis.export_as(
                                  "profgen", [](std::string_view) { throw 1; }, drop));
#endif
  CHECK(hbbp::export_formats().size() == hbbp_export_format_count());
  CHECK(std::abs(in_functions / in_blocks - 1) < 1e-9);
  CHECK(std::abs(mix.total() / in_blocks - 1) < 1e-9);
  CHECK(in_rows == mix.total());
  TestPivots(analysis, mix);
}

double TotalOf(const hbbp::profile& profile) {
  return hbbp::analysis(profile).instruction_mix().total();
}

// There are samples in the first and in the fourth slice.
void TestSlices(const hbbp::profile& profile) {
  const std::vector<hbbp_slice> slices = profile.slices();
  CHECK(slices.size() == 4);
  CHECK(slices.at(3).start_ns == 3 * HBBP_MIN_SLICE_NS);
  CHECK(slices.at(3).end_ns == 4 * HBBP_MIN_SLICE_NS);
  CHECK(slices.at(0).samples == 1 && slices.at(1).samples == 0 && slices.at(3).samples == 1);
  const hbbp::mix mix = hbbp::analysis(profile).instruction_mix(HBBP_MIX_BY_SLICE);
  CHECK(mix.rows().size() == 2);
  for (const hbbp_mix_row& row : mix.rows()) {
    CHECK(row.slice == 0 || row.slice == 3);
    CHECK(std::abs(row.instructions - mix.total() / 2) < 1e-9);
    CHECK(std::abs(TotalOf(profile.select_slice(row.slice)) - row.instructions) < 1e-9);
  }
  const std::uint32_t tid = profile.threads().at(0).tid;
  CHECK(std::abs(TotalOf(profile.select_thread(tid)) - mix.total()) < 1e-9);
  hbbp_selection both = {};
  both.parts = HBBP_SELECT_THREAD | HBBP_SELECT_SLICE;
  both.tid = tid;
  both.slice = 3;
  CHECK(std::abs(TotalOf(profile.select(both)) - mix.total() / 2) < 1e-9);
  CHECK(std::abs(TotalOf(hbbp::profile::merge({&profile, &profile})) - 2 * mix.total()) < 1e-9);
  hbbp::merger merger(HBBP_MERGER_DROP_SLICES);
  merger.add(profile);
  merger.add(profile);
  const hbbp::profile sum = merger.finish();
  CHECK(std::abs(TotalOf(sum) - 2 * mix.total()) < 1e-9);
  CHECK(sum.slices().empty());
  CHECK(sum.info().recordings == 2);
}

// A view may move after a query, also to the owner of its analysis.
void TestViews(hbbp::profile profile) {
  const hbbp_profile* const handle = profile.get();
  const std::uint64_t samples = profile.info().samples;
  hbbp::profile moved = std::move(profile);
  CHECK(moved.get() == handle && moved.info().samples == samples);
  hbbp::profile other = hbbp::session().snapshot();
  other = std::move(moved);
  CHECK(other.get() == handle && other.info().samples == samples);
  const hbbp::profile_view view(other.get());
  CHECK(view.sources().size() == other.sources().size());
  const double total = hbbp::analysis(view).instruction_mix().total();
  const hbbp::analysis analysis(std::move(other));
  CHECK(std::abs(analysis.instruction_mix().total() - total) < 1e-9);
  const hbbp::profile part =
      analysis.get_profile().select_thread(analysis.get_profile().threads().at(0).tid);
  CHECK(part.info().samples == samples);
}

// Tests a loop of two instructions, 100 times in each slice that has a sample.
void TestLoop(const hbbp::profile& profile) {
  const hbbp::analysis analysis(profile);
  CHECK(analysis.info().estimator == HBBP_ESTIMATOR_STREAMS);
  const hbbp::loops loops = analysis.find_loops();
  const std::vector<hbbp_loop> list = loops.list();
  CHECK(list.size() == 1);
  CHECK(list.at(0).header == 0x7000);
  CHECK(list.at(0).flags == 0);
  CHECK(list.at(0).trip_basis == HBBP_TRIPS_UNKNOWN);
  CHECK(std::abs(list.at(0).iterations - 100) < 1e-9);
  CHECK(std::abs(list.at(0).own_instructions - 200) < 1e-9);
  CHECK(loops.of_blocks(1) == std::vector<std::uint32_t>{0});
  const std::vector<hbbp_block> blocks = analysis.blocks();
  CHECK(blocks.size() == 1);
  CHECK(blocks.at(0).source == HBBP_SOURCE_LBR);
  CHECK(std::abs(blocks.at(0).count - 100) < 1e-9);
  CHECK(analysis.branches().size() == 1 && analysis.branches().at(0).from == 0x7001);
  TestCode(analysis, blocks.at(0));
  hbbp_line_range range = {};
  CHECK_STATUS(HBBP_ERROR_UNSUPPORTED, analysis.lines_of(blocks.at(0).module, 0x7000, &range));
}

// Tests a loop of a jump that was taken ten times.
void TestProbe(const hbbp::profile& profile) {
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::probe("p: proc_cal => null, null"));
  const hbbp::analysis analysis(profile);
  int calls = 0;
  hbbp_probe_options options = {};
  options.productions = "p: branch => count(pc, next); trace all(pc); call jumps, null";
  options.min_stream_length = 2;
  hbbp::probe probe(options, [&](const hbbp_probe_call& call) {
    ++calls;
    return call.pc == 0;
  });
  hbbp::probe moved = std::move(probe);
  CHECK(moved.run(analysis) == 1 && calls == 10);
  CHECK(moved.run(analysis, moved.next_burst()) == 1 && calls == 10);
  hbbp::cancel_flag flag;
  flag.set();
  CHECK_STATUS(HBBP_ERROR_CANCELLED, moved.run(analysis, 0, flag));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, moved.run(analysis, 2));
  CHECK(moved.info().bursts == 1 && moved.productions().at(0).firings == 10);
  CHECK(moved.tables().size() == 3 && moved.fields(0).at(1).kind == HBBP_PROBE_CODE);
  const hbbp_probe_row row = moved.rows(0).at(0);
  CHECK(row.records == 10 && moved.rows(1).empty());
  CHECK(moved.streams(0).empty() && moved.streams(1).at(0).values[0] == row.values[0]);
  CHECK(moved.locate(row.values[0]).address == 0x7001);
  CHECK(moved.locate(row.values[1]).address == 0x7000);
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, moved.locate(0));
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, moved.rows(3));
#if defined(__cpp_exceptions)
  hbbp::probe thrower("use framework\np: branch && sample_flag && !burst_flag => call, null",
                      [&](const hbbp_probe_call&) -> bool { throw ++calls; });
  CHECK(thrower.run(analysis) == 1 && calls == 11);
#endif
  hbbp_session_options of_session = {};
  of_session.source = HBBP_SOURCE_EXTERNAL;
  hbbp::session idle(of_session);
  hbbp::probe follower("use call-pairs");
  follower.start(idle);
#if defined(__cpp_exceptions)
  CHECK_STATUS(HBBP_ERROR_INVALID_STATE, follower.rows(0));
  CHECK_STATUS(HBBP_ERROR_NOT_FOUND, follower.stop());
  CHECK(follower.rows(0).empty());
  follower.start(idle, 1);
#endif
  // Its end, which comes before that of the session, ends the worker.
}

void TestFeed() {
  hbbp_feed_options options = {};
  options.slice_ns = 1;
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, hbbp::feed{options});
  options.slice_ns = HBBP_MIN_SLICE_NS;
  options.kept_burst_bytes = HBBP_MIN_KEPT_BURST_BYTES;
  hbbp::feed feed(options);
  CHECK_STATUS(HBBP_ERROR_INVALID_STATE, feed.add_perf_records("", 0));
  hbbp_feed_source source = {};
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, feed.add_source(source));
  source.kind = HBBP_SOURCE_LBR;
  source.event = HBBP_EVENT_TAKEN_BRANCHES;
  const std::uint32_t index = feed.add_source(source);
  CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, feed.add_perf_ids(index, {1}));
  const std::uint8_t code[] = {0x90, 0xeb, 0xfd};  // a loop
  hbbp_feed_event event = {};
  event.kind = HBBP_FEED_CODE;
  event.address = 0x7000;
  event.size = sizeof(code);
  event.code = code;
  event.time_ns = 1;
  feed.add_events({event});
  const std::vector<hbbp_branch_entry> stack(11, {0x7001, 0x7000, 0});
  hbbp_feed_sample sample = {};
  sample.time_ns = 2;
  sample.period = 100;
  sample.branches = stack.data();
  sample.branch_count = 11;
  feed.add_samples(index, {sample});
  CHECK(feed.info().waiting == 2);
  sample.time_ns += 3 * HBBP_MIN_SLICE_NS;
  feed.end_round();
  feed.end_round();
  CHECK(feed.info().waiting == 0);
  feed.flush();
  TestProbe(feed.snapshot());
  hbbp::feed moved = std::move(feed);
  moved.add_samples(index, {sample});
  moved.flush();
  CHECK(moved.info().samples == 2);
  TestSlices(moved.snapshot());
  TestLoop(moved.snapshot().select_slice(0));
  TestViews(moved.snapshot());
}

struct PushedSource {
  int starts = 0;
  int stops = 0;
  int destroys = 0;
};

// Tests a source of the host, alone and then stopped.
void TestExternalSource() {
  PushedSource source;
  hbbp_source_ops ops = {};
  ops.name = "pushed";
  ops.start = [](void* context, hbbp_feed* feed, hbbp_error* error) {
    ++static_cast<PushedSource*>(context)->starts;
    auto samples = hbbp::detail::sized<hbbp_feed_source>();
    samples.kind = HBBP_SOURCE_EBS;
    samples.event = HBBP_EVENT_CYCLES;
    samples.period = 1000;
    std::uint32_t index = 0;
    hbbp_feed_sample sample = {};
    sample.ip = 0x1000;
    const hbbp_status status = hbbp_feed_add_source(feed, &samples, &index, error);
    if (status != HBBP_OK) return status;
    return hbbp_feed_add_samples(feed, index, &sample, 1, sizeof(sample), error);
  };
  ops.stop = [](void* context, hbbp_feed*, hbbp_error*) -> hbbp_status {
    ++static_cast<PushedSource*>(context)->stops;
    return HBBP_OK;
  };
  ops.destroy = [](void* context) { ++static_cast<PushedSource*>(context)->destroys; };
  {
    hbbp_session_options options = {};
    options.source = HBBP_SOURCE_EXTERNAL;
    hbbp::session session(options);
    CHECK_STATUS(HBBP_ERROR_INVALID_STATE, session.start());
    CHECK_STATUS(HBBP_ERROR_INVALID_ARGUMENT, session.add_source({}, &source));
    session.add_source(ops, &source);
    session.start();
    CHECK_STATUS(HBBP_ERROR_INVALID_STATE, session.add_source(ops, &source));
    session.stop();
    const hbbp::profile profile = session.snapshot();
    CHECK(profile.sources().size() == 1 && profile.sources().at(0).samples == 1);
  }
  CHECK(source.starts == 1 && source.stops == 1 && source.destroys == 1);
}

int TestSession(const std::string& directory) {
  hbbp_session_options options = {};
  options.source = HBBP_SOURCE_EBS;
  options.event = HBBP_EVENT_TASK_CLOCK;
  options.period = 500'000;
  hbbp::session session(options);
  if (!Start(&session)) return 77;
  CHECK_STATUS(HBBP_ERROR_INVALID_STATE, session.start());
  CHECK(session.info().running == 1);
  Work();
  hbbp::session moved = std::move(session);
  moved.stop();
  CHECK(moved.info().running == 0);
  const hbbp::profile profile = moved.snapshot();
  TestLists(profile);
  const std::string path = directory + "/profile";
  profile.save(path);
  const hbbp::profile loaded = hbbp::profile::load(path);
  CHECK(hbbp::analysis(loaded).blocks().size() == hbbp::analysis(profile).blocks().size());
  TestLists(loaded);
  std::remove(path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const temporary = getenv("TMPDIR");
  std::string directory =
      std::string(temporary != nullptr ? temporary : "/tmp") + "/hbbp-hpp-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }
  TestErrors(directory);
  TestEmpty(directory);
  TestNames();
  TestFeed();
  TestExternalSource();
  TestAllocator();
  if (argc > 1) TestWork(argv[1], directory);
  const int skipped = TestSession(directory);
  CHECK(rmdir(directory.c_str()) == 0);
  return failures != 0 ? 1 : skipped;
}
