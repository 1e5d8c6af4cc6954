// PerfRecordImport sends its events here: OnMapping, OnCode, OnFork and OnExec keep an address
// space for each process, which a child shares with its parent until one of the two maps something
// (ProcessToMapInto), as the kernel does it with memory. ModuleFor makes a module for each file.
// The Aggregator calls FindLocation and FindLocations, and Modules for snapshots.
#include "collect/recorded_locator.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/linux_constants.h"
#include "collect/memory_use.h"
#include "image/build_id.h"

namespace hbbp {
namespace {

// More than the processes of any machine have. They take some hundred megabytes.
constexpr uint64_t kMaxIntervals = 4'000'000;
constexpr uint32_t kKernelModule = 0;

// Returns whether the kernel uses this path for memory that is not of a file. .NET generates code
// in doublemapper.
bool IsMemoryPath(std::string_view path) {
  return path.starts_with("//") || path == "/anon_hugepage" || path == "/dev/zero" ||
         path == "/memfd:doublemapper";
}

ModuleKind FindKind(uint32_t pid, const std::string& path) {
  if (pid == kKernelPid) return ModuleKind::kKernel;
  if (path == "[vdso]") return ModuleKind::kVdso;
  const bool is_file = path.starts_with('/') && !IsMemoryPath(path);
  return is_file ? ModuleKind::kFile : ModuleKind::kAnonymous;
}

}  // namespace

RecordedLocator::RecordedLocator(ImportOptions options, CountedMemory* memory)
    : options_(std::move(options)), memory_(memory), charge_(memory) {
  ModuleRecord kernel;
  kernel.kind = ModuleKind::kKernel;
  kernel.path = options_.is_this_machine ? kRunningKernel : kRecordedKernel;
  modules_.push_back(std::move(kernel));
  recorded_paths_.push_back(modules_.back().path);
}

template <typename Body>
void RecordedLocator::MapOrDrop(Body&& map) {
  if (!HasMemoryFor(map)) ++dropped_mappings_;
}

RecordedLocator::Process& RecordedLocator::ProcessFor(uint32_t pid) {
  Process& process = processes_[pid];
  if (process.space == nullptr) process.space = std::make_shared<CountedSpace>(memory_);
  return process;
}

RecordedLocator::Process* RecordedLocator::ProcessToMapInto(uint32_t pid) {
  Process& process = ProcessFor(pid);
  const bool is_shared = process.space.use_count() > 1;
  const uint64_t copied = is_shared ? process.space->addresses.intervals() : 0;
  if (intervals_ + copied >= kMaxIntervals) {
    ++mappings_beyond_limit_;
    return nullptr;
  }
  if (is_shared) {
    process.space = std::make_shared<CountedSpace>(*process.space, memory_);
    intervals_ += copied;
  }
  return &process;
}

void RecordedLocator::Map(const MappingEvent& mapping, uint32_t module, bool is_code_replaced,
                          Process* process) {
  const bool has_offsets = modules_[module].kind != ModuleKind::kAnonymous;
  const FileOffset offset = has_offsets ? mapping.offset : FileOffset{mapping.start.value};
  std::function<bool(const AddressSpace::Placement&)> stays;
  if (!is_code_replaced) {
    stays = [this](const AddressSpace::Placement& placement) {
      const ModuleRecord& record = modules_[placement.module];
      return record.kind == ModuleKind::kAnonymous && !record.chunks.empty();
    };
  }
  process->space->charge.Add(kIntervalBytes);
  const uint64_t added = process->space->addresses.Add(mapping.start, mapping.end, mapping.time_ns,
                                                       {module, mapping.start, offset}, stays);
  if (added == 0) process->space->charge.Subtract(kIntervalBytes);
  process->space->counted += added;
  intervals_ += added;
  recent_locations_.Reset();
}

void RecordedLocator::OnMapping(MappingEvent mapping) {
  // All code of the kernel is one module, whose offsets are addresses.
  if (mapping.pid == kKernelPid) {
    return MapOrDrop([&] {
      charge_.Add(kIntervalBytes + mapping.path.size());
      ModuleRecord& kernel = modules_[kKernelModule];
      RecordKernelMapping(mapping, &kernel.kernel);
      if (mapping.path.starts_with(kRecordedKernel) && kernel.build_id.empty()) {
        kernel.build_id = mapping.build_id;
      }
    });
  }
  MapOrDrop([&] {
    Process* const process = ProcessToMapInto(mapping.pid);
    if (process == nullptr) return;
    const uint32_t module = ModuleFor(mapping);
    // The kernel reports generated code like any memory, and again when its protection changes, so
    // such a mapping does not replace reported code.
    const bool is_file = modules_[module].kind != ModuleKind::kAnonymous;
    Map(mapping, module, is_file, process);
  });
}

void RecordedLocator::OnCode(CodeEvent code) {
  MapOrDrop([&] { MapCode(std::move(code)); });
}

void RecordedLocator::MapCode(CodeEvent code) {
  Process* const process = ProcessToMapInto(code.pid);
  if (process == nullptr) return;
  std::optional<uint32_t> module;
  if (!code.bytes.empty()) {
    const uint64_t bytes = kModuleBytes + code.bytes.size() + code.name.size();
    uint64_t charged = 0;
    const bool has_memory = HasMemoryFor([&] {
      module = generated_code_.Add(code.pid, code.address.value, code.bytes, code.name,
                                   std::move(code.lines), &modules_, [&] {
                                     charge_.Add(bytes);
                                     charged = bytes;
                                   });
    });
    if (!has_memory) charge_.Subtract(charged);
    recorded_paths_.resize(modules_.size());
    if (!module) ++code_beyond_limit_;
  }
  MappingEvent mapping;
  mapping.pid = code.pid;
  mapping.start = code.address;
  mapping.end = code.address + code.size;
  mapping.time_ns = code.time_ns;
  Map(mapping, module ? *module : ModuleFor(mapping), true, process);
}

void RecordedLocator::Clear(Process* process) {
  if (process->space != nullptr && process->space.use_count() == 1) {
    intervals_ -= process->space->counted;
  }
  process->space = nullptr;
}

void RecordedLocator::OnFork(const ForkEvent& fork) {
  if (fork.has_own_mappings || fork.parent_pid == fork.pid) return;
  MapOrDrop([&] {
    const Process copy = ProcessFor(fork.parent_pid);
    Process& process = processes_[fork.pid];
    Clear(&process);
    process = copy;
    recent_locations_.Reset();
  });
}

void RecordedLocator::OnExec(uint32_t pid) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  Clear(&process->second);
  processes_.erase(process);
  recent_locations_.Reset();
}

void RecordedLocator::OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) {
  // Without memory the name is dropped, which does less harm than a dropped sample.
  const bool is_new = !thread_names_.contains({pid, tid});
  if (is_new && !HasMemoryFor([&] { charge_.Add(kThreadBytes); })) return;
  thread_names_[{pid, tid}] = name;
}

void RecordedLocator::OnKernelFunction(NamedRange function) {
  MapOrDrop([&] {
    charge_.Add(kIntervalBytes + function.name.size());
    AddRange(std::move(function), &modules_[kKernelModule].kernel.functions);
  });
}

void RecordedLocator::SetKernelRelease(const std::string& release) {
  modules_[kKernelModule].kernel.release = release;
}

void RecordedLocator::OnBuildId(const std::string& path, std::vector<uint8_t> build_id) {
  MapOrDrop([&] {
    if (!build_ids_.contains(path)) charge_.Add(kModuleBytes + path.size());
    build_id.resize(WithoutPadding(build_id).size());
    build_ids_[path] = std::move(build_id);
  });
}

uint32_t RecordedLocator::ModuleFor(const MappingEvent& mapping) {
  ModuleRecord record;
  record.path = WithoutDeletedSuffix(mapping.path);
  record.kind = FindKind(mapping.pid, record.path);
  record.build_id = mapping.build_id;
  record.device = mapping.device;
  record.inode = mapping.inode;
  // Generated code of two processes has nothing in common.
  if (record.kind == ModuleKind::kAnonymous) record.device = mapping.pid;
  const auto key =
      std::tuple(record.kind, record.path, record.device, record.inode, record.build_id);
  const auto known = modules_by_file_.find(key);
  if (known != modules_by_file_.end()) return known->second;
  charge_.Add(kModuleBytes + 4 * record.path.size());
  const auto index = static_cast<uint32_t>(modules_.size());
  modules_by_file_.emplace(key, index);
  recorded_paths_.push_back(record.path);
  if (record.kind == ModuleKind::kFile) hbbp::SetLocalPath(LocalPath(record.path), &record);
  if (record.kind == ModuleKind::kAnonymous) record.device = 0;
  modules_.push_back(std::move(record));
  return index;
}

std::vector<std::pair<uint32_t, uint32_t>> RecordedLocator::memory_modules() const {
  std::vector<std::pair<uint32_t, uint32_t>> modules;
  for (const auto& [key, module] : modules_by_file_) {
    const auto& [kind, path, pid, inode, build_id] = key;
    if (kind == ModuleKind::kAnonymous) modules.emplace_back(module, static_cast<uint32_t>(pid));
  }
  return modules;
}

std::string RecordedLocator::KnownName(uint32_t pid, uint32_t tid) const {
  const auto name = thread_names_.find({pid, tid});
  return name != thread_names_.end() ? name->second : "";
}

uint64_t RecordedLocator::FindLocationIn(const AddressSpace& space, RuntimeAddress address,
                                         uint64_t time_ns) {
  if (IsKernelAddress(address)) return LocationInKernel(address.value);
  const auto known = recent_locations_.Find(space, address.value, time_ns);
  return known ? *known : recent_locations_.Resolve(space, address.value, time_ns);
}

uint64_t RecordedLocator::FindLocation(uint32_t pid, RuntimeAddress address, uint64_t time_ns) {
  return FindLocationIn(SpaceOf(pid), address, time_ns);
}

void RecordedLocator::FindLocations(const BurstSample& burst, std::vector<TakenBranch>* locations) {
  const AddressSpace& space = SpaceOf(burst.pid);
  recent_locations_.FindLocations(
      space, burst,
      [&](RuntimeAddress address) { return FindLocationIn(space, address, burst.time_ns); },
      locations);
}

std::vector<ModuleRecord> RecordedLocator::Modules() const {
  std::vector<ModuleRecord> modules = modules_;
  for (size_t i = 0; i < modules.size(); ++i) {
    ModuleRecord& module = modules[i];
    const auto build_id = build_ids_.find(recorded_paths_[i]);
    if (module.build_id.empty() && build_id != build_ids_.end()) module.build_id = build_id->second;
    SortChunks(&module.chunks);
  }
  return modules;
}

}  // namespace hbbp
