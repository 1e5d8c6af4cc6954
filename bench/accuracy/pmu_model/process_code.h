// ProcessCode reads the code of a traced process from the files that it maps.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_PROCESS_CODE_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_PROCESS_CODE_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "image/elf_image.h"
#include "pmu_model/trace_builder.h"

namespace hbbp::simulation {

class ProcessCode : public CodeSource {
 public:
  // Reads the mappings of `pid` at the first address in unknown code, so the process must be alive
  // then.
  explicit ProcessCode(pid_t pid) : pid_(pid) {}

  std::optional<TraceInstruction> At(uint64_t address) override;
  std::vector<TraceModule> Modules() const override;

 private:
  struct Mapped {
    TraceModule module;
    std::shared_ptr<const ElfImage> image;  // null if it is not a file or could not be opened
  };

  const Mapped* Find(uint64_t address);
  void ReadMappings();

  pid_t pid_;
  std::map<uint64_t, Mapped> mapped_;  // by start
  std::map<std::string, std::shared_ptr<const ElfImage>> images_;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_PROCESS_CODE_H_
