// hbbp doctor: reports what this machine, kernel and user can do, and what to change.
#include <hbbp/hbbp.hpp>

#include "command.h"
#include "machine_limits.h"
#include "options.h"
#include "sampling_risks.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "doctor";

std::string StateName(hbbp_capability_state state) {
  switch (state) {
    case HBBP_CAPABILITY_SUPPORTED:
      return "supported";
    case HBBP_CAPABILITY_MISSING:
      return "missing";
    case HBBP_CAPABILITY_DENIED:
      return "denied";
    default:
      return "unknown";
  }
}

}  // namespace

int RunDoctor(int argc, char** argv) {
  std::string format = "table";
  Options options(kName, "Try what this machine, kernel and user can do");
  options.Choice("--format", &format, FormatNames(), "how to print (table)");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  const hbbp::capabilities capabilities;
  Table table(
      {{"name", "capability"}, {"state", "state"}, {"detail", "detail"}, {"advice", "what to do"}});
  table.AddField("version", hbbp_version_string());
  for (const hbbp_capability& capability : capabilities.list()) {
    table.AddRow(
        {capability.name, StateName(capability.state), capability.detail, capability.advice});
  }
  for (const MachineLimit& limit : ReadMachineLimits("/proc/sys/kernel")) {
    table.AddRow({limit.name, limit.state, limit.detail, limit.advice});
  }
  for (const MachineLimit& risk : FindSamplingRisks(capabilities.list())) {
    table.AddRow({risk.name, risk.state, risk.detail, risk.advice});
  }
  return table.Print(kName, FormatFromName(format));
}

}  // namespace hbbp::tools
