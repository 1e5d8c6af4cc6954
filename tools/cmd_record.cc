#include "command.h"

namespace hbbp::tools {

int RunRecord(int, char**) { return Fail("record", "not built yet"); }

}  // namespace hbbp::tools
