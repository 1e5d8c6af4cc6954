// IbsSamples delivers the samples of an event of IBS, live or recorded, and adds up the events that
// AMD derives from them.
#ifndef HBBP_LIB_PERF_IBS_SAMPLES_H_
#define HBBP_LIB_PERF_IBS_SAMPLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "events/event_sink.h"
#include "events/samples.h"
#include "perf/byte_order.h"
#include "perf/ibs.h"
#include "perf/ibs_events.h"

namespace hbbp {

enum class IbsKind : uint8_t { kNone, kOp, kFetch };

// Returns the kind of an event by the name of its PMU.
IbsKind IbsKindOf(std::string_view event_name);

struct IbsKinds {
  bool has_ops = false;
  bool has_fetches = false;
  bool empty() const { return !has_ops && !has_fetches; }
};

// Returns the kinds of "ibs_op", "ibs_fetch" or "ibs_op,ibs_fetch", as a session is asked for them;
// none for any other name.
IbsKinds IbsKindsOf(std::string_view names);

class IbsSamples {
 public:
  IbsSamples() = default;
  IbsSamples(IbsKind kind, IbsQuirks quirks) : kind_(kind), quirks_(quirks) {}

  IbsKind kind() const { return kind_; }

  // Delivers a sample with what its raw data says of the op or fetch. It is then of the instruction
  // that the registers name: that of the op, unless they say that its address is invalid, or the
  // linear address of the fetch. Without registers it is an IP sample.
  void Deliver(IpSample sample, std::span<const uint8_t> raw, ByteOrder order, EventSink* sink);

  // Appends the sums that are not 0.
  void AppendTo(Counters* counters) const;

 private:
  template <typename Sample>
  void AddValues(const Sample& sample);
  static constexpr size_t kMaxEvents = 64;  // of a kind

  struct Sum {
    const char* event = nullptr;
    uint64_t value = 0;
  };

  IbsKind kind_ = IbsKind::kNone;
  IbsQuirks quirks_;
  std::array<Sum, kMaxEvents> sums_ = {};  // in the order of VisitIbsEvents
  uint64_t undecodable_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_IBS_SAMPLES_H_
