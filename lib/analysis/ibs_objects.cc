#include "analysis/ibs_objects.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "image/elf_image.h"

namespace hbbp {
namespace {

constexpr char kUnknownObject[] = "[unknown]";
constexpr char kOtherMemory[] = "[other memory]";

IbsObjectRecord ObjectInModule(const ResolvedModules& modules, const IbsAccesses& accesses) {
  IbsObjectRecord object;
  object.kind = IbsObjectKind::kSection;
  object.module = accesses.module;
  object.name = kUnknownObject;
  const ResolvedModules::Use use = modules.Open(accesses.module);
  if (use->code == nullptr || !use->offsets_are_of_file) return object;
  const ModuleAddress start{accesses.address};
  const ModuleAddress end = start + std::min(accesses.bytes, UINT64_MAX - start.value);
  std::optional<DataObject> found =
      static_cast<const ElfImage&>(*use->code).DataAround({start, end});
  if (!found) return object;
  if (found->is_symbol) object.kind = IbsObjectKind::kSymbol;
  object.name = std::move(found->name);
  object.address = found->range.start;
  object.bytes = found->range.end - found->range.start;
  return object;
}

IbsObjectRecord FindObject(const ResolvedModules& modules, const IbsAccesses& accesses) {
  if (accesses.module != kNoModule) return ObjectInModule(modules, accesses);
  IbsObjectRecord object;
  object.name = kOtherMemory;
  if (accesses.name == kNoIbsName) return object;
  object.kind = IbsObjectKind::kBlock;
  object.name = modules.data().ibs_names[accesses.name];
  return object;
}

}  // namespace

std::vector<IbsObjectRecord> ListIbsObjects(const ResolvedModules& modules) {
  using Key = std::tuple<uint32_t, uint64_t, IbsObjectKind, std::string>;
  std::map<Key, std::pair<IbsObjectRecord, std::set<uint32_t>>> objects;  // with their threads
  for (const IbsAccesses& accesses : modules.data().ibs_data) {
    IbsObjectRecord object = FindObject(modules, accesses);
    Key key = {object.module, object.address.value, object.kind, object.name};
    auto& [sum, threads] =
        objects.try_emplace(std::move(key), std::move(object), std::set<uint32_t>()).first->second;
    AddAccesses(accesses, &sum.accesses);
    threads.insert(accesses.thread);
  }
  std::vector<IbsObjectRecord> records;
  records.reserve(objects.size());
  for (auto& [key, object] : objects) {
    object.first.threads = static_cast<uint32_t>(object.second.size());
    records.push_back(std::move(object.first));
  }
  return records;
}

}  // namespace hbbp
