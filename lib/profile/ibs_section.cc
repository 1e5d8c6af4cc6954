#include "profile/ibs_section.h"

#include <cstddef>
#include <string>

#include "events/ibs_level.h"
#include "profile/ibs_buckets.h"
#include "profile/section_io.h"

namespace hbbp {
namespace {

static_assert(sizeof(IbsCount) == 4 * 4 + 2 * 8 + 2 * 4);
static_assert(offsetof(IbsAccesses, node) == 2 * 4 + 7 * 8 + 2 * 4 + 8);

constexpr size_t kEventBytes = offsetof(IbsCount, level);  // events have no levels and buckets
constexpr size_t kLineBytes = offsetof(IbsAccesses, module);
constexpr size_t kDataBytes = offsetof(IbsAccesses, node);

template <typename T>
void WriteAll(const std::vector<T>& elements, size_t stored_bytes, SectionWriter* writer) {
  writer->Put<uint64_t>(elements.size());
  for (const T& element : elements) writer->PutBeginning(element, stored_bytes);
}

template <typename T>
void ReadAll(size_t stored_bytes, SectionReader* reader, std::vector<T>* elements) {
  elements->resize(reader->GetCount(stored_bytes));
  for (T& element : *elements) reader->GetBeginning(stored_bytes, &element);
}

// Latencies of the first version are of all instructions.
void ReadFirstBuckets(SectionReader* reader, std::vector<IbsCount>* buckets) {
  struct {
    uint32_t source, thread, name, bucket;
    uint64_t samples;
  } stored = {};
  buckets->resize(reader->GetCount(sizeof(stored)));
  for (IbsCount& bucket : *buckets) {
    reader->GetBeginning(sizeof(stored), &stored);
    bucket = {stored.source, stored.thread, kNoModule, stored.name, 0, stored.samples, 0,
              stored.bucket};
  }
}

}  // namespace

std::vector<uint8_t> WriteIbs(const ProfileData& data) {
  SectionWriter writer;
  writer.Put<uint64_t>(data.ibs_names.size());
  for (const std::string& name : data.ibs_names) writer.PutString(name);
  WriteAll(data.ibs_counts, kEventBytes, &writer);
  WriteAll(data.ibs_buckets, sizeof(IbsCount), &writer);
  WriteAll(data.ibs_lines, kLineBytes, &writer);
  WriteAll(data.ibs_data, kDataBytes, &writer);
  for (const IbsAccesses& line : data.ibs_lines) writer.Put(line.node);
  return writer.Take();
}

Status ReadIbs(std::span<const uint8_t> bytes, uint32_t version, ProfileData* data) {
  SectionReader reader(bytes, "ibs");
  data->ibs_names.resize(reader.GetCount(sizeof(uint64_t)));
  for (std::string& name : data->ibs_names) name = reader.GetString();
  ReadAll(kEventBytes, &reader, &data->ibs_counts);
  if (version == 1) {
    ReadFirstBuckets(&reader, &data->ibs_buckets);
  } else {
    ReadAll(sizeof(IbsCount), &reader, &data->ibs_buckets);
  }
  ReadAll(version == 1 ? offsetof(IbsAccesses, local) : kLineBytes, &reader, &data->ibs_lines);
  if (version >= 3) ReadAll(kDataBytes, &reader, &data->ibs_data);
  if (version >= 4) {
    for (IbsAccesses& line : data->ibs_lines) line.node = reader.Get<uint32_t>();
  }
  return reader.status();
}

Status CheckIbs(const ProfileData& data) {
  const auto has_owner = [&](const auto& element) {
    return element.source < data.sources.size() && element.thread < data.threads.size();
  };
  const auto wrong = [](const char* what) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s of IBS refers to what is not in the file: it is damaged", what);
  };
  for (const IbsCount& count : data.ibs_counts) {
    const bool is_known = has_owner(count) && count.module < data.modules.size() &&
                          count.name < data.ibs_names.size();
    if (!is_known) return wrong("a sum");
  }
  for (const IbsCount& count : data.ibs_buckets) {
    const bool is_known = has_owner(count) && count.name < data.ibs_names.size() &&
                          count.bucket < kIbsBuckets && count.level < kIbsLevels &&
                          (count.module == kNoModule || count.module < data.modules.size());
    if (!is_known) return wrong("a latency");
  }
  for (const IbsAccesses& line : data.ibs_lines) {
    if (!has_owner(line)) return wrong("a cache line");
  }
  for (const IbsAccesses& accesses : data.ibs_data) {
    const bool is_known = has_owner(accesses) &&
                          (accesses.module == kNoModule || accesses.module < data.modules.size()) &&
                          (accesses.name == kNoIbsName || accesses.name < data.ibs_names.size());
    if (!is_known) return wrong("data");
  }
  return OkStatus();
}

}  // namespace hbbp
