// The Aggregator calls AddAccess with each op that accessed memory. It finds the block, in
// DataBlocks, or else the module (FindInModules), and adds the access to an AccessTable. CopyTo,
// for snapshots, exchanges the numbers of blocks for those of names in the profile.
#include "collect/data_attribution.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/linux_constants.h"
#include "base/unique_fd.h"
#include "image/build_id.h"
#include "image/program_headers.h"

namespace hbbp {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kLineBytes = 64;

// Files of compilers have some four. A file may have 65,535, which all are kept.
constexpr size_t kMaxSegments = 64;

std::vector<Elf64_Phdr> SegmentsOfFd(int fd, const ModuleRecord& module) {
  if (!module.build_id.empty() && !SameBuildId(ReadBuildIdOfFd(fd), module.build_id)) return {};
  std::vector<Elf64_Phdr> segments = ReadProgramHeaders(ReaderOfFd(fd));
  std::erase_if(segments, [](const Elf64_Phdr& segment) { return segment.p_type != PT_LOAD; });
  segments.resize(std::min(segments.size(), kMaxSegments));
  segments.shrink_to_fit();
  return segments;
}

// The program may have closed all descriptors, and have another file there.
bool IsStillPinned(const ModuleRecord& module) {
  struct stat status;
  return module.pinned_file != nullptr && ::fstat(module.pinned_file->get(), &status) == 0 &&
         S_ISREG(status.st_mode) && status.st_ino == module.inode && status.st_dev == module.device;
}

// Returns none of a file that is not there, or is another one.
std::vector<Elf64_Phdr> ReadSegments(const ModuleRecord& module) {
  if (IsStillPinned(module)) return SegmentsOfFd(module.pinned_file->get(), module);
  const UniqueFd fd = OpenRegularFile(LocalPath(module));
  if (!fd.valid()) return {};
  return SegmentsOfFd(fd.get(), module);
}

// Returns the address in the file of an offset that executable memory was mapped from. Whole pages
// are mapped, so that the mapping of a segment may start before it.
std::optional<ModuleAddress> AddressOfCode(const std::vector<Elf64_Phdr>& segments,
                                           FileOffset offset) {
  for (const Elf64_Phdr& segment : segments) {
    if ((segment.p_flags & PF_X) == 0) continue;
    const uint64_t first = segment.p_offset / kPageBytes * kPageBytes;
    const uint64_t end = segment.p_offset + segment.p_filesz;
    if (first <= offset.value && offset.value < end) {
      return ModuleAddress{segment.p_vaddr - segment.p_offset + offset.value};
    }
  }
  return std::nullopt;
}

bool IsLoaded(const std::vector<Elf64_Phdr>& segments, ModuleAddress address) {
  return std::any_of(segments.begin(), segments.end(), [address](const Elf64_Phdr& segment) {
    return address.value >= segment.p_vaddr && address.value - segment.p_vaddr < segment.p_memsz;
  });
}

}  // namespace

bool CoarserData::Coarsen(IbsAccesses* range) {
  if (range->module == kNoModule || range->bytes >= kPageBytes) return false;
  range->bytes = range->bytes < kWordBytes   ? kWordBytes
                 : range->bytes < kLineBytes ? kLineBytes
                                             : kPageBytes;
  range->address = range->address / range->bytes * range->bytes;
  return true;
}

DataAttribution::State::State(CountedMemory* memory, const Limits& limits)
    : blocks(memory, limits.blocks), accesses(limits.ranges), charge(memory) {}

DataAttribution::DataAttribution(CountedMemory* memory, const Limits& limits)
    : memory_(memory), limits_(limits) {
  Clear();
}

bool DataAttribution::AddBlock(const DataEvent& data) {
  if (!has_rounds_) state_->blocks.SetSettled(data.time_ns);
  return state_->blocks.Add(data);
}

void DataAttribution::DropBlocks(uint32_t pid) {
  if (has_rounds_) {
    state_->blocks.Retire(pid);
  } else {
    state_->blocks.Drop(pid);
  }
}

void DataAttribution::EndRound(uint64_t complete_ns) {
  state_->blocks.SetSettled(complete_ns);
  state_->blocks.DropRetired(complete_ns);
}

void DataAttribution::OnFork(const ForkEvent& fork) {
  if (!fork.has_own_mappings) state_->blocks.Share(fork.parent_pid, fork.pid);
}

void DataAttribution::AddAccess(Locator* locator, const IpSample& sample, uint32_t thread,
                                const IbsOp& op) {
  State& state = *state_;
  if (!has_rounds_) state.blocks.SetSettled(sample.time_ns);
  const bool has_memory = HasMemoryFor([&] {
    const RuntimeAddress address{op.linear_address};
    IbsAccesses range;
    range.source = sample.source;
    range.thread = thread;
    if (const auto block = state.blocks.Find(sample.pid, address, sample.time_ns)) {
      range.name = *block;
    } else if (const auto found = FindInModules(locator, sample, address)) {
      range.module = found->module;
      range.address = found->address.value;
      range.bytes = 1;
    }
    state.charge.GrowTo(state.accesses.BytesWithOneMore());
    state.accesses.Add(MakeAccesses(op, range));
  });
  if (!has_memory) ++state.without_memory[sample.source];
}

// Most modules have their data above their code, but some linkers put constants below it.
std::optional<DataAttribution::DataAddress> DataAttribution::FindInModules(Locator* locator,
                                                                           const IpSample& sample,
                                                                           RuntimeAddress address) {
  if (IsKernelAddress(address)) return std::nullopt;
  const AddressSpace& space = locator->SpaceOf(sample.pid);
  for (const auto& code :
       {space.FindAtOrBelow(address, sample.time_ns), space.FindAbove(address, sample.time_ns)}) {
    if (!code) continue;
    const std::optional<ModuleAddress> found = FindInModule(locator, sample, *code, address);
    if (found) return DataAddress{code->module, *found};
  }
  return std::nullopt;
}

std::optional<ModuleAddress> DataAttribution::FindInModule(Locator* locator, const IpSample& sample,
                                                           const AddressSpace::Placement& code,
                                                           RuntimeAddress address) {
  if (locator->module(code.module).kind != ModuleKind::kFile) return std::nullopt;
  const std::vector<Elf64_Phdr>& segments = FindSegments(locator, sample, code);
  const std::optional<ModuleAddress> start = AddressOfCode(segments, code.offset);
  if (!start) return std::nullopt;
  const ModuleAddress found = *start + (address - code.start);  // modulo 2^64
  return IsLoaded(segments, found) ? std::optional(found) : std::nullopt;
}

const std::vector<Elf64_Phdr>& DataAttribution::FindSegments(Locator* locator,
                                                             const IpSample& sample,
                                                             const AddressSpace::Placement& code) {
  const auto known = state_->segments.find(code.module);
  if (known != state_->segments.end()) return known->second;
  // Which file a module is, a locator finds out when a location in it is looked up.
  (void)locator->FindLocation(sample.pid, code.start, sample.time_ns);
  return state_->segments.emplace(code.module, ReadSegments(locator->module(code.module)))
      .first->second;
}

void DataAttribution::AppendLosses(uint32_t source, Counters* counters) const {
  const auto found = state_->without_memory.find(source);
  const uint64_t without_memory = found == state_->without_memory.end() ? 0 : found->second;
  AddCounter("ibs-data-dropped", state_->accesses.dropped(source) + without_memory, counters);
  // Blocks are of no source in particular.
  if (source == 0) AddCounter("data-blocks-refused", state_->blocks.refused(), counters);
}

void DataAttribution::CopyTo(ProfileData* data, CancelCheck* check) const {
  state_->accesses.AppendTo(&data->ibs_data);
  std::vector<std::string>& names = data->ibs_names;
  std::map<std::string, uint32_t> numbers;  // of names in the profile
  for (const std::string& name : names) {
    numbers.emplace(name, static_cast<uint32_t>(numbers.size()));
  }
  for (IbsAccesses& accesses : data->ibs_data) {
    if (accesses.name == kNoIbsName) continue;
    const std::string& name = state_->blocks.name(accesses.name);
    const auto [known, is_new] = numbers.emplace(name, static_cast<uint32_t>(names.size()));
    if (is_new) names.push_back(name);
    accesses.name = known->second;
  }
  Normalize(&data->ibs_data, check);
}

void KeepData(KeptDetail* detail) {
  detail->new_data_keeper = [](CountedMemory* memory) -> std::unique_ptr<DataKeeper> {
    return std::make_unique<DataAttribution>(memory);
  };
}

}  // namespace hbbp
