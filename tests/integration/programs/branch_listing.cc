// Prints the taken branches and the ranges between them of a profile, a line each, for comparison
// with other tools:
//
//   branch FROM_MODULE FROM TO_MODULE TO NUMBER
//   range MODULE START END NUMBER
//
// Modules are named by their paths, "?" for none; offsets are those of the profile, for files the
// offsets in them.
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

#include "profile/profile_file.h"

namespace {

using hbbp::BranchCount;
using hbbp::ProfileData;

std::string ModuleName(const ProfileData& data, uint32_t module) {
  return module == hbbp::kNoModule ? "?" : data.modules[module].path;
}

void Print(const ProfileData& data) {
  std::map<std::tuple<std::string, uint64_t, std::string, uint64_t>, uint64_t> branches;
  std::map<std::tuple<std::string, uint64_t, uint64_t>, uint64_t> ranges;
  for (const BranchCount& branch : data.branches) {
    const std::string to = ModuleName(data, branch.to_module);
    branches[{ModuleName(data, branch.from_module), branch.from, to, branch.to}] += branch.number;
    const bool has_range = branch.HasStream() && branch.stream_end != hbbp::kStreamLeavesModule;
    if (has_range) ranges[{to, branch.to, branch.stream_end}] += branch.number;
  }
  for (const auto& [key, number] : branches) {
    const auto& [from_module, from, to_module, to] = key;
    std::printf("branch %s %" PRIx64 " %s %" PRIx64 " %" PRIu64 "\n", from_module.c_str(), from,
                to_module.c_str(), to, number);
  }
  for (const auto& [key, number] : ranges) {
    const auto& [module, start, end] = key;
    std::printf("range %s %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", module.c_str(), start, end,
                number);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: branch_listing PROFILE\n");
    return 2;
  }
  const hbbp::StatusOr<ProfileData> data = hbbp::LoadProfile(argv[1]);
  if (!data.ok()) {
    std::fprintf(stderr, "%s\n", data.status().message().c_str());
    return 2;
  }
  Print(*data);
  return 0;
}
