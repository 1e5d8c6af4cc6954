#include <hbbp/ibs.h>

#include <cstdint>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "events/ibs_level.h"
#include "profile/ibs_buckets.h"

using hbbp::IbsAccesses;
using hbbp::IbsCount;
using hbbp::IbsLatencyRecord;
using hbbp::IbsObjectKind;
using hbbp::IbsObjectRecord;
using hbbp::IbsSumRecord;
using hbbp::ProfileData;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace {

// Buckets are stored by thread and source; here they are of all of these. Those of loads of one
// instruction are listed by analyses.
std::vector<hbbp_ibs_bucket> BucketsOf(const ProfileData& data) {
  std::vector<hbbp_ibs_bucket> buckets;
  const IbsCount* last = nullptr;
  for (const IbsCount& bucket : data.ibs_buckets) {
    if (bucket.module != hbbp::kNoModule) continue;
    if (last == nullptr || last->name != bucket.name || last->bucket != bucket.bucket) {
      HBBP_INIT(hbbp_ibs_bucket, added);
      added.latency = data.ibs_names[bucket.name].c_str();
      added.first_cycles = hbbp::IbsBucketStart(bucket.bucket);
      added.end_cycles = hbbp::IbsBucketStart(bucket.bucket + 1);
      buckets.push_back(added);
    }
    buckets.back().samples += bucket.sum;
    last = &bucket;
  }
  return buckets;
}

hbbp_ibs_sum MakeSum(const ProfileData& data, const IbsSumRecord& record) {
  HBBP_INIT(hbbp_ibs_sum, sum);
  sum.module = record.module;
  sum.function = record.function;
  sum.event = data.ibs_names[record.event].c_str();
  sum.address = record.address.value;
  sum.sum = record.sum;
  return sum;
}

hbbp_ibs_latency MakeLatency(const IbsLatencyRecord& record) {
  HBBP_INIT(hbbp_ibs_latency, latency);
  latency.module = record.module;
  latency.function = record.function;
  latency.level = hbbp::IbsLevelName(static_cast<hbbp::IbsLevel>(record.level));
  latency.address = record.address.value;
  latency.first_cycles = hbbp::IbsBucketStart(record.bucket);
  latency.end_cycles = hbbp::IbsBucketStart(record.bucket + 1);
  latency.samples = record.samples;
  return latency;
}

// Sets the numbers of a line or an object.
template <typename Record>
void SetAccesses(const IbsAccesses& accesses, Record* record) {
  record->loads = accesses.loads;
  record->stores = accesses.stores;
  record->misses = accesses.misses;
  record->miss_cycles = accesses.miss_cycles;
  record->local = accesses.local;
  record->remote = accesses.remote;
}

hbbp_ibs_line MakeLine(const ProfileData& data, const IbsAccesses& record) {
  HBBP_INIT(hbbp_ibs_line, line);
  line.pid = data.threads[record.thread].pid;
  line.tid = data.threads[record.thread].tid;
  static_assert(hbbp::kUnknownNode == HBBP_NO_INDEX);
  line.node = record.node;
  line.address = record.address;
  SetAccesses(record, &line);
  return line;
}

static_assert(static_cast<int>(IbsObjectKind::kSymbol) == HBBP_IBS_SYMBOL);
static_assert(static_cast<int>(IbsObjectKind::kSection) == HBBP_IBS_SECTION);
static_assert(static_cast<int>(IbsObjectKind::kBlock) == HBBP_IBS_BLOCK);
static_assert(static_cast<int>(IbsObjectKind::kOther) == HBBP_IBS_OTHER);

hbbp_ibs_object MakeObject(const IbsObjectRecord& record) {
  HBBP_INIT(hbbp_ibs_object, object);
  object.module = record.module;
  object.kind = static_cast<hbbp_ibs_object_kind>(record.kind);
  object.threads = record.threads;
  object.name = record.name.c_str();
  object.address = record.address.value;
  object.size = record.bytes;
  SetAccesses(record.accesses, &object);
  return object;
}

}  // namespace

extern "C" {

HBBP_API size_t hbbp_analysis_ibs_sum_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->analysis().ibs_sums().size();
}

HBBP_API hbbp_status hbbp_analysis_copy_ibs_sums(const hbbp_analysis* analysis, size_t first,
                                                 size_t count, size_t size, hbbp_ibs_sum* sums,
                                                 size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_ibs_sums", "hbbp_ibs_sum", "sums"}, "analysis",
                        analysis, hbbp_analysis_ibs_sum_count(analysis), {first, count, size}, sums,
                        copied, error, [](const hbbp_analysis& given, size_t index) {
                          return MakeSum(given.data(), given.analysis().ibs_sums()[index]);
                        });
}

HBBP_API size_t hbbp_analysis_ibs_latency_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->analysis().ibs_latencies().size();
}

HBBP_API hbbp_status hbbp_analysis_copy_ibs_latencies(const hbbp_analysis* analysis, size_t first,
                                                      size_t count, size_t size,
                                                      hbbp_ibs_latency* latencies, size_t* copied,
                                                      hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_ibs_latencies", "hbbp_ibs_latency", "latencies"},
                        "analysis", analysis, hbbp_analysis_ibs_latency_count(analysis),
                        {first, count, size}, latencies, copied, error,
                        [](const hbbp_analysis& given, size_t index) {
                          return MakeLatency(given.analysis().ibs_latencies()[index]);
                        });
}

HBBP_API size_t hbbp_analysis_ibs_object_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->analysis().ibs_objects().size();
}

HBBP_API hbbp_status hbbp_analysis_copy_ibs_objects(const hbbp_analysis* analysis, size_t first,
                                                    size_t count, size_t size,
                                                    hbbp_ibs_object* objects, size_t* copied,
                                                    hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_ibs_objects", "hbbp_ibs_object", "objects"},
                        "analysis", analysis, hbbp_analysis_ibs_object_count(analysis),
                        {first, count, size}, objects, copied, error,
                        [](const hbbp_analysis& given, size_t index) {
                          return MakeObject(given.analysis().ibs_objects()[index]);
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
  constexpr ListNames kNames = {"hbbp_profile_copy_ibs_buckets", "hbbp_ibs_bucket", "buckets"};
  return Guard(error, [&]() -> hbbp::Status {
    if (profile == nullptr) return NullArgument(kNames.function, "profile");
    const std::vector<hbbp_ibs_bucket> all = BucketsOf(profile->data());
    return CopyList(kNames, all.size(), {first, count, size}, buckets, copied,
                    [&](size_t index) { return all[index]; });
  });
}

HBBP_API size_t hbbp_profile_ibs_line_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : profile->data().ibs_lines.size();
}

HBBP_API hbbp_status hbbp_profile_copy_ibs_lines(const hbbp_profile* profile, size_t first,
                                                 size_t count, size_t size, hbbp_ibs_line* lines,
                                                 size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_profile_copy_ibs_lines", "hbbp_ibs_line", "lines"}, "profile",
                        profile, hbbp_profile_ibs_line_count(profile), {first, count, size}, lines,
                        copied, error, [](const hbbp_profile& given, size_t index) {
                          return MakeLine(given.data(), given.data().ibs_lines[index]);
                        });
}

}  // extern "C"
