#include "perf/record_visitor.h"

#include <linux/perf_event.h>

namespace hbbp {

RecordFate VisitRecord(std::span<const uint8_t> record, const RecordFormat& format,
                       RecordVisitor* visitor) {
  const auto visit = [visitor](const auto& parsed, auto on_record) {
    if (!parsed.has_value()) return RecordFate::kTooShort;
    (visitor->*on_record)(*parsed);
    return RecordFate::kVisited;
  };
  switch (RecordHeader(record, format.order).type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return visit(ParseMmap(record, format), &RecordVisitor::OnMmap);
    case PERF_RECORD_COMM:
      return visit(ParseComm(record, format), &RecordVisitor::OnComm);
    case PERF_RECORD_FORK:
      return visit(ParseTask(record, format), &RecordVisitor::OnFork);
    case PERF_RECORD_EXIT:
      return visit(ParseTask(record, format), &RecordVisitor::OnExit);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
      return visit(ParseLost(record, format), &RecordVisitor::OnLost);
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      return visit(ParseThrottle(record, format), &RecordVisitor::OnThrottle);
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      return visit(ParseSwitch(record, format), &RecordVisitor::OnSwitch);
    case PERF_RECORD_NAMESPACES:
      return visit(ParseNamespaces(record, format), &RecordVisitor::OnNamespaces);
    case PERF_RECORD_KSYMBOL:
      return visit(ParseKsymbol(record, format), &RecordVisitor::OnKsymbol);
    case PERF_RECORD_BPF_EVENT:
      return visit(ParseBpfEvent(record, format), &RecordVisitor::OnBpfEvent);
    case PERF_RECORD_CGROUP:
      return visit(ParseCgroup(record, format), &RecordVisitor::OnCgroup);
    case PERF_RECORD_TEXT_POKE:
      return visit(ParseTextPoke(record, format), &RecordVisitor::OnTextPoke);
    default:
      return RecordFate::kUnknownType;
  }
}

}  // namespace hbbp
