// CodeCallers finds the direct calls of a function in the code of the modules of a profile, whether
// they ran or not.
//
// Calls between modules go through a stub (f@plt), which has the name of the function. A module is
// decoded as a whole when it is first searched.
#ifndef HBBP_LIB_EXPORT_CODE_CALLERS_H_
#define HBBP_LIB_EXPORT_CODE_CALLERS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/function_records.h"
#include "export/export_subject.h"

namespace hbbp {

struct CodeCall {
  uint32_t module = 0;
  ModuleAddress from;
  ModuleAddress to;  // of the module: the function, or a stub for it

  auto operator<=>(const CodeCall&) const = default;
};

class CodeCallers {
 public:
  // Searches the modules that ran.
  explicit CodeCallers(const ExportSubject& subject);
  // Searches one more.
  void AddModule(uint32_t module) { modules_.insert(module); }

  // Returns the calls in files, by module and address. Throws WorkCancelled.
  std::vector<CodeCall> Find(const FunctionRecord& function);

 private:
  struct ModuleCalls {
    std::vector<CodeCall> by_target;
    std::multimap<std::string, ModuleAddress> stubs;  // by the function that they are for
  };

  const ModuleCalls& CallsOf(uint32_t module);
  ModuleCalls Scan(uint32_t module) const;

  const ExportSubject& subject_;
  std::set<uint32_t> modules_;
  std::map<uint32_t, ModuleCalls> calls_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_CODE_CALLERS_H_
