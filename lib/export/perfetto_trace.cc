// A trace of Perfetto: what threads executed over time, by slices of time. Trace is a list of
// packets (protos/perfetto/trace/trace_packet.proto of Perfetto):
//
//   ClockSnapshot     the time of day at time 0 of the trace, which is the start of the profile
//   TrackDescriptor   processes, their threads, and counters of both
//   TrackEvent        for each slice: what the busiest function of each thread was, and the values
//                     of the counters
//
// Tracks come first. Events come by time, as readers want them: at the start of a slice those of
// the slice before it end.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/instruction_table.h"
#include "export/exporter.h"
#include "export/proto_message.h"
#include "export/share_text.h"
#include "isa/taxonomy.h"
#include "mix/pivot_input.h"
#include "symbols/demangle.h"

namespace hbbp {
namespace {

// Numbers of fields and values.
namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                   kTrackDescriptor = 60;
}
namespace clock_snapshot {
constexpr uint32_t kClock = 1, kClockId = 1, kClockTimestamp = 2;
constexpr uint64_t kRealtime = 1, kBoottime = 6;  // the latter is that of packets
}  // namespace clock_snapshot
namespace track_descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
}
namespace process_descriptor {
constexpr uint32_t kPid = 1, kCommandLine = 2, kName = 6;
}
namespace thread_descriptor {
constexpr uint32_t kPid = 1, kTid = 2, kName = 5;
}
namespace counter_descriptor {
constexpr uint32_t kUnit = 3;
constexpr uint64_t kCount = 2;
}  // namespace counter_descriptor
namespace track_event {
constexpr uint32_t kAnnotation = 4, kType = 9, kTrack = 11, kName = 23, kCounterValue = 30;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kCounter = 4;
}  // namespace track_event
namespace annotation {
constexpr uint32_t kUnsigned = 3, kText = 6, kName = 10;
}

// What a thread executed in a slice.
struct ThreadSlice {
  double instructions = 0;
  std::map<uint32_t, double> functions;  // instructions
};

struct SliceSums {
  std::map<uint32_t, ThreadSlice> threads;
  // Instructions by process and group of instructions.
  std::map<uint32_t, std::vector<double>> groups;
};

// The groups of instructions that hbbp mix --by groups has.
const Taxonomy& Groups() {
  static const auto* const taxonomies =
      new std::vector<Taxonomy>(ParseTaxonomies(DefaultTaxonomyText()).value());
  return *std::ranges::find(*taxonomies, kDefaultTaxonomyName, &Taxonomy::name);
}

class Collector {
 public:
  explicit Collector(const ExportSubject& subject)
      : subject_(subject), check_(subject.work.cancel) {}

  // Returns the sums by slice.
  std::map<uint32_t, SliceSums> Collect() {
    const Analysis& analysis = subject_.analysis;
    const auto table =
        std::make_shared<const InstructionTable>(MakeInstructionTable(analysis, subject_.work));
    std::vector<size_t> group_of_kind;
    for (const InstructionProperties& kind : table->kinds) {
      group_of_kind.push_back(Groups().GroupOf(kind));
    }
    const PivotInput input =
        MakePivotInput(analysis, table, {.threads = true, .slices = true, .missing_code = true});
    for (const PivotObservation& observation : input.observations) {
      check_.Step();
      const PivotBlock& block = input.blocks[observation.block];
      const double count = observation.estimate.count;
      if (!subject_.Wants(block.module) || !(count > 0)) continue;
      const double instructions = count * block.instruction_count;
      all_ += instructions;
      if (observation.slice == kNoSlice) {
        without_time_ += instructions;
        continue;
      }
      SliceSums& slice = slices_[observation.slice];
      ThreadSlice& thread = slice.threads[observation.thread];
      thread.instructions += instructions;
      thread.functions[block.function] += instructions;
      std::vector<double>& groups = slice.groups[PidOf(observation.thread)];
      groups.resize(Groups().groups().size() + 1);
      for (uint32_t i = 0; i < block.instruction_count; ++i) {
        const bool has_code = block.block != kNoIndex;
        groups[has_code ? group_of_kind[table->instructions[block.first_instruction + i].kind]
                        : groups.size() - 1] += count;
      }
    }
    return std::move(slices_);
  }

  // Returns the part of all instructions whose time is unknown.
  double ShareWithoutTime() const { return all_ > 0 ? without_time_ / all_ : 0; }

 private:
  uint32_t PidOf(uint32_t thread) const { return subject_.analysis.data().threads[thread].pid; }

  const ExportSubject& subject_;
  CancelCheck check_;
  std::map<uint32_t, SliceSums> slices_;
  double all_ = 0;
  double without_time_ = 0;
};

class Writer {
 public:
  Writer(const ExportSubject& subject, ExportSink* sink) : subject_(subject), sink_(sink) {}

  void Write(const std::map<uint32_t, SliceSums>& slices) {
    WriteClocks();
    WriteTracks(slices);
    const TimeSlices& times = data().slices;
    for (uint32_t i = 0; i < times.count; ++i) {
      now_ns_ = times.StartOf(i);
      EndOpen();
      const auto found = slices.find(i);
      WriteSlice(found == slices.end() ? SliceSums() : found->second);
    }
    now_ns_ = times.EndOf(times.count - 1);
    EndOpen();
    WriteSlice({});
  }

 private:
  // A counter of a process or thread, and its value at the time.
  struct Counter {
    uint64_t track = 0;
    uint64_t value = 0;
  };
  using CounterKey = std::pair<uint32_t, size_t>;  // of a process, the group of instructions

  const ProfileData& data() const { return subject_.analysis.data(); }

  void WritePacket(uint32_t field, const ProtoMessage& content, bool has_time = false) {
    ProtoMessage message;
    if (has_time) message.AddPresent(packet::kTimestamp, now_ns_);
    message.AddNumber(packet::kSequence, 1);
    message.AddBytes(field, content.bytes());
    ProtoMessage in_trace;
    in_trace.AddBytes(trace::kPacket, message.bytes());
    sink_->Write(in_trace.bytes());
  }

  void WriteClocks() {
    if (data().start_time_ns == 0) return;
    ProtoMessage snapshot;
    const auto add = [&](uint64_t id, uint64_t time_ns) {
      ProtoMessage clock;
      clock.AddNumber(clock_snapshot::kClockId, id);
      clock.AddPresent(clock_snapshot::kClockTimestamp, time_ns);
      snapshot.AddBytes(clock_snapshot::kClock, clock.bytes());
    };
    add(clock_snapshot::kBoottime, 0);
    add(clock_snapshot::kRealtime, data().start_time_ns);
    WritePacket(packet::kClockSnapshot, snapshot);
  }

  void WriteTracks(const std::map<uint32_t, SliceSums>& slices) {
    for (const auto& [slice, sums] : slices) {
      for (const auto& [thread, executed] : sums.threads) AddThread(thread);
    }
    for (const auto& [slice, sums] : slices) {
      for (const auto& [pid, groups] : sums.groups) {
        for (size_t group = 0; group < groups.size(); ++group) {
          const CounterKey key{pid, group};
          if (!(groups[group] > 0) || group_counters_.contains(key)) continue;
          group_counters_[key].track = AddCounter(
              processes_[pid], "instructions: " + std::string(Groups().GroupName(group)));
        }
      }
    }
  }

  void AddThread(uint32_t index) {
    if (threads_.contains(index)) return;
    const ThreadRecord& thread = data().threads[index];
    if (!processes_.contains(thread.pid)) AddProcess(thread);
    ProtoMessage described;
    described.AddNumber(thread_descriptor::kPid, thread.pid);
    described.AddNumber(thread_descriptor::kTid, thread.tid);
    if (!thread.name.empty()) described.AddBytes(thread_descriptor::kName, thread.name);
    ProtoMessage track;
    track.AddNumber(track_descriptor::kUuid, threads_[index] = ++last_track_);
    track.AddNumber(track_descriptor::kParent, processes_[thread.pid]);
    track.AddBytes(track_descriptor::kThread, described.bytes());
    WritePacket(packet::kTrackDescriptor, track);
    thread_counters_[index].track = AddCounter(threads_[index], "instructions");
  }

  void AddProcess(const ThreadRecord& thread) {
    ProtoMessage described;
    described.AddNumber(process_descriptor::kPid, thread.pid);
    if (thread.pid == data().pid && !data().command.empty()) {
      described.AddBytes(process_descriptor::kCommandLine, data().command);
    }
    if (!thread.name.empty()) described.AddBytes(process_descriptor::kName, thread.name);
    ProtoMessage track;
    track.AddNumber(track_descriptor::kUuid, processes_[thread.pid] = ++last_track_);
    track.AddBytes(track_descriptor::kProcess, described.bytes());
    WritePacket(packet::kTrackDescriptor, track);
  }

  uint64_t AddCounter(uint64_t parent, const std::string& name) {
    ProtoMessage described;
    described.AddNumber(counter_descriptor::kUnit, counter_descriptor::kCount);
    ProtoMessage track;
    track.AddNumber(track_descriptor::kUuid, ++last_track_);
    track.AddBytes(track_descriptor::kName, name);
    track.AddNumber(track_descriptor::kParent, parent);
    track.AddBytes(track_descriptor::kCounter, described.bytes());
    WritePacket(packet::kTrackDescriptor, track);
    return last_track_;
  }

  ProtoMessage MakeEvent(uint64_t type, uint64_t track) const {
    ProtoMessage event;
    event.AddNumber(track_event::kType, type);
    event.AddNumber(track_event::kTrack, track);
    return event;
  }

  void EndOpen() {
    for (const uint64_t track : open_) {
      WritePacket(packet::kTrackEvent, MakeEvent(track_event::kSliceEnd, track), true);
    }
    open_.clear();
  }

  void WriteSlice(const SliceSums& slice) {
    for (const auto& [thread, executed] : slice.threads) BeginEvent(thread, executed);
    for (auto& [thread, counter] : thread_counters_) {
      const auto found = slice.threads.find(thread);
      SetCounter(found == slice.threads.end() ? 0 : found->second.instructions, &counter);
    }
    for (auto& [key, counter] : group_counters_) {
      const auto found = slice.groups.find(key.first);
      SetCounter(found == slice.groups.end() ? 0 : found->second[key.second], &counter);
    }
  }

  void BeginEvent(uint32_t thread, const ThreadSlice& executed) {
    const auto busiest = std::ranges::max_element(
        executed.functions, {}, [](const auto& function) { return function.second; });
    ProtoMessage event = MakeEvent(track_event::kSliceBegin, threads_[thread]);
    std::string name = "unknown", module;
    if (busiest->first != kNoIndex) {
      const FunctionRecord& function = subject_.analysis.functions()[busiest->first];
      name = Demangle(function.name);
      module = data().modules[function.module].path;
    }
    event.AddBytes(track_event::kName, name);
    AddAnnotation("module", module, &event);
    AddAnnotation("instructions", WholeCount(executed.instructions), &event);
    AddAnnotation("instructions of the function", WholeCount(busiest->second), &event);
    WritePacket(packet::kTrackEvent, event, true);
    open_.push_back(threads_[thread]);
  }

  static void AddAnnotation(std::string_view name, uint64_t value, ProtoMessage* event) {
    ProtoMessage pair;
    pair.AddBytes(annotation::kName, name);
    pair.AddPresent(annotation::kUnsigned, value);
    event->AddBytes(track_event::kAnnotation, pair.bytes());
  }
  static void AddAnnotation(std::string_view name, std::string_view value, ProtoMessage* event) {
    ProtoMessage pair;
    pair.AddBytes(annotation::kName, name);
    pair.AddBytes(annotation::kText, value);
    event->AddBytes(track_event::kAnnotation, pair.bytes());
  }

  // A value holds until the next one.
  void SetCounter(double count, Counter* counter) {
    const uint64_t value = WholeCount(count);
    if (value == counter->value) return;
    counter->value = value;
    ProtoMessage event = MakeEvent(track_event::kCounter, counter->track);
    event.AddPresent(track_event::kCounterValue, value);
    WritePacket(packet::kTrackEvent, event, true);
  }

  const ExportSubject& subject_;
  ExportSink* const sink_;
  uint64_t now_ns_ = 0;
  uint64_t last_track_ = 0;
  std::map<uint32_t, uint64_t> processes_;  // tracks by PID
  std::map<uint32_t, uint64_t> threads_;    // tracks
  std::map<uint32_t, Counter> thread_counters_;
  std::map<CounterKey, Counter> group_counters_;
  std::vector<uint64_t> open_;  // tracks whose event has not ended
};

Status WritePerfetto(const ExportSubject& subject, ExportSink* sink) {
  if (subject.analysis.data().slices.width_ns == 0) {
    return MakeStatus(StatusCode::kNotFound,
                      "the profile does not have the slices of time that a trace consists of: "
                      "record or import with --time-quantum (hbbp record --time-quantum 10ms)");
  }
  Collector collector(subject);
  const std::map<uint32_t, SliceSums> slices = collector.Collect();
  if (slices.empty()) {
    return MakeStatus(StatusCode::kNotFound,
                      "no count of the profile has a time, which a trace needs: record or import "
                      "with --time-quantum");
  }
  if (const double share = collector.ShareWithoutTime(); share > 0) {
    subject.Note(ShareText(share, 1) + " of the instructions are of no known time, and left out");
  }
  Writer(subject, sink).Write(slices);
  return OkStatus();
}

}  // namespace

constexpr Exporter kPerfettoExporter = {
    "perfetto", "trace of threads by slices of time (record --time-quantum): ui.perfetto.dev",
    false, &WritePerfetto};

}  // namespace hbbp
