// SimPoint's basic block vectors, an interval for each slice of time: "T:ID:FREQUENCY ...", where
// the frequency of a block is the number of instructions that were executed in it, and IDs are from
// 1 on. Readers skip other lines, and intervals without blocks: comments say which slice an
// interval is, and where each block is. All threads are in one file.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "export/exporter.h"
#include "export/one_line.h"
#include "export/share_text.h"

namespace hbbp {
namespace {

// What a block executed in a slice.
struct SliceFrequency {
  uint32_t slice = 0;
  uint32_t block = 0;
  double instructions = 0;
};

class Collector {
 public:
  explicit Collector(const ExportSubject& subject)
      : subject_(subject), check_(subject.work.cancel) {}

  // Returns the sums by slice and block.
  std::vector<SliceFrequency> Collect() {
    const Analysis& analysis = subject_.analysis;
    for (const StreamContribution& contribution : analysis.stream_contributions()) {
      if (contribution.block == kNoIndex) continue;
      const uint32_t length = analysis.blocks()[contribution.block].block.instruction_count;
      Add(contribution.slice, contribution.block, contribution.sums.weights * length);
    }
    for (const Contribution& contribution : analysis.contributions()) {
      // A sample counts for the whole block.
      if (contribution.block != kNoIndex) {
        Add(contribution.slice, contribution.block, contribution.period_sum);
      }
    }
    std::sort(parts_.begin(), parts_.end(), [](const SliceFrequency& a, const SliceFrequency& b) {
      return std::tie(a.slice, a.block) < std::tie(b.slice, b.block);
    });
    std::vector<SliceFrequency> sums;
    for (const SliceFrequency& part : parts_) {
      if (!sums.empty() && sums.back().slice == part.slice && sums.back().block == part.block) {
        sums.back().instructions += part.instructions;
      } else {
        sums.push_back(part);
      }
    }
    return sums;
  }

  // Returns the part of all instructions whose time is unknown.
  double ShareWithoutTime() const { return all_ > 0 ? without_time_ / all_ : 0; }

 private:
  void Add(uint32_t slice, uint32_t block, double instructions) {
    check_.Step();
    if (!subject_.Wants(subject_.analysis.blocks()[block].module)) return;
    all_ += instructions;
    if (slice == kNoSlice) {
      without_time_ += instructions;
    } else {
      parts_.push_back({slice, block, instructions});
    }
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  std::vector<SliceFrequency> parts_;
  double all_ = 0;
  double without_time_ = 0;
};

class Writer {
 public:
  Writer(const ExportSubject& subject, ExportSink* sink) : subject_(subject), sink_(sink) {}

  // Takes those by slice and block.
  void Write(const std::vector<SliceFrequency>& frequencies) {
    NumberBlocks(frequencies);
    const TimeSlices& slices = subject_.analysis.data().slices;
    uint32_t slice = kNoSlice;
    for (const SliceFrequency& frequency : frequencies) {
      const uint64_t count = WholeCount(frequency.instructions);
      if (count == 0) continue;
      if (frequency.slice != slice) {
        if (slice != kNoSlice) sink_->Write("\n");
        slice = frequency.slice;
        sink_->Write("# slice ");
        sink_->WriteNumber(slice);
        sink_->Write(": from ");
        sink_->WriteNumber(slices.StartOf(slice));
        sink_->Write(" to ");
        sink_->WriteNumber(slices.EndOf(slice));
        sink_->Write(" ns\nT");
      }
      sink_->Write(":");
      sink_->WriteNumber(ids_[frequency.block]);
      sink_->Write(":");
      sink_->WriteNumber(count);
      sink_->Write(" ");
      total_ += count;
    }
    if (slice != kNoSlice) sink_->Write("\n");
    sink_->Write("\n#   Total instructions: ");  // as exp-bbv has it
    sink_->WriteNumber(total_);
    sink_->Write("\n");
    WriteBlocks();
  }

 private:
  // Numbers the blocks that occur, by module and address.
  void NumberBlocks(const std::vector<SliceFrequency>& frequencies) {
    ids_.assign(subject_.analysis.blocks().size(), 0);
    for (const SliceFrequency& frequency : frequencies) {
      if (WholeCount(frequency.instructions) != 0) ids_[frequency.block] = 1;
    }
    uint32_t last = 0;
    for (uint32_t& id : ids_) {
      if (id != 0) id = ++last;
    }
  }

  void WriteBlocks() {
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == 0) continue;
      const BlockRecord& record = subject_.analysis.blocks()[i];
      sink_->Write("# block ");
      sink_->WriteNumber(ids_[i]);
      sink_->Write(": 0x");
      sink_->WriteHex(record.block.start.value);
      sink_->Write(" ");
      sink_->Write(OnOneLine(subject_.analysis.data().modules[record.module].path));
      sink_->Write("\n");
    }
  }

  const ExportSubject& subject_;
  ExportSink* sink_;
  std::vector<uint32_t> ids_;  // by block; 0: it does not occur
  uint64_t total_ = 0;
};

Status WriteBbv(const ExportSubject& subject, ExportSink* sink) {
  if (subject.analysis.data().slices.width_ns == 0) {
    return MakeStatus(StatusCode::kNotFound,
                      "the profile does not have the slices of time that basic block vectors are "
                      "of: record with --time-quantum (hbbp record --time-quantum 100ms)");
  }
  Collector collector(subject);
  const std::vector<SliceFrequency> frequencies = collector.Collect();
  if (frequencies.empty()) {
    return MakeStatus(StatusCode::kNotFound,
                      "no count of the profile has a time, which basic block vectors are by: "
                      "record with --time-quantum");
  }
  if (const double share = collector.ShareWithoutTime(); share > 0) {
    subject.Note(ShareText(share, 1) + " of the instructions are of no known time, and left out");
  }
  Writer(subject, sink).Write(frequencies);
  return OkStatus();
}

}  // namespace

constexpr Exporter kBbvExporter = {
    "bbv", "basic block vectors by slices of time (record --time-quantum): SimPoint", false,
    &WriteBbv};

}  // namespace hbbp
