#include "report_tasks.h"

#include <algorithm>
#include <map>
#include <set>

#include "error_sum.h"
#include "pivot_view.h"
#include "report_pivots.h"

namespace hbbp::tools {

BlockTasks BlockTasks::Read(const hbbp::analysis& analysis, Report* report) {
  BlockTasks tasks(report);
  tasks.ReadThreads(analysis);
  if (tasks.order_.size() > 1) tasks.ReadShares(analysis);
  tasks.ReadWithoutCode(analysis);
  tasks.SetTasks(std::min(tasks.order_.size(), kReportTasks));
  return tasks;
}

void BlockTasks::ReadThreads(const hbbp::analysis& analysis) {
  const std::vector<hbbp_thread> threads = analysis.get_profile().threads();
  std::set<uint32_t> processes;
  for (const hbbp_thread& thread : threads) {
    pids_.push_back(thread.pid);
    processes.insert(thread.pid);
  }
  report_->thread_count = threads.size();
  report_->process_count = processes.size();

  PivotRequest request;
  request.rows = {"thread"};
  request.values = {"instructions"};
  const hbbp::pivot pivot = MakePivot(analysis, request);
  const auto add = [&](uint32_t index, double instructions, double error) {
    if (report_->threads.size() == kReportThreads) return;
    const hbbp_thread& thread = threads[index];
    report_->threads.push_back(
        {thread.pid, thread.tid, thread.name, thread.samples, instructions, error});
  };
  std::vector<bool> ran(threads.size());
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const uint32_t index = pivot.label(HBBP_PIVOT_ROWS, row, 0).index;
    if (index >= threads.size()) continue;
    const hbbp_pivot_cell cell = pivot.cell(row);
    order_.push_back(index);
    ran[index] = true;
    add(index, cell.value, cell.standard_error);
  }
  for (uint32_t i = 0; i < threads.size(); ++i) {
    if (!ran[i]) add(i, 0, 0);
  }
}

void BlockTasks::ReadShares(const hbbp::analysis& analysis) {
  struct Row {
    uint32_t block;
    Share share;
  };
  PivotRequest request;
  request.rows = {"block", "thread"};
  request.values = {"executions"};
  const hbbp::pivot pivot = MakePivot(analysis, request);
  const size_t blocks = analysis.block_count();
  std::vector<Row> rows;
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const uint32_t block = pivot.label(HBBP_PIVOT_ROWS, row, 0).index;
    const uint32_t thread = pivot.label(HBBP_PIVOT_ROWS, row, 1).index;
    if (block >= blocks || thread >= pids_.size()) continue;
    const hbbp_pivot_cell cell = pivot.cell(row);
    rows.push_back({block, {thread, cell.value, cell.standard_error}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.block < b.block; });
  for (const Row& row : rows) {
    first_of_block_.resize(row.block + 1, shares_.size());
    shares_.push_back(row.share);
  }
  first_of_block_.resize(blocks + 1, shares_.size());
}

void BlockTasks::ReadWithoutCode(const hbbp::analysis& analysis) {
  PivotRequest request;
  request.rows = {"loop", "function", "thread"};
  request.values = {"instructions"};
  const hbbp::pivot pivot = MakePivot(analysis, request);
  for (size_t row = 0; row < pivot.rows(); ++row) {
    if (pivot.label(HBBP_PIVOT_ROWS, row, 0).text != std::string_view(kNoCode)) continue;
    const hbbp_pivot_cell cell = pivot.cell(row);
    without_code_.push_back({pivot.label(HBBP_PIVOT_ROWS, row, 1).index,
                             pivot.label(HBBP_PIVOT_ROWS, row, 2).index, cell.value,
                             cell.standard_error});
  }
}

void BlockTasks::SetTasks(size_t threads) {
  distinguished_ = threads;
  report_->tasks.clear();
  task_of_thread_.assign(pids_.size(), 0);
  if (threads == 0) return;
  for (uint32_t i = 0; i < threads; ++i) {
    task_of_thread_[order_[i]] = i;
    report_->tasks.push_back({pids_[order_[i]], i});
  }
  // These are the tasks of other threads in processes with a listed thread, and of all other
  // threads.
  std::map<uint32_t, uint32_t> others;
  for (uint32_t i = 0; i < threads; ++i) others.emplace(pids_[order_[i]], kNotListed);
  uint32_t rest = kNotListed;
  for (size_t i = threads; i < order_.size(); ++i) {
    const uint32_t pid = pids_[order_[i]];
    const auto found = others.find(pid);
    uint32_t& task = found != others.end() ? found->second : rest;
    if (task == kNotListed) {
      task = static_cast<uint32_t>(report_->tasks.size());
      report_->tasks.push_back({found != others.end() ? pid : kNotListed, kNotListed});
    }
    task_of_thread_[order_[i]] = task;
  }
}

bool BlockTasks::DistinguishFewer() {
  if (distinguished_ == 0) return false;
  SetTasks(distinguished_ * 3 / 4);
  return true;
}

std::vector<ReportPart> BlockTasks::SplitByTask(uint32_t block_index,
                                                const hbbp_block& block) const {
  const ReportPart whole = {0, block.count, block.standard_error};
  if (first_of_block_.empty() || distinguished_ == 0) return {whole};
  const size_t begin = first_of_block_[block_index];
  const size_t end = first_of_block_[block_index + 1];
  struct Sum {
    double count = 0;
    ErrorSum error;
  };
  std::map<uint32_t, Sum> sums;  // by task
  for (size_t i = begin; i < end; ++i) {
    Sum& sum = sums[task_of_thread_[shares_[i].thread]];
    sum.count += shares_[i].count;
    sum.error.Add(block.source, shares_[i].error);
  }
  if (sums.empty()) return {whole};
  if (sums.size() == 1) return {{sums.begin()->first, block.count, block.standard_error}};
  std::vector<ReportPart> parts;
  for (const auto& [task, sum] : sums) parts.push_back({task, sum.count, sum.error.Value()});
  return parts;
}

}  // namespace hbbp::tools
