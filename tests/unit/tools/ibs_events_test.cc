#include "ibs_events.h"

#include <set>
#include <string>

#include "perf/ibs_events.h"
#include "support/catch.h"

namespace hbbp::tools {
namespace {

TEST_CASE("each event of AMD's names is an event here, and no two are the same") {
  std::set<std::string> own;
  const auto add = [&own](const char* name, uint64_t) { own.insert(name); };
  VisitIbsEvents(IbsFetch(), add);
  VisitIbsEvents(IbsOp(), add);
  std::set<std::string> found;
  for (const auto& [amd, name] : kAmdIbsEvents) {
    CAPTURE(amd);
    CHECK(own.contains(name));
    CHECK(OwnIbsEventName(amd) == name);
    found.insert(name);
  }
  CHECK(found.size() == 14 + 10 + 24 + 13);
}

TEST_CASE("a name that is not AMD's stays as it is") {
  CHECK(OwnIbsEventName("op-loads") == "op-loads");
  CHECK(OwnIbsEventName("ibs_ls_l1_dtlb_res") == "ibs_ls_l1_dtlb_res");
}

}  // namespace
}  // namespace hbbp::tools
