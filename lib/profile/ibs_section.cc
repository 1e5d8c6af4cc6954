#include "profile/ibs_section.h"

#include <string>

#include "profile/ibs_buckets.h"
#include "profile/section_io.h"

namespace hbbp {
namespace {

static_assert(sizeof(IbsCount) == 4 * 4 + 2 * 8);
static_assert(sizeof(IbsBucket) == 4 * 4 + 8);
static_assert(sizeof(IbsLine) == 2 * 4 + 5 * 8);

template <typename T>
void WriteAll(const std::vector<T>& elements, SectionWriter* writer) {
  writer->Put<uint64_t>(elements.size());
  for (const T& element : elements) writer->Put(element);
}

template <typename T>
void ReadAll(SectionReader* reader, std::vector<T>* elements) {
  elements->resize(reader->GetCount(sizeof(T)));
  for (T& element : *elements) element = reader->Get<T>();
}

}  // namespace

std::vector<uint8_t> WriteIbs(const ProfileData& data) {
  SectionWriter writer;
  writer.Put<uint64_t>(data.ibs_names.size());
  for (const std::string& name : data.ibs_names) writer.PutString(name);
  WriteAll(data.ibs_counts, &writer);
  WriteAll(data.ibs_buckets, &writer);
  WriteAll(data.ibs_lines, &writer);
  return writer.Take();
}

Status ReadIbs(std::span<const uint8_t> bytes, uint32_t, ProfileData* data) {
  SectionReader reader(bytes, "ibs");
  data->ibs_names.resize(reader.GetCount(sizeof(uint64_t)));
  for (std::string& name : data->ibs_names) name = reader.GetString();
  ReadAll(&reader, &data->ibs_counts);
  ReadAll(&reader, &data->ibs_buckets);
  ReadAll(&reader, &data->ibs_lines);
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
                          count.event < data.ibs_names.size();
    if (!is_known) return wrong("a sum");
  }
  for (const IbsBucket& bucket : data.ibs_buckets) {
    const bool is_known =
        has_owner(bucket) && bucket.latency < data.ibs_names.size() && bucket.bucket < kIbsBuckets;
    if (!is_known) return wrong("a latency");
  }
  for (const IbsLine& line : data.ibs_lines) {
    if (!has_owner(line)) return wrong("a cache line");
  }
  return OkStatus();
}

}  // namespace hbbp
