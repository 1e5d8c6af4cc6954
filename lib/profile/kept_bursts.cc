#include "profile/kept_bursts.h"

#include <algorithm>

#include "profile/section_io.h"

namespace hbbp {
namespace {

static_assert(sizeof(KeptBranch) == 2 * 4 + 2 * 8);

size_t SerializedSize(const KeptBursts& bursts) {
  size_t size = sizeof(KeptBurstTotals) + sizeof(uint64_t);
  for (const RecordedBursts& recording : bursts.recordings) {
    size += 8 * sizeof(uint64_t) + recording.bytes.size() + recording.access_bytes.size() +
            recording.value_bytes.size() + recording.branches.size() * sizeof(KeptBranch) +
            (recording.sources.size() + recording.threads.size()) * sizeof(uint32_t);
  }
  return size;
}

template <typename T>
void PutAll(const std::vector<T>& elements, CancelCheck* check, SectionWriter* writer) {
  writer->Put<uint64_t>(elements.size());
  for (const T& element : elements) {
    check->Step();
    writer->Put(element);
  }
}

template <typename T>
void GetAll(SectionReader* reader, std::vector<T>* elements) {
  elements->resize(reader->GetCount(sizeof(T)));
  for (T& element : *elements) element = reader->Get<T>();
}

bool AreBelow(size_t size, const std::vector<uint32_t>& indices) {
  return std::all_of(indices.begin(), indices.end(), [size](uint32_t i) { return i < size; });
}

Status CheckIndices(const RecordedBursts& recording, const ProfileData& data) {
  const auto is_module = [&](uint32_t module) {
    return module < data.modules.size() || module == kNoModule;
  };
  const bool are_right =
      AreBelow(data.sources.size(), recording.sources) &&
      AreBelow(data.threads.size(), recording.threads) &&
      std::all_of(recording.branches.begin(), recording.branches.end(), [&](const auto& branch) {
        return is_module(branch.from_module) && is_module(branch.to_module);
      });
  if (are_right) return OkStatus();
  return MakeStatus(StatusCode::kBadFormat,
                    "a burst refers to a source, thread or module that is not in the file");
}

}  // namespace

std::vector<uint8_t> SerializeKeptBursts(const KeptBursts& bursts, CancelCheck* check) {
  CancelCheck unchecked(nullptr);
  if (check == nullptr) check = &unchecked;
  SectionWriter writer;
  writer.Reserve(SerializedSize(bursts));
  writer.Put(KeptBurstTotals{bursts.not_kept, bursts.number()});
  writer.Put<uint64_t>(bursts.recordings.size());
  for (const RecordedBursts& recording : bursts.recordings) {
    writer.Put(recording.number);
    PutAll(recording.sources, check, &writer);
    PutAll(recording.threads, check, &writer);
    PutAll(recording.branches, check, &writer);
    writer.PutBytes(recording.bytes);
  }
  const bool has_accesses = std::ranges::any_of(
      bursts.recordings, [](const RecordedBursts& of) { return !of.access_bytes.empty(); });
  const bool has_kinds = std::ranges::any_of(
      bursts.recordings, [](const RecordedBursts& of) { return of.kinds != 0; });
  if (has_accesses || has_kinds) {
    for (const RecordedBursts& recording : bursts.recordings) {
      writer.PutBytes(recording.access_bytes);
    }
  }
  if (has_kinds) {
    for (const RecordedBursts& recording : bursts.recordings) {
      writer.Put<uint64_t>(recording.kinds);
      writer.PutBytes(recording.value_bytes);
    }
  }
  return writer.Take();
}

Status NoKeptBursts(const KeptBursts& bursts) {
  if (bursts.not_kept == 0) {
    return MakeStatus(StatusCode::kNotFound,
                      "the profile has no whole bursts or branch stacks; record it, or import it, "
                      "with --keep-bursts 64M (kept_burst_bytes)");
  }
  return MakeStatus(StatusCode::kNotFound,
                    "the profile has no whole bursts: there was no room for any of %llu; record "
                    "it, or import it, with more than --keep-bursts 64M (kept_burst_bytes)",
                    static_cast<unsigned long long>(bursts.not_kept));
}

StatusOr<KeptBursts> ParseKeptBursts(const ProfileData& data) {
  KeptBursts bursts;
  if (data.kept_bursts.empty()) return bursts;
  SectionReader reader(data.kept_bursts, "bursts");
  bursts.not_kept = reader.Get<KeptBurstTotals>().not_kept;
  bursts.recordings.resize(reader.GetCount(5 * sizeof(uint64_t)));
  for (RecordedBursts& recording : bursts.recordings) {
    recording.number = reader.Get<uint64_t>();
    GetAll(&reader, &recording.sources);
    GetAll(&reader, &recording.threads);
    GetAll(&reader, &recording.branches);
    recording.bytes = reader.GetBytes();
    HBBP_RETURN_IF_ERROR(CheckIndices(recording, data));
  }
  if (reader.remaining() != 0) {
    for (RecordedBursts& recording : bursts.recordings) recording.access_bytes = reader.GetBytes();
  }
  if (reader.remaining() != 0) {
    for (RecordedBursts& recording : bursts.recordings) {
      recording.kinds = static_cast<RecordedKinds>(reader.Get<uint64_t>());
      recording.value_bytes = reader.GetBytes();
    }
  }
  HBBP_RETURN_IF_ERROR(reader.status());
  return bursts;
}

}  // namespace hbbp
