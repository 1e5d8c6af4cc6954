// Kept bursts as text of `perf script -F ip,brstack --show-mmap-events`, which llvm-profgen reads
// (--perfscript), and whatever reads such text of perf: mappings, and then a line for each burst,
// with its branches, the newest first. The address in front is the target of the newest one.
//
// Bursts are whole, however long they are. Cut into stacks of 32 entries, each of which begins with
// the last branch of the one before, they would have the same streams, but some branches twice.
//
// A line of such text counts once. As a burst of weight w stands for w executions, that is right as
// long as weights are alike, as those of branch stacks with a fixed period are. Otherwise a line
// with a number comes first, as in the text that llvm-profgen calls aggregated: how often the burst
// counts. That is its weight, or a multiple of it where weights are so small that rounding them
// would be felt.
#include <sys/sysmacros.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "analysis/taken_branches.h"
#include "export/address_layout.h"
#include "export/exporter.h"
#include "export/one_line.h"
#include "profile/kept_burst_reader.h"
#include "profile/kept_bursts.h"

namespace hbbp {
namespace {

// Weights differ if their standard deviation is more than this share of their mean.
constexpr double kMaxDeviation = 0.1;
// The least mean of numbers that stand for weights.
constexpr double kMinMeanNumber = 100;
// This is written for addresses of unknown code.
constexpr uint64_t kUnknownAddress = 0;

class Weights {
 public:
  void Add(double weight) {
    ++number_;
    sum_ += weight;
    squares_ += weight * weight;
  }
  bool Differ() const {
    const double mean = Mean();
    return number_ != 0 && squares_ / number_ - mean * mean > std::pow(kMaxDeviation * mean, 2);
  }
  double Mean() const { return number_ == 0 ? 0 : sum_ / number_; }

 private:
  double number_ = 0, sum_ = 0, squares_ = 0;
};

class BrstackText {
 public:
  BrstackText(const ExportSubject& subject, KeptBursts bursts, ExportSink* sink)
      : subject_(subject),
        analysis_(subject.analysis),
        sink_(*sink),
        check_(subject.work.cancel),
        bursts_(std::move(bursts)),
        layout_(analysis_, FindBranches()) {
    for (const RecordedBursts& recording : bursts_.recordings) AddEntries(recording);
  }

  Status Write() {
    Weights weights;
    bool has_bursts = false;
    HBBP_RETURN_IF_ERROR(VisitBursts([&](const KeptBurst& burst, const auto&) {
      has_bursts = true;
      if (burst.weight > 0) weights.Add(burst.weight * analysis_.family_scales().streams);
    }));
    if (!has_bursts) return NothingToWrite();
    const bool has_numbers = weights.Differ();
    const double factor = analysis_.family_scales().streams *
                          (weights.Mean() < kMinMeanNumber ? kMinMeanNumber / weights.Mean() : 1);
    HBBP_RETURN_IF_ERROR(CheckMappings());
    WriteMappings();
    HBBP_RETURN_IF_ERROR(VisitBursts([&](const KeptBurst& burst, const std::vector<Entry>& all) {
      if (has_numbers && !(burst.weight > 0)) return;
      if (has_numbers) sink_.Print("%" PRIu64 "\n", WholeCount(burst.weight * factor));
      WriteBurst(burst, all);
    }));
    ReportOmissions();
    return OkStatus();
  }

 private:
  // A branch by run-time addresses.
  struct Entry {
    uint64_t from = kUnknownAddress, to = kUnknownAddress;
    bool is_wanted = false;  // one of its ends is in the modules of the subject
  };
  struct Ends {
    ModuleAddress from, to;
  };

  Status NothingToWrite() const {
    const uint64_t kept = bursts_.number();
    if (kept == 0) return NoKeptBursts(bursts_);
    return MakeStatus(StatusCode::kNotFound,
                      "of %llu whole bursts, %llu are of another event than blocks are counted by, "
                      "and the others have no branch in the chosen modules; --module names others",
                      static_cast<unsigned long long>(kept),
                      static_cast<unsigned long long>(other_sources_));
  }

  // Finds the addresses of all branches in their modules.
  std::vector<UsedCode> FindBranches() {
    std::vector<UsedCode> used;
    const auto find = [&](uint32_t module, uint64_t offset) {
      const ModuleAddress address = FindAddress(analysis_.modules(), module, offset);
      if (address != kNoAddress && subject_.Wants(module)) {
        used.push_back({module, {address, address + 1}});
      }
      return address;
    };
    for (const RecordedBursts& recording : bursts_.recordings) {
      for (const KeptBranch& branch : recording.branches) {
        check_.Step();
        const ModuleAddress from = find(branch.from_module, branch.from);
        ends_.push_back({from, find(branch.to_module, branch.to)});
      }
    }
    return used;
  }

  void AddEntries(const RecordedBursts& recording) {
    const auto locate = [&](uint32_t module, ModuleAddress address, uint64_t* at) {
      const size_t index = layout_.Find(module, address);
      if (index == layout_.mapped().size()) return false;
      *at = layout_.mapped()[index].AddressOf(address);
      return true;
    };
    std::vector<Entry>& entries = entries_.emplace_back();
    for (const KeptBranch& branch : recording.branches) {
      const Ends& ends = ends_[next_ends_++];
      Entry entry;
      entry.is_wanted |= locate(branch.from_module, ends.from, &entry.from);
      entry.is_wanted |= locate(branch.to_module, ends.to, &entry.to);
      entries.push_back(entry);
    }
  }

  // Calls visit(burst, entries) for each burst with a branch in the wanted modules.
  template <typename Visit>
  Status VisitBursts(Visit&& visit) {
    other_sources_ = 0;
    KeptBurst burst;
    for (size_t i = 0; i < entries_.size(); ++i) {
      const std::vector<Entry>& entries = entries_[i];
      KeptBurstReader reader(bursts_.recordings[i]);
      while (reader.Next(&burst)) {
        bool is_wanted = false;
        for (const uint32_t branch : burst.branches) {
          check_.Step();
          is_wanted |= entries[branch].is_wanted;
        }
        const bool is_counted = analysis_.IsCounted(burst.source);
        if (!is_counted) ++other_sources_;
        if (is_wanted && is_counted) visit(burst, entries);
      }
      HBBP_RETURN_IF_ERROR(reader.status());
    }
    return OkStatus();
  }

  bool IsOfFile(const MappedCode& code) const {
    const ModuleKind kind = analysis_.data().modules[code.module].kind;
    return kind == ModuleKind::kFile || kind == ModuleKind::kVdso;
  }

  // Programs that are linked for the same addresses never were in one process.
  Status CheckMappings() const {
    std::vector<MappedCode> mapped;
    std::copy_if(layout_.mapped().begin(), layout_.mapped().end(), std::back_inserter(mapped),
                 [this](const MappedCode& code) { return IsOfFile(code); });
    std::sort(mapped.begin(), mapped.end(),
              [](const MappedCode& a, const MappedCode& b) { return a.start < b.start; });
    const auto path = [this](const MappedCode& code) {
      return analysis_.data().modules[code.module].path.c_str();
    };
    for (size_t i = 1; i < mapped.size(); ++i) {
      const MappedCode& below = mapped[i - 1];
      if (below.module == mapped[i].module || below.end() <= mapped[i].start) continue;
      return MakeStatus(StatusCode::kUnsupported,
                        "%s and %s are linked for the same addresses, and readers would mix them "
                        "up: export one of them (--module)",
                        path(below), path(mapped[i]));
    }
    return OkStatus();
  }

  void WriteMappings() {
    const uint32_t pid = analysis_.data().pid != 0 ? analysis_.data().pid : 1;
    for (const MappedCode& code : layout_.mapped()) {
      if (!IsOfFile(code)) continue;
      const ModuleRecord& module = analysis_.data().modules[code.module];
      sink_.Print("PERF_RECORD_MMAP2 %u/%u: [0x%" PRIx64 "(0x%" PRIx64 ") @ %#" PRIx64 " ", pid,
                  pid, code.start, code.end() - code.start, code.file_offset);
      if (module.build_id.empty()) {
        sink_.Print("%02x:%02x %" PRIu64 " 0", major(module.device), minor(module.device),
                    module.inode);
      } else {
        sink_.Write("<");
        for (const uint8_t byte : module.build_id) sink_.Print("%02x", byte);
        sink_.Write(">");
      }
      sink_.Write("]: r-xp " + OnOneLine(module.path) + "\n");
    }
  }

  void WriteBurst(const KeptBurst& burst, const std::vector<Entry>& entries) {
    sink_.Print("%16" PRIx64, entries[burst.branches.back()].to);
    for (auto branch = burst.branches.rbegin(); branch != burst.branches.rend(); ++branch) {
      sink_.Write(" 0x");
      sink_.WriteHex(entries[*branch].from);
      sink_.Write("/0x");
      sink_.WriteHex(entries[*branch].to);
      sink_.Write("/-/-/-/0 ");
    }
    sink_.Write("\n");
  }

  void ReportOmissions() const {
    const auto note = [this](uint64_t bursts, const char* why) {
      if (bursts != 0) subject_.Note(std::to_string(bursts) + why);
    };
    note(other_sources_, " bursts are left out: blocks are counted by another event");
    note(bursts_.not_kept,
         " bursts are not in the profile, the later ones: there was no room for them "
         "(--keep-bursts)");
  }

  const ExportSubject& subject_;
  const Analysis& analysis_;
  ExportSink& sink_;
  CancelCheck check_;
  const KeptBursts bursts_;
  std::vector<Ends> ends_;  // of the branches of all recordings
  size_t next_ends_ = 0;
  const AddressLayout layout_;
  std::vector<std::vector<Entry>> entries_;  // by recording and branch
  uint64_t other_sources_ = 0;
};

Status WriteBrstack(const ExportSubject& subject, ExportSink* sink) {
  HBBP_ASSIGN_OR_RETURN(KeptBursts bursts, ParseKeptBursts(subject.analysis.data()));
  return BrstackText(subject, std::move(bursts), sink).Write();
}

}  // namespace

constexpr Exporter kBrstackExporter = {
    "brstack", "whole bursts as text of perf script -F ip,brstack, for llvm-profgen: --perfscript",
    false, &WriteBrstack};

}  // namespace hbbp
