#include "collect/importer.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "base/linux_constants.h"
#include "collect/branch_count_of.h"
#include "image/build_id.h"

namespace hbbp {
namespace {

constexpr size_t kFoundLately = 4096;  // a power of two
// More than the processes of any machine have; some hundred megabytes.
constexpr uint64_t kMostIntervals = 4'000'000;
// Sorting waits until so many branches, or half of what is sorted, came behind those.
constexpr size_t kFewBranches = 65536;

// A place is a module and an offset in one word, so that branches of all processes are counted in
// one table: 16 bits for the module, 0 for none, and 48 for the offset, or for the run-time address
// of what has no offset.
constexpr unsigned kOffsetBits = 48;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;
constexpr uint64_t kMostModules = (uint64_t{1} << (64 - kOffsetBits)) - 1;
constexpr uint32_t kKernelModule = 0;

constexpr uint64_t Place(uint32_t module, uint64_t offset) {
  return (uint64_t{module} + 1) << kOffsetBits | (offset & kOffsetMask);
}
constexpr uint64_t PlaceOfNoModule(uint64_t address) { return address & kOffsetMask; }

constexpr CodeLocation LocationOf(uint64_t place) {
  const uint64_t module = place >> kOffsetBits;
  const uint64_t offset = place & kOffsetMask;
  if (module == 0) return {kNoModule, offset};
  const bool is_kernel = module - 1 == kKernelModule;
  return {static_cast<uint32_t>(module - 1), is_kernel ? offset | ~kOffsetMask : offset};
}

// What the kernel calls memory that is not of a file; doublemapper is where .NET generates code.
bool IsNoFile(std::string_view path) {
  return path.starts_with("//") || path == "/anon_hugepage" || path == "/dev/zero" ||
         path == "/memfd:doublemapper";
}

ModuleKind KindOf(uint32_t pid, const std::string& path) {
  if (pid == Importer::kKernelPid) return ModuleKind::kKernel;
  if (path == "[vdso]") return ModuleKind::kVdso;
  const bool is_file = path.starts_with('/') && !IsNoFile(path);
  return is_file ? ModuleKind::kFile : ModuleKind::kAnonymous;
}

template <typename Branches>
void AppendBranches(const BranchTable& table, uint32_t source, uint32_t slice, CancelCheck* check,
                    Branches* branches) {
  for (const BranchTable::Entry& entry : table.entries()) {
    if (check != nullptr) check->Step();
    branches->push_back(BranchCountOf(entry, source, LocationOf));
    branches->back().slice = slice;
  }
}

uint64_t ShareOf(const CountedMemory& memory, double share) {
  return static_cast<uint64_t>(share * static_cast<double>(memory.most()));
}

std::string LastPartOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Importer::Importer(ImportOptions options, CountedMemory* memory)
    : options_(std::move(options)),
      own_memory_(memory == nullptr ? std::make_unique<CountedMemory>() : nullptr),
      memory_(memory != nullptr ? memory : own_memory_.get()),
      charge_(memory_),
      keep_above_(memory_->most() == 0 ? UINT64_MAX : ShareOf(*memory_, kCompactAbove)),
      ip_table_(memory_),
      slice_clock_(options_.slice_ns),
      branches_(memory_) {
  ModuleRecord kernel;
  kernel.kind = ModuleKind::kKernel;
  kernel.path = options_.is_this_machine ? kRunningKernel : kRecordedKernel;
  data_.modules.push_back(std::move(kernel));
  recorded_paths_.push_back(data_.modules.back().path);
}

uint32_t Importer::AddSource(SourceRecord source) {
  data_.sources.push_back(std::move(source));
  branch_tables_.emplace_back(memory_);
  return static_cast<uint32_t>(data_.sources.size() - 1);
}

// Compacting may make room, but takes time: it is tried again after many more that had none.
template <typename Body>
void Importer::CountOrDrop(uint32_t source, uint64_t samples, Body&& count) {
  if (HasMemoryFor(count)) return;
  if (dropped_.samples >= compact_again_at_) {
    compact_again_at_ = dropped_.samples + kFewBranches + branches_.size();
    Compact();
    (void)WidenSlices();
    if (HasMemoryFor(count)) return;
  }
  dropped_.samples += samples;
  branch_tables_[source].dropped += samples;
}

template <typename Body>
void Importer::MapOrDrop(Body&& map) {
  if (!HasMemoryFor(map)) ++dropped_.mappings;
}

// As Session::KeepMemory, but periods are not ours.
void Importer::KeepMemory() {
  if (memory_->used() <= keep_above_) return;
  Compact();
  while (memory_->used() > ShareOf(*memory_, kWidenAbove) && WidenSlices()) Compact();
  const uint64_t used = memory_->used();
  keep_above_ = std::max(ShareOf(*memory_, kCompactAbove), used + used / 16);
}

void Importer::Compact() {
  for (uint32_t source = 0; source < branch_tables_.size(); ++source) {
    // Without memory to fold into, the table stays as it is.
    if (HasMemoryFor([&] { FoldBranches(source); })) branch_tables_[source].table.Release();
  }
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
  HasMemoryFor([this] { branches_.shrink_to_fit(); });
  ++compactions_;
}

bool Importer::WidenSlices() {
  const bool widens = slice_clock_.Widen([this] { JoinSlices(); });
  has_widened_slices_ |= widens;
  return widens;
}

Importer::Process& Importer::ProcessFor(uint32_t pid) {
  Process& process = processes_[pid];
  if (process.space == nullptr) process.space = std::make_shared<CountedSpace>(memory_);
  return process;
}

Importer::Process* Importer::ProcessToMapInto(uint32_t pid) {
  Process& process = ProcessFor(pid);
  const bool is_shared = process.space.use_count() > 1;
  const uint64_t copied = is_shared ? process.space->addresses.intervals() : 0;
  if (intervals_ + copied >= kMostIntervals) {
    ++dropped_mappings_;
    return nullptr;
  }
  if (is_shared) {
    process.space = std::make_shared<CountedSpace>(*process.space, memory_);
    intervals_ += copied;
  }
  return &process;
}

void Importer::Map(const MappingEvent& mapping, uint32_t module, bool is_code_replaced,
                   Process* process) {
  const bool has_offsets = data_.modules[module].kind != ModuleKind::kAnonymous;
  const FileOffset offset = has_offsets ? mapping.offset : FileOffset{mapping.start.value};
  std::function<bool(const AddressSpace::Placement&)> stays;
  if (!is_code_replaced) {
    stays = [this](const AddressSpace::Placement& placement) {
      const ModuleRecord& record = data_.modules[placement.module];
      return record.kind == ModuleKind::kAnonymous && !record.chunks.empty();
    };
  }
  process->space->charge.Add(kIntervalBytes);
  const uint64_t added = process->space->addresses.Add(mapping.start, mapping.end, mapping.time_ns,
                                                       {module, mapping.start, offset}, stays);
  if (added == 0) process->space->charge.Subtract(kIntervalBytes);
  process->space->counted += added;
  intervals_ += added;
  process->newest_mapping_ns = std::max(process->newest_mapping_ns, mapping.time_ns);
  ++generation_;
}

void Importer::AddMapping(uint32_t pid, const MappingEvent& mapping) {
  // Code of the kernel is one module, by its addresses.
  if (pid == kKernelPid) {
    return MapOrDrop([&] {
      charge_.Add(kIntervalBytes + mapping.path.size());
      ModuleRecord& kernel = data_.modules[kKernelModule];
      NoteKernelMapping(mapping, &kernel.kernel);
      if (mapping.path.starts_with(kRecordedKernel) && kernel.build_id.empty()) {
        kernel.build_id = mapping.build_id;
      }
    });
  }
  MapOrDrop([&] {
    Process* const process = ProcessToMapInto(pid);
    if (process == nullptr) return;
    const uint32_t module = ModuleFor(pid, mapping);
    // The kernel tells of generated code as of any memory, again whenever its protection changes,
    // and does not know what it is.
    const bool is_file = data_.modules[module].kind != ModuleKind::kAnonymous;
    Map(mapping, module, is_file, process);
  });
  KeepMemory();
}

void Importer::AddCode(uint32_t pid, RuntimeAddress address, uint64_t size,
                       std::span<const uint8_t> bytes, const std::string& name, uint64_t time_ns,
                       CodeLines lines) {
  MappingEvent mapping;
  mapping.start = address;
  mapping.end = address + size;
  mapping.time_ns = time_ns;
  MapOrDrop([&] { MapCode(pid, mapping, bytes, name, std::move(lines)); });
  KeepMemory();
}

void Importer::MapCode(uint32_t pid, const MappingEvent& mapping, std::span<const uint8_t> bytes,
                       const std::string& name, CodeLines lines) {
  Process* const process = ProcessToMapInto(pid);
  if (process == nullptr) return;
  std::optional<uint32_t> module;
  if (!bytes.empty()) {
    uint64_t charged = 0;
    const bool has_memory = HasMemoryFor([&] {
      module = generated_code_.Add(pid, mapping.start.value, bytes, name, std::move(lines),
                                   &data_.modules, [&] {
                                     charge_.Add(kModuleBytes + bytes.size() + name.size());
                                     charged = kModuleBytes + bytes.size() + name.size();
                                   });
    });
    if (!has_memory) charge_.Subtract(charged);
    recorded_paths_.resize(data_.modules.size());
    if (!module) ++dropped_code_;
  }
  Map(mapping, module ? *module : ModuleFor(pid, mapping), true, process);
}

void Importer::Forget(Process* process) {
  if (process->space != nullptr && process->space.use_count() == 1) {
    intervals_ -= process->space->counted;
  }
  process->space = nullptr;
}

void Importer::AddFork(uint32_t parent, uint32_t child) {
  if (parent == child) return;
  MapOrDrop([&] {
    const Process copy = ProcessFor(parent);
    Process& process = processes_[child];
    Forget(&process);
    process = copy;
    ++generation_;
  });
}

void Importer::AddThread(uint32_t parent, uint32_t parent_tid, uint32_t pid, uint32_t tid) {
  const auto name = thread_names_.find({parent, parent_tid});
  if (name != thread_names_.end()) NameThread(pid, tid, std::string(name->second));
}

void Importer::AddExec(uint32_t pid) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  Forget(&process->second);
  processes_.erase(process);
  ++generation_;
}

void Importer::NameThread(uint32_t pid, uint32_t tid, const std::string& name) {
  // A thread without a name does less harm than one that is not counted.
  const bool is_new = !thread_names_.contains({pid, tid});
  if (is_new && !HasMemoryFor([&] { charge_.Add(kThreadBytes); })) return;
  thread_names_[{pid, tid}] = name;
  const auto known = threads_.find({pid, tid});
  if (known != threads_.end()) data_.threads[known->second].name = name;
}

void Importer::AddKernelFunction(NamedRange function) {
  MapOrDrop([&] {
    charge_.Add(kIntervalBytes + function.name.size());
    AddRange(std::move(function), &data_.modules[kKernelModule].kernel.functions);
  });
}

void Importer::SetKernelRelease(const std::string& release) {
  data_.modules[kKernelModule].kernel.release = release;
}

void Importer::SetBuildId(const std::string& path, std::vector<uint8_t> build_id) {
  MapOrDrop([&] {
    if (!build_ids_.contains(path)) charge_.Add(kModuleBytes + path.size());
    build_id.resize(WithoutPadding(build_id).size());
    build_ids_[path] = std::move(build_id);
  });
}

uint32_t Importer::ModuleFor(uint32_t pid, const MappingEvent& mapping) {
  ModuleRecord record;
  record.path = WithoutDeletedSuffix(mapping.path);
  record.kind = KindOf(pid, record.path);
  record.build_id = mapping.build_id;
  record.device = mapping.device;
  record.inode = mapping.inode;
  // Generated code of two processes has nothing in common.
  if (record.kind == ModuleKind::kAnonymous) record.device = pid;
  const auto key =
      std::tuple(record.kind, record.path, record.device, record.inode, record.build_id);
  const auto known = modules_.find(key);
  if (known != modules_.end()) return known->second;
  charge_.Add(kModuleBytes + 4 * record.path.size());
  const auto index = static_cast<uint32_t>(data_.modules.size());
  modules_.emplace(key, index);
  recorded_paths_.push_back(record.path);
  if (record.kind == ModuleKind::kFile) record.path = LocalPath(record.path);
  if (record.kind == ModuleKind::kAnonymous) record.device = 0;
  data_.modules.push_back(std::move(record));
  return index;
}

std::string Importer::LocalPath(const std::string& path) const {
  for (const std::string& name : {path, LastPartOf(path)}) {
    const auto file = options_.files.find(name);
    if (file != options_.files.end()) return file->second;
  }
  if (options_.root.empty()) return path;
  // A recording may come from anywhere: its "/../" does not lead out of the directory.
  return options_.root + std::filesystem::path("/" + path).lexically_normal().string();
}

std::vector<std::pair<uint32_t, uint32_t>> Importer::memory_modules() const {
  std::vector<std::pair<uint32_t, uint32_t>> modules;
  for (const auto& [key, module] : modules_) {
    const auto& [kind, path, pid, inode, build_id] = key;
    if (kind == ModuleKind::kAnonymous) modules.emplace_back(module, static_cast<uint32_t>(pid));
  }
  return modules;
}

uint32_t Importer::ThreadFor(uint32_t pid, uint32_t tid) {
  const auto known = threads_.find({pid, tid});
  if (known != threads_.end()) return known->second;
  charge_.Add(kThreadBytes);
  const auto index = static_cast<uint32_t>(data_.threads.size());
  threads_.emplace(std::pair(pid, tid), index);
  const auto name = thread_names_.find({pid, tid});
  data_.threads.push_back({pid, tid, name != thread_names_.end() ? name->second : ""});
  return index;
}

uint64_t Importer::PlaceOf(const Process& process, uint64_t address, uint64_t time_ns) {
  if (IsKernelAddress(address)) return Place(kKernelModule, address);
  found_lately_.resize(kFoundLately);
  Found& found = found_lately_[address / kPageBytes % kFoundLately];
  const bool is_newest = time_ns >= process.newest_mapping_ns;
  const bool is_known = is_newest && found.process == &process && found.generation == generation_ &&
                        address - found.start < found.bytes;
  if (is_known) return address + found.distance;
  const auto range = process.space->addresses.FindRange({address}, time_ns);
  if (!range) return PlaceOfNoModule(address);
  const AddressSpace::Placement& placement = range->placement;
  const uint64_t first_offset = placement.OffsetOf(range->start).value;
  const uint64_t bytes = range->end - range->start;
  const bool fits = placement.module < kMostModules && first_offset <= kOffsetMask &&
                    bytes <= kOffsetMask - first_offset;
  if (!fits) return PlaceOfNoModule(address);
  const uint64_t distance = Place(placement.module, first_offset) - range->start.value;
  if (is_newest) found = {&process, generation_, range->start.value, bytes, distance};
  return address + distance;
}

std::optional<Importer::SamplePlace> Importer::AddSample(uint32_t source, const IpSample& sample) {
  std::optional<SamplePlace> counted;
  CountOrDrop(source, 1, [&] {
    const CodeLocation location =
        LocationOf(PlaceOf(ProcessFor(sample.pid), sample.ip.value, sample.time_ns));
    if (location.module == kNoModule) {
      ++data_.sources[source].unmapped;
      return;
    }
    const SamplePlace place = {ThreadFor(sample.pid, sample.tid), location.module, location.offset};
    ip_table_.Count({source, place.thread, place.module, SliceAt(sample.time_ns), place.offset,
                     sample.position},
                    sample.period);
    counted = place;
  });
  BoundSlices();
  KeepMemory();
  return counted;
}

void Importer::AddBurst(uint32_t source, const BurstSample& burst, double weight,
                        uint32_t repeats) {
  if (burst.branches.empty() || repeats == 0) return;
  CountOrDrop(source, repeats, [&] { CountBurst(source, burst, weight, repeats); });
  BoundSlices();
  KeepMemory();
}

void Importer::CountBurst(uint32_t source, const BurstSample& burst, double weight,
                          uint32_t repeats) {
  placed_.clear();
  const Process& process = ProcessFor(burst.pid);
  for (const TakenBranchSample& branch : burst.branches) {
    placed_.push_back({{PlaceOf(process, branch.from.value, burst.time_ns)},
                       {PlaceOf(process, branch.to.value, burst.time_ns)}});
  }
  const uint32_t slice = SliceAt(burst.time_ns);
  if (slice != branch_tables_[source].slice) {
    FoldBranches(source);
    branch_tables_[source].slice = slice;
  }
  branch_tables_[source].table.CountBurst(
      ThreadFor(burst.pid, burst.tid), placed_, weight, ReplicateOf(burst_number_),
      [](const BranchTable::Entry&) {}, burst.stack, repeats);
  ++burst_number_;
}

uint32_t Importer::SliceAt(uint64_t time_ns) {
  return slice_clock_.SliceAt(time_ns, [this] { JoinSlices(); });
}

// Branches behind those that are sorted may be the same ones again.
void Importer::BoundSlices() {
  slice_clock_.Bound(
      ip_table_.bytes() + sorted_branches_ * sizeof(BranchCount),
      [this] {
        const auto sorted = std::span<const BranchCount>(branches_).first(sorted_branches_);
        return ip_table_.BytesWithoutSlices() + CountWithoutSlices(sorted) * sizeof(BranchCount);
      },
      [this] { JoinSlices(); });
}

void Importer::JoinSlices() {
  for (SourceTable& counted : branch_tables_) counted.slice = HalfOf(counted.slice);
  for (BranchCount& branch : branches_) branch.slice = HalfOf(branch.slice);
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
  ip_table_.JoinSlices();
}

void Importer::FoldBranches(uint32_t source) {
  SourceTable& counted = branch_tables_[source];
  MakeRoomFor(counted.table.entries().size(), &branches_);
  AppendBranches(counted.table, source, counted.slice, nullptr, &branches_);
  counted.table.Clear();
  if (branches_.size() - sorted_branches_ <= kFewBranches + sorted_branches_ / 2) return;
  Normalize(&branches_);
  sorted_branches_ = branches_.size();
}

void Importer::AddCountsTo(ProfileData* data, CancelCheck* check) const {
  data->slices = slice_clock_.slices();
  ip_table_.AppendTo(&data->counts, check);
  CopyInSteps(branches_, check, &data->branches);
  for (uint32_t source = 0; source < branch_tables_.size(); ++source) {
    const SourceTable& counted = branch_tables_[source];
    AppendBranches(counted.table, source, counted.slice, check, &data->branches);
    AddCounter("no-memory", counted.dropped, &data->sources[source].trace.counters);
  }
  Normalize(&data->counts, check);
  Normalize(&data->branches, check);
  for (size_t i = 0; i < data->modules.size(); ++i) {
    ModuleRecord& module = data->modules[i];
    const auto build_id = build_ids_.find(recorded_paths_[i]);
    if (module.build_id.empty() && build_id != build_ids_.end()) module.build_id = build_id->second;
    std::sort(module.chunks.begin(), module.chunks.end(),
              [](const CodeChunk& a, const CodeChunk& b) { return a.offset < b.offset; });
  }
}

ProfileData Importer::Snapshot(CancelCheck* check) const {
  ProfileData data = data_;
  AddCountsTo(&data, check);
  return data;
}

ProfileData Importer::Finish() {
  AddCountsTo(&data_, nullptr);
  return std::move(data_);
}

}  // namespace hbbp
