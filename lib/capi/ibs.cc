#include <hbbp/ibs.h>

#include <cstdint>
#include <vector>

#include "capi/boundary.h"
#include "capi/profile_handle.h"
#include "profile/ibs_buckets.h"

using hbbp::IbsBucket;
using hbbp::IbsLine;
using hbbp::IbsSumRecord;
using hbbp::ProfileData;
using hbbp::Status;
using hbbp::capi::CopyList;
using hbbp::capi::CountInAnalysis;
using hbbp::capi::Guard;
using hbbp::capi::GuardCount;
using hbbp::capi::NullArgument;

namespace {

// Buckets and lines are stored by thread and source; here they are of all sources.
std::vector<hbbp_ibs_bucket> BucketsOf(const ProfileData& data) {
  std::vector<hbbp_ibs_bucket> buckets;
  const IbsBucket* last = nullptr;
  for (const IbsBucket& bucket : data.ibs_buckets) {
    if (last == nullptr || last->latency != bucket.latency || last->bucket != bucket.bucket) {
      HBBP_INIT(hbbp_ibs_bucket, added);
      added.latency = data.ibs_names[bucket.latency].c_str();
      added.first_cycles = hbbp::IbsBucketStart(bucket.bucket);
      added.end_cycles = hbbp::IbsBucketStart(bucket.bucket + 1);
      buckets.push_back(added);
    }
    buckets.back().samples += bucket.samples;
    last = &bucket;
  }
  return buckets;
}

hbbp_ibs_sum SumOf(const ProfileData& data, const IbsSumRecord& record) {
  HBBP_INIT(hbbp_ibs_sum, sum);
  sum.module = record.module;
  sum.function = record.function;
  sum.event = data.ibs_names[record.event].c_str();
  sum.address = record.address.value;
  sum.sum = record.sum;
  return sum;
}

hbbp_ibs_line LineOf(const ProfileData& data, const IbsLine& record) {
  HBBP_INIT(hbbp_ibs_line, line);
  line.pid = data.threads[record.thread].pid;
  line.tid = data.threads[record.thread].tid;
  line.address = record.address;
  line.loads = record.loads;
  line.stores = record.stores;
  line.misses = record.misses;
  line.miss_cycles = record.miss_cycles;
  return line;
}

}  // namespace

extern "C" {

HBBP_API size_t hbbp_profile_ibs_sum_count(const hbbp_profile* profile) {
  return CountInAnalysis(profile,
                         [](const hbbp::Analysis& analysis) { return analysis.ibs_sums().size(); });
}

HBBP_API hbbp_status hbbp_profile_copy_ibs_sums(const hbbp_profile* profile, size_t first,
                                                size_t count, size_t size, hbbp_ibs_sum* sums,
                                                size_t* copied, hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_copy_ibs_sums";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    const std::vector<IbsSumRecord>& all = analysis->ibs_sums();
    return CopyList({kFunction, "hbbp_ibs_sum", "sums", "size"}, all.size(), first, count, size,
                    sums, copied, [&](size_t index) { return SumOf(profile->data(), all[index]); });
  });
}

HBBP_API size_t hbbp_profile_ibs_bucket_count(const hbbp_profile* profile) {
  if (profile == nullptr) return 0;
  return GuardCount([&] { return BucketsOf(profile->data()).size(); });
}

HBBP_API hbbp_status hbbp_profile_copy_ibs_buckets(const hbbp_profile* profile, size_t first,
                                                   size_t count, size_t size,
                                                   hbbp_ibs_bucket* buckets, size_t* copied,
                                                   hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_copy_ibs_buckets";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    const std::vector<hbbp_ibs_bucket> all = BucketsOf(profile->data());
    return CopyList({kFunction, "hbbp_ibs_bucket", "buckets", "size"}, all.size(), first, count,
                    size, buckets, copied, [&](size_t index) { return all[index]; });
  });
}

HBBP_API size_t hbbp_profile_ibs_line_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : profile->data().ibs_lines.size();
}

HBBP_API hbbp_status hbbp_profile_copy_ibs_lines(const hbbp_profile* profile, size_t first,
                                                 size_t count, size_t size, hbbp_ibs_line* lines,
                                                 size_t* copied, hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_copy_ibs_lines";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    const std::vector<IbsLine>& all = profile->data().ibs_lines;
    return CopyList({kFunction, "hbbp_ibs_line", "lines", "size"}, all.size(), first, count, size,
                    lines, copied,
                    [&](size_t index) { return LineOf(profile->data(), all[index]); });
  });
}

}  // extern "C"
