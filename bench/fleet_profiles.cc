// Writes profiles of many hosts: each is one of the given profiles with other counts, times and
// processes, as if it had been recorded elsewhere.
//
// usage: fleet_profiles NUMBER DIRECTORY PROFILE...
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "profile/profile_file.h"

namespace hbbp {
namespace {

constexpr uint64_t kMinute = 60'000'000'000;

// Draws what would be counted where `expected` were.
uint64_t DrawCount(uint64_t expected, std::mt19937_64* random) {
  return std::poisson_distribution<uint64_t>(static_cast<double>(expected))(*random);
}

ProfileData Derive(const ProfileData& real, uint64_t number) {
  std::mt19937_64 random(number);
  ProfileData data = real;
  const auto pid = static_cast<uint32_t>(1 + random() % 4'000'000);
  for (ThreadRecord& thread : data.threads) {
    thread.tid = thread.tid == thread.pid ? pid : static_cast<uint32_t>(1 + random() % 4'000'000);
    thread.pid = pid;
  }
  data.pid = pid;
  data.start_time_ns += number * kMinute;
  data.counts.clear();
  for (IpCount count : real.counts) {
    const uint64_t samples = DrawCount(count.samples, &random);
    if (samples == 0) continue;
    const double factor = static_cast<double>(samples) / static_cast<double>(count.samples);
    count.samples = samples;
    count.period_sum *= factor;
    count.period_squares *= factor;
    data.counts.push_back(count);
  }
  data.branches.clear();
  for (BranchCount branch : real.branches) {
    const uint64_t drawn = DrawCount(branch.number, &random);
    if (drawn == 0) continue;
    const double factor = static_cast<double>(drawn) / static_cast<double>(branch.number);
    branch.number = drawn;
    branch.weights *= factor;
    for (float& sum : branch.replicates.sums) sum *= static_cast<float>(factor);
    data.branches.push_back(branch);
  }
  return data;
}

int Main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: fleet_profiles NUMBER DIRECTORY PROFILE...\n");
    return 2;
  }
  std::vector<ProfileData> real;
  for (int i = 3; i < argc; ++i) {
    StatusOr<ProfileData> loaded = LoadProfile(argv[i]);
    if (!loaded.ok()) {
      std::fprintf(stderr, "fleet_profiles: %s\n", loaded.status().message().c_str());
      return 1;
    }
    real.push_back(*std::move(loaded));
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10);
  for (uint64_t number = 0; number < count; ++number) {
    const std::string path = std::string(argv[2]) + "/" + std::to_string(number) + ".hbbp";
    const Status status = SaveProfile(Derive(real[number % real.size()], number), path);
    if (!status.ok()) {
      std::fprintf(stderr, "fleet_profiles: %s\n", status.message().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace hbbp

int main(int argc, char** argv) { return hbbp::Main(argc, argv); }
