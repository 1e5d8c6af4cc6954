#include "profile/slices_section.h"

#include "profile/section_io.h"

namespace hbbp {
namespace {

template <typename Counted>
void WriteSliceNumbers(const std::vector<Counted>& counts, SectionWriter* writer) {
  writer->Put<uint64_t>(counts.size());
  for (const Counted& count : counts) writer->Put(count.slice);
}

template <typename Counted>
Status ReadSliceNumbers(const char* what, SectionReader* reader, std::vector<Counted>* counts,
                        uint32_t slices) {
  const uint64_t number = reader->GetCount(sizeof(uint32_t));
  if (number != counts->size()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "the slices section has %llu slices for %zu %s: the file is damaged",
                      static_cast<unsigned long long>(number), counts->size(), what);
  }
  for (size_t i = 0; i < counts->size(); ++i) {
    const uint32_t slice = reader->Get<uint32_t>();
    if (slice >= slices && slice != kNoSlice) {
      return MakeStatus(StatusCode::kBadFormat,
                        "the slices section puts number %zu of the %s into slice %u of %u", i, what,
                        slice, slices);
    }
    (*counts)[i].slice = slice;
  }
  return OkStatus();
}

}  // namespace

std::vector<uint8_t> WriteSlices(const ProfileData& data) {
  SectionWriter writer;
  writer.Put(data.slices.width_ns);
  writer.Put(data.slices.count);
  WriteSliceNumbers(data.counts, &writer);
  WriteSliceNumbers(data.branches, &writer);
  return writer.Take();
}

Status ReadSlices(std::span<const uint8_t> bytes, uint32_t, ProfileData* data) {
  SectionReader reader(bytes, "slices");
  data->slices.width_ns = reader.Get<uint64_t>();
  data->slices.count = reader.Get<uint32_t>();
  const TimeSlices& slices = data->slices;
  const bool overflows = slices.count > 0 && slices.StartOf(slices.count - 1) == UINT64_MAX;
  if (slices.width_ns == 0 || overflows || slices.count > SliceClock::kMaxSlices) {
    return MakeStatus(StatusCode::kBadFormat,
                      "the slices section has %u slices of %llu ns: the file is damaged",
                      slices.count, static_cast<unsigned long long>(slices.width_ns));
  }
  HBBP_RETURN_IF_ERROR(ReadSliceNumbers("counts", &reader, &data->counts, data->slices.count));
  HBBP_RETURN_IF_ERROR(ReadSliceNumbers("branches", &reader, &data->branches, data->slices.count));
  return reader.status();
}

}  // namespace hbbp
