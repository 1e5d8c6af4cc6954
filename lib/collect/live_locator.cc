// FindLocation and FindLocations, which the Aggregator calls, look addresses up in RecentLocations
// first, which knows almost all of them. The others are looked up in the address space
// (FindUserLocation): generated code is then copied, and a file that nothing was counted in so far
// is identified, which reads its build ID and holds it open. OnMapping and AddCode, which a session
// calls, add to the address space. Modules, for snapshots, adds the copies to the modules.
#include "collect/live_locator.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/files.h"
#include "base/linux_constants.h"
#include "base/own_status.h"
#include "collect/memory_use.h"
#include "collect/module_capture.h"
#include "events/current_mapping.h"
#include "image/process_memory.h"
#include "perf_data/jit_dump.h"

namespace hbbp {
namespace {

// Maximum number of pages that CopiedPages::Refresh adds.
constexpr uint64_t kMaxPagesPerRefresh = 3;
constexpr size_t kMaxThreadNames = 1024;

bool IsFilePath(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("//");
}

// JITs map shared memory twice, to write and to run it, and the kernel reports that like mappings
// of files. A library may be in such memory, too.
bool IsSharedMemory(pid_t pid, const MappingEvent& mapping) {
  if (mapping.path == "/dev/zero" || mapping.path.starts_with("/anon_hugepage")) return true;
  if (!mapping.path.starts_with("/memfd:")) return false;
  std::array<uint8_t, SELFMAG> magic = {};
  const RuntimeAddress header = mapping.start - mapping.offset.value;
  return ReadProcessMemory(pid, header, magic) != SELFMAG ||
         std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0;
}

std::string NameOfGeneration(uint32_t generation) {
  return generation == 0 ? "[anonymous]"
                         : "[anonymous, generation " + std::to_string(generation + 1) + "]";
}

std::tuple<std::string, uint64_t, uint64_t, std::vector<uint8_t>> KeyOf(const std::string& path) {
  return {path, 0, 0, {}};
}

}  // namespace

LiveLocator::LiveLocator(pid_t pid, CountedMemory* memory)
    : pid_(pid), charge_(memory), page_charge_(memory), copied_pages_(pid), thread_names_(memory) {}

// Charges memory before an interval is added. If the mapping then adds none, because it is known
// already, the charge is kept for the next one.
void LiveLocator::ChargeNextInterval() {
  if (next_interval_is_charged_) return;
  charge_.Add(kIntervalBytes);
  next_interval_is_charged_ = true;
}

Status LiveLocator::AddCurrentMappings(uint64_t time_ns) {
  HBBP_ASSIGN_OR_RETURN(waiting_mappings_, ReadProcessMaps(pid_));
  waiting_since_ns_ = time_ns;
  if (pid_ == 0) AddWaitingMappings();
  return OkStatus();
}

void LiveLocator::OnExec(uint32_t) { waiting_mappings_.clear(); }

void LiveLocator::AddWaitingMappings() {
  if (waiting_mappings_.empty()) return;
  std::vector<Mapping> mappings;
  mappings.swap(waiting_mappings_);
  const Mapping* header = nullptr;
  for (const Mapping& mapping : mappings) {
    if (mapping.IsFile() && mapping.offset.value == 0) header = &mapping;
    if (!mapping.executable) continue;
    const MappingEvent event = MappingAt(mapping, waiting_since_ns_);
    OnMapping(event);
    // The headers are at another address than Map assumes.
    const bool is_unusual = header != nullptr &&
                            header->start != event.start - event.offset.value &&
                            header->inode == mapping.inode && header->path == mapping.path;
    if (is_unusual) module_states_[ModuleFor(event)].header = header->start;
  }
}

void LiveLocator::OnMapping(MappingEvent mapping) {
  if (!HasMemoryFor([&] { Map(std::move(mapping)); })) ++dropped_mappings_;
}

void LiveLocator::Map(MappingEvent mapping) {
  mapping.path.resize(WithoutDeletedSuffix(mapping.path).size());
  const uint32_t module = ModuleFor(mapping);
  FileOffset offset = mapping.offset;
  switch (modules_[module].kind) {
    case ModuleKind::kFile:
      // In every usual layout the headers are mapped below the code, at the same distance as in the
      // file; identification checks that they are there.
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
  if (modules_[module].kind == ModuleKind::kAnonymous) {
    // The kernel also reports memory whose protection changes, which still has the same code.
    stays = [this](const AddressSpace::Placement& known) {
      return modules_[known.module].kind == ModuleKind::kAnonymous;
    };
  }
  AddPlacement(mapping, {module, mapping.start, offset}, stays);
}

void LiveLocator::AddPlacement(const MappingEvent& mapping,
                               const AddressSpace::Placement& placement,
                               const std::function<bool(const AddressSpace::Placement&)>& stays) {
  recent_locations_.Reset();
  ChargeNextInterval();
  const size_t added =
      address_space_.Add(mapping.start, mapping.end, mapping.time_ns, placement, stays);
  if (added != 0) next_interval_is_charged_ = false;
}

bool LiveLocator::AddCode(RuntimeAddress address, std::span<const uint8_t> bytes,
                          const std::string& name, uint64_t time_ns) {
  const auto pid = static_cast<uint32_t>(pid_ != 0 ? pid_ : ::getpid());
  ChargeNextInterval();                        // first, so that code that is kept can be mapped
  module_states_.resize(modules_.size() + 1);  // before anything can throw
  uint64_t charged = 0;
  std::optional<uint32_t> module;
  try {
    module = generated_code_.Add(pid, address.value, bytes, name, {}, &modules_, [&] {
      charge_.Add(kModuleBytes + bytes.size());
      charged = kModuleBytes + bytes.size();
    });
  } catch (...) {
    charge_.Subtract(charged);
    throw;
  }
  if (module) module_states_[*module].has_reported_code = true;
  MappingEvent mapping;
  mapping.start = address;
  mapping.end = address + bytes.size();
  mapping.time_ns = time_ns;
  // The code that was there before must not get the samples of code that is not kept.
  const uint32_t index = module ? *module : GeneratedModule(0);
  AddPlacement(mapping, {index, address, FileOffset{address.value}}, {});
  return module.has_value();
}

void LiveLocator::OnCode(CodeEvent code) {
  if (code.bytes.empty()) return;
  const bool has_memory = HasMemoryFor([&] {
    const bool is_kept = AddCode(code.address, code.bytes, code.name, code.time_ns);
    if (!is_kept) ++code_beyond_limit_;
  });
  if (!has_memory) ++dropped_mappings_;
}

void LiveLocator::OnKernelFunction(NamedRange function) {
  const bool has_memory = HasMemoryFor([&] {
    std::vector<NamedRange>* const functions = &modules_[KernelModule()].kernel.functions;
    const uint64_t bytes = kIntervalBytes + function.name.size();
    charge_.Add(bytes);
    const size_t known = functions->size();
    AddRange(std::move(function), functions);
    // A program may load the same code again and again.
    if (functions->size() == known) charge_.Subtract(bytes);
  });
  if (!has_memory) ++dropped_mappings_;
}

void LiveLocator::RecordThread(uint32_t tid) {
  if (!thread_names_.contains(tid)) OnThreadName(0, tid, ThreadName(pid_, static_cast<pid_t>(tid)));
}

// If there are too many names, the lowest tid is dropped, because that is likely the oldest thread.
// A thread without a name here gets the name that it has at its first sample, if it still runs.
void LiveLocator::OnThreadName(uint32_t, uint32_t tid, const std::string& name) {
  HasMemoryFor([&] {
    const auto known = thread_names_.find(tid);
    if (known == thread_names_.end() && thread_names_.size() == kMaxThreadNames) {
      thread_names_.erase(thread_names_.begin());
    }
    thread_names_[tid] = name;
  });
}

std::string LiveLocator::NameOfThread(uint32_t, uint32_t tid) {
  const auto known = thread_names_.find(tid);
  if (known == thread_names_.end()) return ThreadName(pid_, static_cast<pid_t>(tid));
  std::string name(known->second);
  thread_names_.erase(known);
  return name;
}

uint64_t LiveLocator::FindLocation(uint32_t, RuntimeAddress address, uint64_t time_ns) {
  if (IsKernelAddress(address)) {
    KernelModule();
    return LocationInKernel(address.value);
  }
  AddWaitingMappings();
  const auto known = recent_locations_.Find(address_space_, address.value, time_ns);
  return known ? *known : FindUserLocation(address.value, time_ns);
}

void LiveLocator::FindLocations(const BurstSample& burst, std::vector<TakenBranch>* locations) {
  recent_locations_.FindLocations(
      address_space_, burst,
      [&](RuntimeAddress address) { return FindLocation(burst.pid, address, burst.time_ns); },
      locations);
}

uint64_t LiveLocator::FindUserLocation(uint64_t address, uint64_t time_ns) {
  const auto placement = address_space_.Find({address}, time_ns);
  if (!placement) return LocationInNoModule(address);
  const bool is_copied = IsCopied(placement->module);
  if (is_copied) {
    CopyCode({address}, time_ns);
  } else if (!module_states_[placement->module].is_identified) {
    Identify(placement->module);
  }
  return recent_locations_.Resolve(address_space_, address, time_ns, /*keeps=*/!is_copied);
}

const AddressSpace& LiveLocator::SpaceOf(uint32_t) {
  AddWaitingMappings();
  return address_space_;
}

bool LiveLocator::IsCopied(uint32_t module) const {
  return modules_[module].kind == ModuleKind::kAnonymous &&
         !module_states_[module].has_reported_code;
}

// Copies the code around `address`. If that begins a generation, it is mapped from `time_ns` on.
void LiveLocator::CopyCode(RuntimeAddress address, uint64_t time_ns) {
  page_charge_.GrowTo(copied_pages_.bytes() + kMaxPagesPerRefresh * kPageBytes);
  // Refresh reports a new generation only once, so memory for its mapping is charged before.
  ChargeNextInterval();
  const std::optional<CopiedPages::Generation> begun = copied_pages_.Refresh(address);
  if (!begun) return;
  MappingEvent mapping;
  mapping.start = begun->start;
  mapping.end = begun->end;
  mapping.time_ns = time_ns;
  const uint32_t newer = GeneratedModule(begun->number);
  AddPlacement(mapping, {newer, begun->start, FileOffset{begun->start.value}},
               [this](const AddressSpace::Placement& known) { return !IsCopied(known.module); });
}

void LiveLocator::Identify(uint32_t module) {
  module_states_[module].is_identified = true;
  ModuleRecord& record = modules_[module];
  if (record.kind == ModuleKind::kVdso) {
    CopyMapping(pid_, module_states_[module].header, &record);
  } else if (record.kind == ModuleKind::kFile) {
    PinOrCopyModule(pid_, module_states_[module].header, &record);
  }
}

uint32_t LiveLocator::AddModule(ModuleRecord record) {
  module_states_.resize(modules_.size() + 1);
  modules_.push_back(std::move(record));
  return static_cast<uint32_t>(modules_.size() - 1);
}

uint32_t LiveLocator::ModuleFor(const MappingEvent& mapping) {
  if (mapping.path == "[vdso]") return SpecialModule(ModuleKind::kVdso, "[vdso]");
  if (!IsFilePath(mapping.path) || IsSharedMemory(pid_, mapping)) return GeneratedModule(0);
  const auto key = std::tuple(mapping.path, mapping.device, mapping.inode, mapping.build_id);
  const auto known = modules_by_file_.find(key);
  if (known != modules_by_file_.end()) return known->second;
  charge_.Add(kModuleBytes + 3 * mapping.path.size());
  ModuleRecord record;
  record.kind = ModuleKind::kFile;
  record.path = mapping.path;
  record.build_id = mapping.build_id;
  record.device = mapping.device;
  record.inode = mapping.inode;
  const uint32_t index = AddModule(std::move(record));
  modules_by_file_.emplace(key, index);
  return index;
}

uint32_t LiveLocator::SpecialModule(ModuleKind kind, const std::string& path) {
  const auto known = modules_by_file_.find(KeyOf(path));
  if (known != modules_by_file_.end()) return known->second;
  ModuleRecord record;
  record.kind = kind;
  record.path = path;
  if (kind == ModuleKind::kKernel) {
    record.kernel = DescribeRunningKernel();
    record.build_id = RunningKernelBuildId();
  }
  const uint32_t index = AddModule(std::move(record));
  modules_by_file_.emplace(KeyOf(path), index);
  return index;
}

uint32_t LiveLocator::GeneratedModule(uint32_t generation) {
  return SpecialModule(ModuleKind::kAnonymous, NameOfGeneration(generation));
}

uint32_t LiveLocator::KernelModule() {
  if (kernel_module_ == kNoModule) {
    kernel_module_ = SpecialModule(ModuleKind::kKernel, kRunningKernel);
  }
  return kernel_module_;
}

std::vector<ModuleRecord> LiveLocator::Modules() const {
  std::vector<ModuleRecord> modules = modules_;
  for (const CopiedPages::Copy& copy : copied_pages_.Copies()) {
    const auto module = modules_by_file_.find(KeyOf(NameOfGeneration(copy.generation)));
    // A generation has no module, and no counts, if there was no memory for it.
    if (module == modules_by_file_.end()) continue;
    modules[module->second].chunks.push_back({copy.address, *copy.bytes});
  }
  for (ModuleRecord& module : modules) SortChunks(&module.chunks);
  return modules;
}

}  // namespace hbbp
