#include "capi/option_text.h"

#include <hbbp/capabilities.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "base/nearest_name.h"
#include "base/quantity.h"
#include "capi/boundary.h"
#include "perf/ibs_samples.h"

namespace hbbp::capi {
namespace {

struct Named {
  std::string_view name;
  int32_t value;
};

constexpr Named kSources[] = {
    {"auto", HBBP_SOURCE_AUTO}, {"ebs", HBBP_SOURCE_EBS},
    {"lbr", HBBP_SOURCE_LBR},   {"ibs", HBBP_SOURCE_IBS},
    {"swbt", HBBP_SOURCE_SWBT}, {"ebs-and-swbt", HBBP_SOURCE_EBS_AND_SWBT},
    {"perf", HBBP_SOURCE_PERF}};
constexpr Named kEvents[] = {{"auto", HBBP_EVENT_AUTO},
                             {"task-clock", HBBP_EVENT_TASK_CLOCK},
                             {"cpu-clock", HBBP_EVENT_CPU_CLOCK},
                             {"instructions", HBBP_EVENT_INSTRUCTIONS},
                             {"cycles", HBBP_EVENT_CYCLES}};
constexpr Named kPeriodModes[] = {
    {"prime", HBBP_PERIOD_PRIME}, {"fixed", HBBP_PERIOD_FIXED}, {"random", HBBP_PERIOD_RANDOM}};
constexpr Named kTraceModes[] = {{"lookahead", HBBP_TRACE_LOOKAHEAD},
                                 {"breakpoint", HBBP_TRACE_BREAKPOINT},
                                 {"verify", HBBP_TRACE_VERIFY}};

std::vector<std::string_view> NamesOf(std::span<const Named> list) {
  std::vector<std::string_view> names;
  for (const Named& named : list) names.push_back(named.name);
  return names;
}

Status Wrong(std::string_view value, const std::string& must) {
  return MakeStatus(StatusCode::kInvalidArgument, "'%s' is not %s", std::string(value).c_str(),
                    must.c_str());
}

Status ReadName(std::span<const Named> list, std::string_view value, int32_t* to) {
  for (const Named& named : list) {
    if (named.name != value) continue;
    *to = named.value;
    return OkStatus();
  }
  return Wrong(value, "a value of it" + DidYouMeanOneOf(value, NamesOf(list)));
}

template <typename Number>
Status ReadNumber(std::string_view value, Number* to) {
  const StatusOr<uint64_t> number = ParseNumber(value);
  if (!number.ok() || *number > std::numeric_limits<Number>::max()) {
    return Wrong(value, "a number that it can be, such as 250000, 250k or 1e6");
  }
  *to = static_cast<Number>(*number);
  return OkStatus();
}

Status ReadNumber(std::string_view value, double* to) {
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, *to);
  if (error == std::errc() && rest == end && !value.empty()) return OkStatus();
  return Wrong(value, "a fraction");
}

struct Option {
  std::string_view name;
  Status (*read)(std::string_view value, hbbp_session_options* options);
};

template <auto kField>
Status ReadField(std::string_view value, hbbp_session_options* options) {
  return ReadNumber(value, &(options->*kField));
}

constexpr Option kOptions[] = {
    {"source",
     [](std::string_view value, hbbp_session_options* options) {
       return ReadName(kSources, value, &options->source);
     }},
    {"period_mode",
     [](std::string_view value, hbbp_session_options* options) {
       return ReadName(kPeriodModes, value, &options->period_mode);
     }},
    {"trace_mode",
     [](std::string_view value, hbbp_session_options* options) {
       return ReadName(kTraceModes, value, &options->trace_mode);
     }},
    {"period", &ReadField<&hbbp_session_options::period>},
    {"frequency_hz", &ReadField<&hbbp_session_options::frequency_hz>},
    {"include_kernel", &ReadField<&hbbp_session_options::include_kernel>},
    {"buffer_bytes", &ReadField<&hbbp_session_options::buffer_bytes>},
    {"burst_branches", &ReadField<&hbbp_session_options::burst_branches>},
    {"branch_period", &ReadField<&hbbp_session_options::branch_period>},
    {"expected_seconds", &ReadField<&hbbp_session_options::expected_seconds>},
    {"imprecise", &ReadField<&hbbp_session_options::imprecise>},
    {"slice_ns", &ReadField<&hbbp_session_options::slice_ns>},
    {"max_overhead", &ReadField<&hbbp_session_options::max_overhead>},
    {"max_memory", &ReadField<&hbbp_session_options::max_memory>},
    {"kept_burst_bytes", &ReadField<&hbbp_session_options::kept_burst_bytes>},
    {"keep_accesses", &ReadField<&hbbp_session_options::keep_accesses>},
    {"keep_values", &ReadField<&hbbp_session_options::keep_values>}};
constexpr std::string_view kEvent = "event";

Status ReadEvent(std::string_view value, hbbp_session_options* options, std::string* event_name) {
  if (ReadName(kEvents, value, &options->event).ok()) return OkStatus();
  *event_name = value;
  if (!hbbp::IbsKindsOf(value).empty()) {
    options->event_name = event_name->c_str();
    return OkStatus();
  }
  HBBP_INIT(hbbp_event_code, code);
  HBBP_INIT(hbbp_error, error);
  const hbbp_status status = hbbp_event_find(event_name->c_str(), &code, &error);
  if (status != HBBP_OK) return Status(static_cast<StatusCode>(status), error.message);
  options->event = code.event;
  options->event_name = event_name->c_str();
  options->event_type = code.type;
  options->event_config = code.config;
  return OkStatus();
}

Status ReadOption(std::string_view name, std::string_view value, hbbp_session_options* options,
                  std::string* event_name) {
  if (name == kEvent) return ReadEvent(value, options, event_name);
  std::vector<std::string_view> names = {kEvent};
  for (const Option& option : kOptions) {
    if (option.name == name) return option.read(value, options);
    names.push_back(option.name);
  }
  return Status(StatusCode::kInvalidArgument, "no such option" + DidYouMeanOneOf(name, names));
}

}  // namespace

Status ReadOptionText(std::string_view text, hbbp_session_options* options,
                      std::string* event_name) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return MakeStatus(StatusCode::kInvalidArgument, "'%s': must be NAME=VALUE",
                        std::string(part).c_str());
    }
    const Status status =
        ReadOption(part.substr(0, equals), part.substr(equals + 1), options, event_name);
    if (!status.ok()) return status.Annotate("'" + std::string(part) + "'");
  }
  return OkStatus();
}

}  // namespace hbbp::capi
