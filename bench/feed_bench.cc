// Measures the cost of feeding a sample through the C ABI.
#include <benchmark/benchmark.h>
#include <hbbp/feed.h>
#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr uint64_t kTextStart = 0x400000;
constexpr uint64_t kTextBytes = 1 << 20;
constexpr uint64_t kAddresses = 10'000;
constexpr size_t kBatch = 1000;

class Feed {
 public:
  explicit Feed(hbbp_feed_order order) {
    HBBP_INIT(hbbp_feed_options, options);
    options.order = order;
    hbbp_feed_create(&options, &feed_, nullptr);
    hbbp_feed_event mapping = {};
    mapping.kind = HBBP_FEED_MAPPING;
    mapping.pid = 1;
    mapping.address = kTextStart;
    mapping.size = kTextBytes;
    mapping.name = "/nonexistent/program";
    hbbp_feed_add_events(feed_, &mapping, 1, sizeof(mapping), nullptr);
  }
  ~Feed() { hbbp_feed_destroy(feed_); }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  hbbp_feed* get() { return feed_; }

 private:
  hbbp_feed* feed_ = nullptr;
};

uint64_t NextAddress(uint64_t* state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return kTextStart + (*state >> 33) % kAddresses * (kTextBytes / kAddresses);
}

template <typename T>
void Put(const T& value, std::vector<uint8_t>* bytes) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), first, first + sizeof(value));
}

std::vector<hbbp_branch_entry> MakeStack(size_t branches, uint64_t* state) {
  std::vector<hbbp_branch_entry> stack(branches);
  for (hbbp_branch_entry& entry : stack) entry = {NextAddress(state), NextAddress(state), 0};
  return stack;
}

// Sets `times` to the offsets of the times of kBatch samples.
std::vector<uint8_t> MakeRecords(size_t branches, std::vector<size_t>* times) {
  std::vector<uint8_t> bytes;
  uint64_t state = 1;
  for (size_t i = 0; i < kBatch; ++i) {
    perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 0};
    header.size = static_cast<uint16_t>(sizeof(header) + 32 + (branches ? 8 + 24 * branches : 0));
    Put(header, &bytes);
    Put(NextAddress(&state), &bytes);
    Put(uint32_t{1}, &bytes), Put(uint32_t{1}, &bytes);
    times->push_back(bytes.size());
    Put(uint64_t{0}, &bytes);
    Put(uint64_t{1000}, &bytes);
    if (branches == 0) continue;
    Put(uint64_t{branches}, &bytes);
    for (const hbbp_branch_entry& entry : MakeStack(branches, &state)) Put(entry, &bytes);
  }
  return bytes;
}

void BM_FeedRecords(benchmark::State& state) {
  const auto branches = static_cast<size_t>(state.range(0));
  const auto order = static_cast<hbbp_feed_order>(state.range(1));
  Feed feed(order);
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = PERF_COUNT_HW_INSTRUCTIONS;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
  if (branches != 0) {
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
  }
  HBBP_INIT(hbbp_feed_source, source);
  source.perf_attr = &attr;
  source.perf_attr_size = sizeof(attr);
  hbbp_feed_add_source(feed.get(), &source, nullptr, nullptr);
  std::vector<size_t> times;
  std::vector<uint8_t> records = MakeRecords(branches, &times);
  uint64_t time = 0;
  for (auto _ : state) {
    for (const size_t at : times) {
      ++time;
      std::memcpy(records.data() + at, &time, sizeof(time));
    }
    size_t consumed = 0;
    if (hbbp_feed_add_perf_records(feed.get(), records.data(), records.size(), &consumed,
                                   nullptr) != HBBP_OK ||
        consumed != records.size()) {
      state.SkipWithError("records were refused");
      return;
    }
    hbbp_feed_end_round(feed.get(), nullptr);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}
BENCHMARK(BM_FeedRecords)
    ->ArgNames({"branches", "as_added"})
    ->ArgsProduct({{0, 16, 32}, {HBBP_FEED_BY_TIME, HBBP_FEED_AS_ADDED}});

void BM_FeedSamples(benchmark::State& state) {
  const auto branches = static_cast<size_t>(state.range(0));
  const auto order = static_cast<hbbp_feed_order>(state.range(1));
  Feed feed(order);
  HBBP_INIT(hbbp_feed_source, source);
  source.kind = branches != 0 ? HBBP_SOURCE_LBR : HBBP_SOURCE_EBS;
  source.event = HBBP_EVENT_INSTRUCTIONS;
  source.period = 1000;
  uint32_t index = 0;
  hbbp_feed_add_source(feed.get(), &source, &index, nullptr);
  uint64_t random = 1;
  std::vector<std::vector<hbbp_branch_entry>> stacks(kBatch);
  std::vector<hbbp_feed_sample> samples(kBatch);
  for (size_t i = 0; i < kBatch; ++i) {
    stacks[i] = MakeStack(branches, &random);
    samples[i].pid = samples[i].tid = 1;
    samples[i].ip = NextAddress(&random);
    samples[i].branches = stacks[i].data();
    samples[i].branch_count = static_cast<uint32_t>(branches);
  }
  uint64_t time = 0;
  for (auto _ : state) {
    for (hbbp_feed_sample& sample : samples) sample.time_ns = ++time;
    if (hbbp_feed_add_samples(feed.get(), index, samples.data(), kBatch, sizeof(samples[0]),
                              nullptr) != HBBP_OK) {
      state.SkipWithError("samples were refused");
      return;
    }
    hbbp_feed_end_round(feed.get(), nullptr);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}
BENCHMARK(BM_FeedSamples)
    ->ArgNames({"branches", "as_added"})
    ->ArgsProduct({{0, 16, 32}, {HBBP_FEED_BY_TIME, HBBP_FEED_AS_ADDED}});

}  // namespace
