// What lists of sums by instruction share. A Record has a module, a function and an address, a
// Key() that records are sorted and added up by, and Add(), which adds another one to it.
#ifndef HBBP_LIB_ANALYSIS_LOCATED_SUMS_H_
#define HBBP_LIB_ANALYSIS_LOCATED_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/function_records.h"
#include "analysis/resolved_modules.h"
#include "analysis/taken_branches.h"
#include "base/address.h"

namespace hbbp {

// Sets the address of what was counted at an offset of record->module: a run-time address in the
// kernel and in generated code, kNoAddress where the code is missing.
template <typename Record>
void SetAddress(const ResolvedModules& modules, uint64_t offset, Record* record) {
  const ModuleKind kind = modules.data().modules[record->module].kind;
  const bool is_runtime = kind == ModuleKind::kKernel || kind == ModuleKind::kAnonymous;
  record->address =
      is_runtime ? ModuleAddress{offset} : FindAddress(modules, record->module, offset);
}

template <typename Record>
void SetFunction(std::span<const FunctionRecord> functions, Record* record) {
  if (record->address == kNoAddress) return;
  record->function = FindFunction(functions, record->module, record->address);
}

template <typename Record>
std::vector<Record> AddUp(std::vector<Record> all) {
  std::sort(all.begin(), all.end(),
            [](const Record& a, const Record& b) { return a.Key() < b.Key(); });
  std::vector<Record> sums;
  for (const Record& record : all) {
    if (!sums.empty() && sums.back().Key() == record.Key()) {
      sums.back().Add(record);
    } else {
      sums.push_back(record);
    }
  }
  return sums;
}

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_LOCATED_SUMS_H_
