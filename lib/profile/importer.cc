#include "profile/importer.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "profile/branch_count_of.h"

namespace hbbp {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kFoundLately = 4096;  // a power of two
// More than the processes of any machine have; some hundred megabytes.
constexpr uint64_t kMostIntervals = 4'000'000;
// Sorting waits until so many branches, or half of what is sorted, came behind those.
constexpr size_t kFewBranches = 65536;
constexpr std::string_view kDeleted = " (deleted)";

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

void AppendBranches(const BranchTable& table, uint32_t source, uint32_t slice,
                    std::vector<BranchCount>* branches) {
  for (const BranchTable::Entry& entry : table.entries()) {
    branches->push_back(BranchCountOf(entry, source, LocationOf));
    branches->back().slice = slice;
  }
}

std::string LastPartOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Importer::Importer(ImportOptions options)
    : options_(std::move(options)), slice_clock_(options_.slice_ns) {
  ModuleRecord kernel;
  kernel.kind = ModuleKind::kKernel;
  kernel.path = options_.is_this_machine ? kRunningKernel : kRecordedKernel;
  data_.modules.push_back(std::move(kernel));
  recorded_paths_.push_back(data_.modules.back().path);
}

uint32_t Importer::AddSource(SourceRecord source) {
  data_.sources.push_back(std::move(source));
  branch_tables_.emplace_back();
  return static_cast<uint32_t>(data_.sources.size() - 1);
}

Importer::Process& Importer::ProcessFor(uint32_t pid) {
  Process& process = processes_[pid];
  if (process.space == nullptr) process.space = std::make_shared<CountedSpace>();
  return process;
}

Importer::Process* Importer::ProcessToMapInto(uint32_t pid) {
  Process& process = ProcessFor(pid);
  const bool is_shared = process.space.use_count() > 1;
  const uint64_t copied = is_shared ? process.space->intervals() : 0;
  if (intervals_ + copied >= kMostIntervals) {
    ++dropped_mappings_;
    return nullptr;
  }
  if (is_shared) {
    process.space = std::make_shared<CountedSpace>(*process.space);
    process.space->counted = copied;
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
  const uint64_t added = process->space->Add(mapping.start, mapping.end, mapping.time_ns,
                                             {module, mapping.start, offset}, stays);
  process->space->counted += added;
  intervals_ += added;
  process->newest_mapping_ns = std::max(process->newest_mapping_ns, mapping.time_ns);
  ++generation_;
}

void Importer::AddMapping(uint32_t pid, const MappingEvent& mapping) {
  // Code of the kernel is one module, by its addresses.
  if (pid == kKernelPid) {
    ModuleRecord& kernel = data_.modules[kKernelModule];
    NoteKernelMapping(mapping, &kernel.kernel);
    if (mapping.path.starts_with(kRecordedKernel) && kernel.build_id.empty()) {
      kernel.build_id = mapping.build_id;
    }
    return;
  }
  Process* const process = ProcessToMapInto(pid);
  if (process == nullptr) return;
  const uint32_t module = ModuleFor(pid, mapping);
  // The kernel tells of generated code as of any memory, again whenever its protection changes, and
  // does not know what it is.
  const bool is_file = data_.modules[module].kind != ModuleKind::kAnonymous;
  Map(mapping, module, is_file, process);
}

void Importer::AddCode(uint32_t pid, RuntimeAddress address, uint64_t size,
                       std::span<const uint8_t> bytes, const std::string& name, uint64_t time_ns,
                       CodeLines lines) {
  Process* const process = ProcessToMapInto(pid);
  if (process == nullptr) return;
  MappingEvent mapping;
  mapping.start = address;
  mapping.end = address + size;
  mapping.time_ns = time_ns;
  std::optional<uint32_t> module;
  if (!bytes.empty()) {
    module = generated_code_.Add(pid, address.value, bytes, name, std::move(lines), &data_.modules);
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
  const Process copy = ProcessFor(parent);
  Process& process = processes_[child];
  Forget(&process);
  process = copy;
  ++generation_;
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
  thread_names_[{pid, tid}] = name;
  const auto known = threads_.find({pid, tid});
  if (known != threads_.end()) data_.threads[known->second].name = name;
}

void Importer::AddKernelFunction(NamedRange function) {
  AddRange(std::move(function), &data_.modules[kKernelModule].kernel.functions);
}

void Importer::SetKernelRelease(const std::string& release) {
  data_.modules[kKernelModule].kernel.release = release;
}

void Importer::SetBuildId(const std::string& path, std::vector<uint8_t> build_id) {
  build_ids_[path] = std::move(build_id);
}

uint32_t Importer::ModuleFor(uint32_t pid, const MappingEvent& mapping) {
  ModuleRecord record;
  record.path = mapping.path;
  if (record.path.ends_with(kDeleted)) record.path.resize(record.path.size() - kDeleted.size());
  record.kind = KindOf(pid, record.path);
  record.build_id = mapping.build_id;
  record.device = mapping.device;
  record.inode = mapping.inode;
  // Generated code of two processes has nothing in common.
  if (record.kind == ModuleKind::kAnonymous) record.device = pid;
  const auto key =
      std::tuple(record.kind, record.path, record.device, record.inode, record.build_id);
  const auto [place, added] = modules_.emplace(key, static_cast<uint32_t>(data_.modules.size()));
  if (!added) return place->second;
  recorded_paths_.push_back(record.path);
  if (record.kind == ModuleKind::kFile) record.path = LocalPath(record.path);
  if (record.kind == ModuleKind::kAnonymous) record.device = 0;
  data_.modules.push_back(std::move(record));
  return place->second;
}

std::string Importer::LocalPath(const std::string& path) const {
  for (const std::string& name : {path, LastPartOf(path)}) {
    const auto file = options_.files.find(name);
    if (file != options_.files.end()) return file->second;
  }
  return options_.root + path;
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
  const auto [place, added] =
      threads_.emplace(std::pair(pid, tid), static_cast<uint32_t>(data_.threads.size()));
  if (added) {
    const auto name = thread_names_.find({pid, tid});
    data_.threads.push_back({pid, tid, name != thread_names_.end() ? name->second : ""});
  }
  return place->second;
}

uint64_t Importer::PlaceOf(const Process& process, uint64_t address, uint64_t time_ns) {
  if (IsKernelAddress(address)) return Place(kKernelModule, address);
  found_lately_.resize(kFoundLately);
  Found& found = found_lately_[address / kPageBytes % kFoundLately];
  const bool is_newest = time_ns >= process.newest_mapping_ns;
  const bool is_known = is_newest && found.process == &process && found.generation == generation_ &&
                        address - found.start < found.bytes;
  if (is_known) return address + found.distance;
  const auto range = process.space->FindRange({address}, time_ns);
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
  const CodeLocation location =
      LocationOf(PlaceOf(ProcessFor(sample.pid), sample.ip.value, sample.time_ns));
  if (location.module == kNoModule) {
    ++data_.sources[source].unmapped;
    return std::nullopt;
  }
  const SamplePlace place = {ThreadFor(sample.pid, sample.tid), location.module, location.offset};
  ip_table_.Count(
      {source, place.thread, place.module, SliceAt(sample.time_ns), place.offset, sample.position},
      sample.period);
  BoundSlices();
  return place;
}

void Importer::AddBurst(uint32_t source, const BurstSample& burst, double weight,
                        uint32_t repeats) {
  if (burst.branches.empty() || repeats == 0) return;
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
      ThreadFor(burst.pid, burst.tid), placed_, weight, ReplicateOf(burst_number_++),
      [](const BranchTable::Entry&) {}, burst.stack, repeats);
  BoundSlices();
}

uint32_t Importer::SliceAt(uint64_t time_ns) {
  return slice_clock_.SliceAt(time_ns, [this] { JoinSlices(); });
}

// Branches behind those that are sorted may be the same ones again.
void Importer::BoundSlices() {
  slice_clock_.Bound(
      ip_table_.bytes() + sorted_branches_ * sizeof(BranchCount),
      [this] {
        const auto sorted = std::span(data_.branches).first(sorted_branches_);
        return ip_table_.BytesWithoutSlices() + CountWithoutSlices(sorted) * sizeof(BranchCount);
      },
      [this] { JoinSlices(); });
}

void Importer::JoinSlices() {
  for (uint32_t source = 0; source < branch_tables_.size(); ++source) {
    FoldBranches(source);
    branch_tables_[source].slice = HalfOf(branch_tables_[source].slice);
  }
  for (BranchCount& branch : data_.branches) branch.slice = HalfOf(branch.slice);
  Normalize(&data_.branches);
  sorted_branches_ = data_.branches.size();
  ip_table_.JoinSlices();
}

void Importer::FoldBranches(uint32_t source) {
  SourceTable& counted = branch_tables_[source];
  AppendBranches(counted.table, source, counted.slice, &data_.branches);
  counted.table.Clear();
  if (data_.branches.size() - sorted_branches_ <= kFewBranches + sorted_branches_ / 2) return;
  Normalize(&data_.branches);
  sorted_branches_ = data_.branches.size();
}

void Importer::AddCountsTo(ProfileData* data) const {
  data->slices = slice_clock_.slices();
  ip_table_.AppendTo(&data->counts);
  for (uint32_t source = 0; source < branch_tables_.size(); ++source) {
    const SourceTable& counted = branch_tables_[source];
    AppendBranches(counted.table, source, counted.slice, &data->branches);
  }
  Normalize(&data->counts);
  Normalize(&data->branches);
  for (size_t i = 0; i < data->modules.size(); ++i) {
    ModuleRecord& module = data->modules[i];
    const auto build_id = build_ids_.find(recorded_paths_[i]);
    if (module.build_id.empty() && build_id != build_ids_.end()) module.build_id = build_id->second;
    std::sort(module.chunks.begin(), module.chunks.end(),
              [](const CodeChunk& a, const CodeChunk& b) { return a.offset < b.offset; });
  }
}

ProfileData Importer::Snapshot() const {
  ProfileData data = data_;
  AddCountsTo(&data);
  return data;
}

ProfileData Importer::Finish() {
  AddCountsTo(&data_);
  return std::move(data_);
}

}  // namespace hbbp
