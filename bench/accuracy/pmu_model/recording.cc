#include "pmu_model/recording.h"

#include <filesystem>

namespace hbbp::simulation {
namespace {

uint64_t IdOf(size_t event) { return event + 1; }

}  // namespace

Recording::Recording(const Trace& trace, const std::vector<MethodEvent>& events)
    : trace_(trace), events_(events) {
  for (size_t i = 0; i < events_.size(); ++i) {
    data_.AddEvent(events_[i].attr, {IdOf(i)});
    formats_.push_back(data_.MakeRecordFormat(events_[i].attr));
  }
  AddProcess(formats_.front());
}

void Recording::AddProcess(const RecordFormat& format) {
  const auto record = [&format] {
    return PerfRecordBuilder(format).Pid(kPid).Tid(kPid).Id(IdOf(0)).Time(0);
  };
  const std::string name = std::filesystem::path(trace_.program).filename().string();
  data_.Add(record().Misc(PERF_RECORD_MISC_COMM_EXEC).Comm(name.substr(0, 15)));
  for (const TraceModule& module : trace_.modules) {
    PerfRecordBuilder mapping = record().Misc(PERF_RECORD_MISC_USER);
    const uint64_t size = module.end - module.start;
    data_.Add(module.build_id.empty()
                  ? mapping.Mmap2(module.start, size, module.offset, 0, 0, 0, module.path)
                  : mapping.Mmap2(module.start, size, module.offset, module.build_id, module.path));
  }
}

void Recording::Add(const SimulatedSample& sample) {
  PerfRecordBuilder record(formats_[sample.event]);
  uint16_t misc = PERF_RECORD_MISC_USER;
  if (sample.is_exact) misc |= PERF_RECORD_MISC_EXACT_IP;
  record.Misc(misc).Id(IdOf(sample.event)).Ip(sample.ip).Pid(kPid).Tid(kPid);
  record.Time(1 + sample.cycle).Period(sample.period);
  std::vector<BranchEntry> stack;
  stack.reserve(sample.stack.size());
  for (const BranchPair& branch : sample.stack) {
    BranchEntry entry;
    entry.from = branch.from;
    entry.to = branch.to;
    stack.push_back(entry);
  }
  data_.Add(record.Branches(std::move(stack), 0, {}).Sample());
}

void Recording::AddDescriptions(const std::vector<std::string>& command) {
  data_.AddFeature(PerfFeature::kHostname, data_.Bytes().String("simulation"));
  data_.AddFeature(PerfFeature::kArch, data_.Bytes().String("x86_64"));
  data_.AddFeature(PerfFeature::kCpuDescription,
                   data_.Bytes().String("SIMULATION by hbbp_pmu_model, not a processor"));
  PerfBytes words = data_.Bytes();
  words.U32(static_cast<uint32_t>(command.size()));
  for (const std::string& word : command) words.String(word);
  data_.AddFeature(PerfFeature::kCommandLine, words);
  constexpr uint32_t kAttrBytes = 128;
  PerfBytes names = data_.Bytes();
  names.U32(static_cast<uint32_t>(events_.size())).U32(kAttrBytes);
  for (size_t i = 0; i < events_.size(); ++i) {
    names.Zeros(kAttrBytes).U32(1).String(events_[i].name).U64(IdOf(i));
  }
  data_.AddFeature(PerfFeature::kEventDescription, names);
}

std::vector<uint8_t> Recording::File(const std::vector<std::string>& command) {
  data_.FinishRound();
  AddDescriptions(command);
  return data_.File();
}

}  // namespace hbbp::simulation
