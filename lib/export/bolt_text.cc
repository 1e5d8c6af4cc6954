// Profiles for BOLT as text: fdata, which llvm-bolt reads, with branches by function and offset;
// and what perf2bolt reads with -pa, with branches and streams by address.
//
// fdata has a line for each taken branch and for each way from a block to the next one, as
// perf2bolt writes them; without branches, the counts of blocks (no_lbr). The addresses of -pa are
// those of the file, as BOLT 15 to 19 expects them; "F" is a stream that a branch of this module
// began, "f" one that a return or another module began, which may be one after a call. Neither
// knows mispredictions: they are 0.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "export/bolt_blocks.h"
#include "export/bolt_functions.h"
#include "export/bolt_streams.h"
#include "export/exporter.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

// Notes what only samples saw: streams have no counts of it.
void ReportUnobserved(const ExportSubject& subject) {
  double all = 0, sampled = 0;
  for (const BlockRecord& record : subject.analysis.blocks()) {
    if (record.module != subject.module) continue;
    const double instructions = record.estimate.count * record.block.instruction_count;
    all += instructions;
    if (record.families.streams.count <= 0) sampled += instructions;
  }
  ReportShare(subject, sampled, all,
              "of the instructions are left out: no branch was observed around them, only samples");
}

// Merges branches that differ only in addresses outside of the module, which are not written.
using Ends = std::pair<std::optional<ModuleAddress>, std::optional<ModuleAddress>>;
std::map<Ends, double> FindBranches(const ExportSubject& subject) {
  std::map<Ends, double> branches;
  CancelCheck check(subject.work.cancel);
  const auto inside = [&subject](uint32_t module, ModuleAddress address) {
    return module == subject.module && address != kNoAddress ? std::optional(address)
                                                             : std::nullopt;
  };
  for (const TakenBranchRecord& branch : subject.analysis.branches()) {
    check.Step();
    if (!(branch.count > 0)) continue;
    const Ends ends = {inside(branch.from_module, branch.from),
                       inside(branch.to_module, branch.to)};
    if (ends.first || ends.second) branches[ends] += branch.count;
  }
  return branches;
}

class FdataWriter {
 public:
  FdataWriter(const ExportSubject& subject, const BoltFunctions& functions, ExportSink* sink)
      : subject_(subject), functions_(functions), sink_(sink) {}

  void WriteBranches() {
    for (const auto& [ends, count] : FindBranches(subject_)) {
      const BoltFunctions::Function* from = Find(ends.first);
      const BoltFunctions::Function* to = Find(ends.second);
      branches_ += count;
      if (from == nullptr && to == nullptr) {
        unnamed_ += count;
        continue;
      }
      WriteLine(from, ends.first, to, ends.second, count);
    }
    const std::vector<BoltStream> streams = FindBoltStreams(subject_);
    for (const BoltBlock& block : FindBoltBlocks(subject_, functions_, streams)) {
      if (!(block.went_on > 0)) continue;
      const BoltFunctions::Function* function = functions_.Find(block.last);
      if (function == nullptr) continue;
      WriteLine(function, block.last, function, block.next, block.went_on);
    }
    ReportShare(subject_, unnamed_, branches_,
                "of the branches are left out: they are in no function that BOLT can name");
  }

  void WriteCounts() {
    sink_->Write("no_lbr\n");
    for (const BoltBlock& block : FindBoltBlocks(subject_, functions_, {})) {
      const BoltFunctions::Function* function = functions_.Find(block.start);
      if (function == nullptr) continue;
      WriteLocation(function, block.start);
      sink_->WriteNumber(WholeCount(block.count));
      sink_->Write("\n");
    }
  }

 private:
  const BoltFunctions::Function* Find(std::optional<ModuleAddress> address) const {
    return address ? functions_.Find(*address) : nullptr;
  }

  void WriteLine(const BoltFunctions::Function* from, std::optional<ModuleAddress> from_address,
                 const BoltFunctions::Function* to, std::optional<ModuleAddress> to_address,
                 double count) {
    WriteLocation(from, from_address);
    WriteLocation(to, to_address);
    sink_->Write("0 ");
    sink_->WriteNumber(WholeCount(count));
    sink_->Write("\n");
  }

  void WriteLocation(const BoltFunctions::Function* function,
                     std::optional<ModuleAddress> address) {
    if (function == nullptr) {
      sink_->Write("0 [unknown] 0 ");
      return;
    }
    sink_->Write("1 ");
    for (const char& letter : function->name) {
      if (letter == ' ' || letter == '\\') sink_->Write("\\");
      sink_->Write({&letter, 1});
    }
    sink_->Write(" ");
    sink_->WriteHex(*address - function->range.start);
    sink_->Write(" ");
  }

  const ExportSubject& subject_;
  const BoltFunctions& functions_;
  ExportSink* const sink_;
  double branches_ = 0;
  double unnamed_ = 0;
};

bool HasBranches(const ExportSubject& subject) {
  return std::ranges::any_of(subject.analysis.branches(), [&](const TakenBranchRecord& branch) {
    return branch.count > 0 &&
           (branch.from_module == subject.module || branch.to_module == subject.module);
  });
}

StatusOr<std::unique_ptr<BoltFunctions>> OpenFunctions(const ExportSubject& subject) {
  const std::string& path = subject.analysis.data().modules[subject.module].path;
  const ResolvedModules::Use module = subject.analysis.modules().Open(subject.module);
  if (module->code == nullptr || !module->offsets_are_of_file) {
    return MakeStatus(StatusCode::kNotFound, "%s is not a file, and BOLT rewrites nothing else",
                      path.c_str());
  }
  return BoltFunctions::Create(static_cast<const ElfImage&>(*module->code), path);
}

Status WriteFdata(const ExportSubject& subject, ExportSink* sink) {
  HBBP_ASSIGN_OR_RETURN(const std::unique_ptr<BoltFunctions> functions, OpenFunctions(subject));
  FdataWriter writer(subject, *functions, sink);
  if (HasBranches(subject)) {
    ReportUnobserved(subject);
    writer.WriteBranches();
  } else {
    subject.Note(
        "no branches were observed, so this has counts of blocks only (no_lbr), of which "
        "llvm-bolt makes less");
    writer.WriteCounts();
  }
  return OkStatus();
}

void WriteAggregated(ExportSink* sink, std::optional<ModuleAddress> address) {
  if (address) {
    sink->WriteHex(address->value);
  } else {
    sink->Write("X:0");
  }
  sink->Write(" ");
}

Status WritePreAggregated(const ExportSubject& subject, ExportSink* sink) {
  if (!HasBranches(subject)) {
    return MakeStatus(
        StatusCode::kNotFound,
        "no branches were observed in %s, and perf2bolt -pa reads nothing else: write "
        "the format bolt, which can hold counts of blocks",
        subject.analysis.data().modules[subject.module].path.c_str());
  }
  ReportUnobserved(subject);
  for (const auto& [ends, count] : FindBranches(subject)) {
    sink->Write("B ");
    WriteAggregated(sink, ends.first);
    WriteAggregated(sink, ends.second);
    sink->WriteNumber(WholeCount(count));
    sink->Write(" 0\n");
  }
  for (const BoltStream& stream : FindBoltStreams(subject)) {
    sink->Write(stream.is_arrival ? "f " : "F ");
    WriteAggregated(sink, stream.start);
    WriteAggregated(sink, stream.last);
    sink->WriteNumber(WholeCount(stream.count));
    sink->Write("\n");
  }
  return OkStatus();
}

}  // namespace

constexpr Exporter kBoltExporter = {"bolt", "text for llvm-bolt: -data", true, &WriteFdata};
constexpr Exporter kBoltAggregatedExporter = {"bolt-pre", "text for perf2bolt: -pa -p", true,
                                              &WritePreAggregated};

}  // namespace hbbp
