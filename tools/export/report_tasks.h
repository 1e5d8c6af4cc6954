// Adds threads and processes to a report, and splits each block by them.
#ifndef HBBP_TOOLS_EXPORT_REPORT_TASKS_H_
#define HBBP_TOOLS_EXPORT_REPORT_TASKS_H_

#include <cstddef>
#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <vector>

#include "report.h"

namespace hbbp::tools {

inline constexpr size_t kReportThreads = 200;
// Maximum number of threads that are distinguished in the blocks.
inline constexpr size_t kReportTasks = 16;

// Splits blocks by task.
class BlockTasks {
 public:
  // Puts threads and tasks into `report`, which must outlive this object.
  static BlockTasks Read(const hbbp::analysis& analysis, Report* report);

  // Returns a part of the block for each task that ran it.
  std::vector<ReportPart> SplitByTask(uint32_t block_index, const hbbp_block& block) const;

  // Estimated executions of code that is missing, in a function.
  struct WithoutCode {
    uint32_t function = 0;  // of the analysis
    uint32_t thread = 0;    // of the profile
    double instructions = 0;
    double error = 0;
  };
  const std::vector<WithoutCode>& without_code() const { return without_code_; }
  uint32_t TaskOf(const WithoutCode& part) const {
    return distinguished_ == 0 ? 0 : task_of_thread_[part.thread];
  }

  // Distinguishes a quarter of the threads fewer; after the last one, none: blocks have one part
  // then. Returns false if none was distinguished before. Tasks get other numbers.
  bool DistinguishFewer();

 private:
  struct Share {
    uint32_t thread = 0;  // of the profile
    double count = 0;
    double error = 0;
  };

  explicit BlockTasks(Report* report) : report_(report) {}
  void ReadThreads(const hbbp::analysis& analysis);
  void ReadShares(const hbbp::analysis& analysis);
  void ReadWithoutCode(const hbbp::analysis& analysis);
  void SetTasks(size_t threads);

  Report* report_;
  std::vector<uint32_t> order_;           // threads of the profile that ran, busiest first
  std::vector<uint32_t> pids_;            // by thread of the profile
  std::vector<uint32_t> task_of_thread_;  // by thread of the profile
  size_t distinguished_ = 0;              // number of threads, the first of order_
  std::vector<Share> shares_;             // by block; none if one thread ran all
  std::vector<size_t> first_of_block_;    // one more than blocks, or none
  std::vector<WithoutCode> without_code_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_TASKS_H_
