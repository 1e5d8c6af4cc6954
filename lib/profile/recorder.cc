#include "profile/recorder.h"

#include <sys/sysmacros.h>

#include <algorithm>

#include "base/files.h"
#include "image/process_maps.h"
#include "profile/module_capture.h"

namespace hbbp {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr std::string_view kDeleted = " (deleted)";

bool IsFilePath(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("//");
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
        known.include_kernel == source.include_kernel) {
      source_states_[i].finished_runs = known.trace;
      return i;
    }
  }
  data_.sources.push_back(std::move(source));
  source_states_.emplace_back();
  return static_cast<uint32_t>(data_.sources.size() - 1);
}

void Recorder::AddCurrentMappings(uint64_t time_ns) {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (!mappings.ok()) return;
  RuntimeAddress header;
  std::pair<uint64_t, std::string> header_file;
  for (const Mapping& mapping : *mappings) {
    if (mapping.IsFile() && mapping.offset.value == 0) {
      header = mapping.start;
      header_file = {mapping.inode, mapping.path};
    }
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
    if (header_file == std::pair(mapping.inode, mapping.path)) {
      module_states_[ModuleFor(event)].header = header;
    }
  }
}

void Recorder::OnMapping(MappingEvent mapping) {
  if (mapping.path.ends_with(kDeleted)) {
    mapping.path.resize(mapping.path.size() - kDeleted.size());
  }
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
  const AddressSpace::Placement placement = {module, mapping.start, offset};
  if (address_space_.IsOtherwiseMapped(mapping.start, mapping.end, placement)) {
    NoteReplacement(mapping.time_ns);
  }
  address_space_.Add(mapping.start, mapping.end, mapping.time_ns, placement);
}

void Recorder::OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) {
  thread_names_[tid] = name;
  auto known = threads_.find({pid, tid});
  if (known != threads_.end()) data_.threads[known->second].name = name;
}

uint32_t Recorder::ModuleFor(const MappingEvent& mapping) {
  if (mapping.path == "[vdso]") return SpecialModule(ModuleKind::kVdso, "[vdso]");
  if (!IsFilePath(mapping.path)) return SpecialModule(ModuleKind::kAnonymous, "[anonymous]");
  const auto key = std::tuple(mapping.path, mapping.device, mapping.inode, mapping.build_id);
  auto known = modules_.find(key);
  if (known != modules_.end()) return known->second;
  const auto index = static_cast<uint32_t>(data_.modules.size());
  ModuleRecord record;
  record.kind = ModuleKind::kFile;
  record.path = mapping.path;
  record.build_id = mapping.build_id;
  record.device = mapping.device;
  record.inode = mapping.inode;
  data_.modules.push_back(std::move(record));
  module_states_.push_back({});
  modules_.emplace(key, index);
  return index;
}

uint32_t Recorder::SpecialModule(ModuleKind kind, const std::string& path) {
  const auto key = std::tuple(path, uint64_t{0}, uint64_t{0}, std::vector<uint8_t>());
  auto [place, added] = modules_.emplace(key, static_cast<uint32_t>(data_.modules.size()));
  if (added) {
    ModuleRecord record;
    record.kind = kind;
    record.path = path;
    if (kind == ModuleKind::kKernel) {
      record.kernel = DescribeRunningKernel();
      record.build_id = RunningKernelBuildId();
    }
    data_.modules.push_back(std::move(record));
    module_states_.push_back({});
  }
  return place->second;
}

uint32_t Recorder::ThreadFor(uint32_t pid, uint32_t tid) {
  auto [place, added] =
      threads_.emplace(std::pair(pid, tid), static_cast<uint32_t>(data_.threads.size()));
  if (added) {
    auto name = thread_names_.find(tid);
    data_.threads.push_back(
        {pid, tid, name != thread_names_.end() ? name->second : ThreadNameNow(pid_, tid)});
  }
  return place->second;
}

void Recorder::Settle(uint64_t complete_ns) {
  size_t kept = 0;
  for (const IpSample& sample : waiting_) {
    if (sample.time_ns > complete_ns) {
      waiting_[kept++] = sample;
    } else if (!ignored_threads_.contains(sample.tid)) {
      Count(sample);
    }
  }
  waiting_.resize(kept);
  bursts_.TakeUpTo(complete_ns, [this](const BurstSample& burst) { CountBurst(burst); });
  slice_clock_.Bound(ip_table_.size() + data_.branches.size(), [this] { JoinSlices(); });
}

uint32_t Recorder::FindSlice(uint64_t time_ns) {
  return slice_clock_.SliceAt(time_ns, [this] { JoinSlices(); });
}

void Recorder::JoinSlices() {
  FoldBranches();
  for (BranchCount& branch : data_.branches) branch.slice = HalfOf(branch.slice);
  Normalize(&data_.branches);
  sorted_branches_ = data_.branches.size();
  ip_table_.JoinSlices();
  table_start_ns_ = table_end_ns_ = 0;
}

void Recorder::Count(const IpSample& sample) {
  ++samples_;
  const uint32_t source = current_sources_[sample.source];
  uint32_t module;
  uint64_t offset;
  if (sample.in_kernel) {
    module = KernelModule();
    offset = sample.ip.value;
  } else {
    auto placement = address_space_.Find(sample.ip, sample.time_ns);
    if (!placement) {
      ++data_.sources[source].unmapped;
      return;
    }
    module = placement->module;
    offset = placement->OffsetOf(sample.ip).value;
    CaptureCode(module, sample.ip);
  }
  ip_table_.Count({source, ThreadFor(sample.pid, sample.tid), module, SliceAt(sample.time_ns),
                   offset, sample.position},
                  sample.period);
}

void Recorder::CaptureCode(uint32_t module, RuntimeAddress address) {
  if (data_.modules[module].kind == ModuleKind::kAnonymous) {
    CaptureAround(module, address);
  } else if (!module_states_[module].identified) {
    Identify(module);
  }
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

void Recorder::CaptureAround(uint32_t module, RuntimeAddress address) {
  const uint64_t page = address.value / kPageBytes;
  for (uint64_t neighbour : {page - 1, page, page + 1}) {
    if (captured_pages_.insert(neighbour).second) {
      CopyPage(pid_, RuntimeAddress{neighbour * kPageBytes}, &data_.modules[module]);
    }
  }
}

ProfileData Recorder::Snapshot() {
  FoldBranches();
  Normalize(&data_.branches);
  sorted_branches_ = data_.branches.size();
  ProfileData snapshot = data_;
  snapshot.slices = slice_clock_.slices();
  for (size_t i = 0; i < snapshot.sources.size(); ++i) {
    TraceStatistics own;
    AddCounter("worker-bursts", source_states_[i].worker_bursts, &own.counters);
    AddCounter("short-bursts", source_states_[i].short_bursts, &own.counters);
    AddTraceStatistics(own, &snapshot.sources[i].trace);
  }
  ip_table_.AppendTo(&snapshot.counts);
  Normalize(&snapshot.counts);
  for (ModuleRecord& module : snapshot.modules) {
    std::sort(module.chunks.begin(), module.chunks.end(),
              [](const CodeChunk& a, const CodeChunk& b) { return a.offset < b.offset; });
  }
  return snapshot;
}

void Recorder::Clear() { *this = Recorder(pid_, slice_ns_); }

}  // namespace hbbp
