#include "collect/recorder.h"

#include <elf.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/files.h"
#include "base/linux_constants.h"
#include "collect/module_capture.h"
#include "image/process_maps.h"
#include "image/process_memory.h"
#include "perf_data/jit_dump.h"

namespace hbbp {
namespace {

// That a look at copied pages may add.
constexpr uint64_t kPagesAhead = 3;
constexpr size_t kMaxNamesAhead = 1024;
constexpr size_t kMaxIgnoredThreads = 64;

bool IsFilePath(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("//");
}

// JITs map shared memory twice, to write and to run, which the kernel tells of as of files. A
// library may be in such memory, too.
bool IsSharedMemory(pid_t pid, const MappingEvent& mapping) {
  if (mapping.path == "/dev/zero" || mapping.path.starts_with("/anon_hugepage")) return true;
  if (!mapping.path.starts_with("/memfd:")) return false;
  std::array<uint8_t, SELFMAG> magic = {};
  const RuntimeAddress header = mapping.start - mapping.offset.value;
  return ReadProcessMemory(pid, header, magic) != SELFMAG ||
         std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0;
}

std::string ThreadNameNow(pid_t pid, uint32_t tid) {
  const std::string process = pid == 0 ? "self" : std::to_string(pid);
  StatusOr<std::string> name =
      ReadTextFile("/proc/" + process + "/task/" + std::to_string(tid) + "/comm", 4096);
  if (!name.ok()) return "";
  if (name->ends_with('\n')) name->pop_back();
  return *std::move(name);
}

}  // namespace

Recorder::Recorder(pid_t pid, uint64_t slice_ns, CountedMemory* memory)
    : pid_(pid),
      slice_ns_(slice_ns),
      own_memory_(memory == nullptr ? std::make_unique<CountedMemory>() : nullptr),
      memory_(memory != nullptr ? memory : own_memory_.get()),
      given_memory_(memory),
      charge_(memory_),
      page_charge_(memory_),
      slice_clock_(slice_ns),
      names_ahead_(memory_),
      copied_pages_(pid),
      ip_table_(memory_),
      waiting_(memory_),
      bursts_(memory_),
      table_(memory_),
      branches_(memory_) {}

// Ahead of its use, and kept until then: what is known already takes none.
void Recorder::ChargeNextInterval() {
  if (next_interval_is_charged_) return;
  charge_.Add(kIntervalBytes);
  next_interval_is_charged_ = true;
}

// Counts one sample. Compacting once may make room.
template <typename Body>
void Recorder::CountOrDrop(Body&& count) {
  if (HasMemoryFor(count)) return;
  if (!has_compacted_) {
    has_compacted_ = true;
    Compact();
    (void)WidenSlices();
    if (HasMemoryFor(count)) return;
  }
  ++dropped_.samples;
}

void Recorder::Compact() {
  // Without memory to fold into, the table stays as it is.
  if (HasMemoryFor([this] { FoldBranches(); })) table_.Release();
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
  HasMemoryFor([this] { branches_.shrink_to_fit(); });
  if (waiting_.empty()) waiting_.shrink_to_fit();
  if (bursts_.size() == 0) bursts_.Shrink();
}

bool Recorder::WidenSlices() {
  const bool widens = slice_clock_.Widen([this] { JoinSlices(); });
  has_widened_slices_ |= widens;
  return widens;
}

std::vector<uint32_t> Recorder::AddSources(std::vector<SourceRecord> sources) {
  current_sources_.clear();
  for (SourceRecord& source : sources) current_sources_.push_back(IndexOf(std::move(source)));
  return current_sources_;
}

uint32_t Recorder::IndexOf(SourceRecord source) {
  for (uint32_t i = 0; i < data_.sources.size(); ++i) {
    SourceRecord& known = data_.sources[i];
    if (known.kind == source.kind && known.event == source.event &&
        known.event_name == source.event_name && known.period == source.period &&
        known.frequency_hz == source.frequency_hz && known.period_mode == source.period_mode &&
        known.include_kernel == source.include_kernel &&
        known.burst_extent == source.burst_extent) {
      source_states_[i].finished_runs = known.trace;
      return i;
    }
  }
  source_states_.reserve(data_.sources.size() + 1);  // both lists or none
  data_.sources.push_back(std::move(source));
  source_states_.emplace_back();
  return static_cast<uint32_t>(data_.sources.size() - 1);
}

Status Recorder::AddCurrentMappings(uint64_t time_ns) {
  HBBP_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadProcessMaps(pid_));
  const Mapping* header = nullptr;
  for (const Mapping& mapping : mappings) {
    if (mapping.IsFile() && mapping.offset.value == 0) header = &mapping;
    if (!mapping.executable) continue;
    MappingEvent event;
    event.start = mapping.start;
    event.end = mapping.end;
    event.offset = mapping.offset;
    event.device = makedev(mapping.device_major, mapping.device_minor);
    event.inode = mapping.inode;
    event.path = mapping.path;
    event.time_ns = time_ns;
    OnMapping(event);
    // Elsewhere than OnMapping takes them to be.
    const bool is_unusual = header != nullptr &&
                            header->start != event.start - event.offset.value &&
                            header->inode == mapping.inode && header->path == mapping.path;
    if (is_unusual) module_states_[ModuleFor(event)].header = header->start;
  }
  return OkStatus();
}

void Recorder::OnMapping(MappingEvent mapping) {
  if (!HasMemoryFor([&] { AddMapping(std::move(mapping)); })) ++dropped_.mappings;
}

void Recorder::AddMapping(MappingEvent mapping) {
  mapping.path.resize(WithoutDeletedSuffix(mapping.path).size());
  const uint32_t module = ModuleFor(mapping);
  FileOffset offset = mapping.offset;
  switch (data_.modules[module].kind) {
    case ModuleKind::kFile:
      // The headers are mapped below the code, at the distance that they have in the file, in
      // every usual layout; identification checks that they are there.
      if (mapping.start.value >= offset.value) {
        module_states_[module].header = mapping.start - offset.value;
      }
      break;
    case ModuleKind::kVdso:
      module_states_[module].header = mapping.start;
      offset = FileOffset{0};
      break;
    default:
      offset = FileOffset{mapping.start.value};
      break;
  }
  if (IsJitDumpPath(mapping.path) &&
      std::find(jit_dumps_.begin(), jit_dumps_.end(), mapping.path) == jit_dumps_.end()) {
    jit_dumps_.push_back(mapping.path);
  }
  std::function<bool(const AddressSpace::Placement&)> stays;
  if (data_.modules[module].kind == ModuleKind::kAnonymous) {
    // The kernel tells of memory whose protection changes, which is still the code that it was.
    stays = [this](const AddressSpace::Placement& known) {
      return data_.modules[known.module].kind == ModuleKind::kAnonymous;
    };
  }
  Place(mapping, {module, mapping.start, offset}, stays);
}

void Recorder::Place(const MappingEvent& mapping, const AddressSpace::Placement& placement,
                     const std::function<bool(const AddressSpace::Placement&)>& stays) {
  if (address_space_.IsOtherwiseMapped(mapping.start, mapping.end, placement, stays)) {
    NoteReplacement(mapping.time_ns);
  }
  ChargeNextInterval();
  const size_t added =
      address_space_.Add(mapping.start, mapping.end, mapping.time_ns, placement, stays);
  if (added != 0) next_interval_is_charged_ = false;
}

bool Recorder::AddCode(RuntimeAddress address, std::span<const uint8_t> bytes,
                       const std::string& name, uint64_t time_ns) {
  const auto pid = static_cast<uint32_t>(pid_ != 0 ? pid_ : ::getpid());
  ChargeNextInterval();                             // so that what is kept has its place as well
  module_states_.resize(data_.modules.size() + 1);  // one for each module, whatever is thrown
  uint64_t charged = 0;
  std::optional<uint32_t> module;
  try {
    module = generated_code_.Add(pid, address.value, bytes, name, {}, &data_.modules, [&] {
      charge_.Add(kModuleBytes + bytes.size());
      charged = kModuleBytes + bytes.size();
    });
  } catch (...) {
    charge_.Subtract(charged);
    throw;
  }
  if (module) module_states_[*module].has_given_code = true;
  MappingEvent mapping;
  mapping.start = address;
  mapping.end = address + bytes.size();
  mapping.time_ns = time_ns;
  // What was there before must not have the samples of code that is not kept.
  const uint32_t placed = module ? *module : GeneratedModule(0);
  Place(mapping, {placed, address, FileOffset{address.value}}, {});
  return module.has_value();
}

void Recorder::OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) {
  const auto known = threads_.find({pid, tid});
  if (known != threads_.end()) {
    data_.threads[known->second].name = name;
  } else {
    SetNameAhead(tid, name);
  }
}

void Recorder::NoteThread(uint32_t tid) {
  const auto pid = static_cast<uint32_t>(pid_ != 0 ? pid_ : ::getpid());
  if (names_ahead_.contains(tid) || threads_.contains({pid, tid}) || IsIgnored(tid)) return;
  SetNameAhead(tid, ThreadNameNow(pid_, tid));
}

// Low numbers are of old threads. One without a name here has the name that it has at its first
// sample, if it still runs then.
void Recorder::SetNameAhead(uint32_t tid, const std::string& name) {
  HasMemoryFor([&] {
    const auto known = names_ahead_.find(tid);
    if (known == names_ahead_.end() && names_ahead_.size() == kMaxNamesAhead) {
      names_ahead_.erase(names_ahead_.begin());
    }
    names_ahead_[tid] = name;
  });
}

void Recorder::IgnoreThread(uint32_t tid) {
  if (IsIgnored(tid)) return;
  if (ignored_threads_.size() == kMaxIgnoredThreads) {
    ignored_threads_.erase(ignored_threads_.begin());
  }
  ignored_threads_.push_back(tid);
  names_ahead_.erase(tid);
}

bool Recorder::IsIgnored(uint32_t tid) const {
  return std::find(ignored_threads_.begin(), ignored_threads_.end(), tid) != ignored_threads_.end();
}

uint32_t Recorder::AddModule(ModuleRecord record) {
  module_states_.resize(data_.modules.size() + 1);
  data_.modules.push_back(std::move(record));
  return static_cast<uint32_t>(data_.modules.size() - 1);
}

uint32_t Recorder::ModuleFor(const MappingEvent& mapping) {
  if (mapping.path == "[vdso]") return SpecialModule(ModuleKind::kVdso, "[vdso]");
  if (!IsFilePath(mapping.path) || IsSharedMemory(pid_, mapping)) return GeneratedModule(0);
  const auto key = std::tuple(mapping.path, mapping.device, mapping.inode, mapping.build_id);
  auto known = modules_.find(key);
  if (known != modules_.end()) return known->second;
  charge_.Add(kModuleBytes + 3 * mapping.path.size());
  ModuleRecord record;
  record.kind = ModuleKind::kFile;
  record.path = mapping.path;
  record.build_id = mapping.build_id;
  record.device = mapping.device;
  record.inode = mapping.inode;
  const uint32_t index = AddModule(std::move(record));
  modules_.emplace(key, index);
  return index;
}

uint32_t Recorder::SpecialModule(ModuleKind kind, const std::string& path) {
  const auto key = std::tuple(path, uint64_t{0}, uint64_t{0}, std::vector<uint8_t>());
  const auto known = modules_.find(key);
  if (known != modules_.end()) return known->second;
  ModuleRecord record;
  record.kind = kind;
  record.path = path;
  if (kind == ModuleKind::kKernel) {
    record.kernel = DescribeRunningKernel();
    record.build_id = RunningKernelBuildId();
  }
  const uint32_t index = AddModule(std::move(record));
  modules_.emplace(key, index);
  return index;
}

uint32_t Recorder::ThreadFor(uint32_t pid, uint32_t tid) {
  const auto known = threads_.find({pid, tid});
  if (known != threads_.end()) return known->second;
  charge_.Add(kThreadBytes);
  const auto index = static_cast<uint32_t>(data_.threads.size());
  const auto name = names_ahead_.find(tid);
  const bool has_name = name != names_ahead_.end();
  data_.threads.push_back(
      {pid, tid, has_name ? std::string(name->second) : ThreadNameNow(pid_, tid)});
  threads_.emplace(std::pair(pid, tid), index);
  if (has_name) names_ahead_.erase(name);
  return index;
}

void Recorder::Settle(uint64_t complete_ns) {
  copied_pages_.BeginRound();
  has_compacted_ = false;
  size_t kept = 0;
  for (const IpSample& sample : waiting_) {
    if (sample.time_ns > complete_ns) {
      waiting_[kept++] = sample;
    } else if (!IsIgnored(sample.tid)) {
      CountOrDrop([&] { Count(sample); });
    }
  }
  waiting_.resize(kept);
  bursts_.TakeUpTo(complete_ns,
                   [this](const BurstSample& burst) { CountOrDrop([&] { CountBurst(burst); }); });
  BoundSlices();
}

uint32_t Recorder::FindSlice(uint64_t time_ns) {
  return slice_clock_.SliceAt(time_ns, [this] { JoinSlices(); });
}

// Branches behind those that are sorted may be the same ones again.
void Recorder::BoundSlices() {
  slice_clock_.Bound(
      ip_table_.bytes() + sorted_branches_ * sizeof(BranchCount),
      [this] {
        const auto sorted = std::span<const BranchCount>(branches_).first(sorted_branches_);
        return ip_table_.BytesWithoutSlices() + CountWithoutSlices(sorted) * sizeof(BranchCount);
      },
      [this] { JoinSlices(); });
}

void Recorder::JoinSlices() {
  table_slice_ = HalfOf(table_slice_);
  for (BranchCount& branch : branches_) branch.slice = HalfOf(branch.slice);
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
  ip_table_.JoinSlices();
  table_start_ns_ = table_end_ns_ = 0;
}

void Recorder::Count(const IpSample& sample) {
  const uint32_t source = current_sources_[sample.source];
  uint32_t module;
  uint64_t offset;
  if (sample.in_kernel) {
    module = KernelModule();
    offset = sample.ip.value;
  } else {
    auto placement = address_space_.Find(sample.ip, sample.time_ns);
    if (!placement) {
      ++samples_;
      ++data_.sources[source].unmapped;
      return;
    }
    if (CaptureCode(placement->module, sample.ip, sample.time_ns)) {
      placement = address_space_.Find(sample.ip, sample.time_ns);
    }
    module = placement->module;
    offset = placement->OffsetOf(sample.ip).value;
  }
  ip_table_.Count({source, ThreadFor(sample.pid, sample.tid), module, SliceAt(sample.time_ns),
                   offset, sample.position},
                  sample.period);
  ++samples_;
}

bool Recorder::CaptureCode(uint32_t module, RuntimeAddress address, uint64_t time_ns) {
  if (data_.modules[module].kind != ModuleKind::kAnonymous) {
    if (!module_states_[module].identified) Identify(module);
    return false;
  }
  if (module_states_[module].has_given_code) return false;
  has_generated_code_ = true;
  page_charge_.GrowTo(copied_pages_.bytes() + kPagesAhead * kPageBytes);
  // A generation that was begun is not told of again: there must be room for where it is.
  ChargeNextInterval();
  const std::optional<CopiedPages::Generation> begun = copied_pages_.Look(address);
  if (!begun) return false;
  MappingEvent mapping;
  mapping.start = begun->start;
  mapping.end = begun->end;
  mapping.time_ns = time_ns;
  const uint32_t newer = GeneratedModule(begun->number);
  Place(mapping, {newer, begun->start, FileOffset{begun->start.value}},
        [this](const AddressSpace::Placement& known) {
          return data_.modules[known.module].kind != ModuleKind::kAnonymous ||
                 module_states_[known.module].has_given_code;
        });
  return true;
}

uint32_t Recorder::GeneratedModule(uint32_t generation) {
  if (generation == 0) return SpecialModule(ModuleKind::kAnonymous, "[anonymous]");
  return SpecialModule(ModuleKind::kAnonymous,
                       "[anonymous, generation " + std::to_string(generation + 1) + "]");
}

void Recorder::Identify(uint32_t module) {
  module_states_[module].identified = true;
  ModuleRecord& record = data_.modules[module];
  if (record.kind == ModuleKind::kVdso) {
    CopyMapping(pid_, module_states_[module].header, &record);
  } else {
    PinOrCopyModule(pid_, module_states_[module].header, &record);
  }
}

ProfileData Recorder::Snapshot(CancelCheck* check) {
  AppendTable(check);
  ProfileData snapshot = data_;
  CopyInSteps(branches_, check, &snapshot.branches);
  Normalize(&snapshot.branches, check);
  if (sorted_branches_ != branches_.size()) {
    branches_.assign(snapshot.branches.begin(), snapshot.branches.end());
    sorted_branches_ = branches_.size();
  }
  for (const CopiedPages::Copy& copy : copied_pages_.Copies()) {
    std::vector<CodeChunk>& chunks = snapshot.modules[GeneratedModule(copy.generation)].chunks;
    chunks.push_back({copy.address, *copy.bytes});
  }
  snapshot.slices = slice_clock_.slices();
  for (size_t i = 0; i < snapshot.sources.size(); ++i) {
    TraceStatistics own;
    AddCounter("worker-bursts", source_states_[i].worker_bursts, &own.counters);
    AddCounter("short-bursts", source_states_[i].short_bursts, &own.counters);
    AddTraceStatistics(own, &snapshot.sources[i].trace);
  }
  ip_table_.AppendTo(&snapshot.counts, check);
  Normalize(&snapshot.counts, check);
  for (ModuleRecord& module : snapshot.modules) {
    std::sort(module.chunks.begin(), module.chunks.end(),
              [](const CodeChunk& a, const CodeChunk& b) { return a.offset < b.offset; });
  }
  return snapshot;
}

void Recorder::Clear() {
  const pid_t pid = pid_;
  const uint64_t slice_ns = slice_ns_;
  CountedMemory* const memory = given_memory_;
  this->~Recorder();
  new (this) Recorder(pid, slice_ns, memory);
}

}  // namespace hbbp
