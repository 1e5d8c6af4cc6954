// Shows a long text in the user's pager.
#ifndef HBBP_TOOLS_PAGER_H_
#define HBBP_TOOLS_PAGER_H_

#include <cstddef>
#include <string_view>

namespace hbbp::tools {

// Returns whether stdout is a terminal on which text can be looked through.
bool CanPage();

// Writes `text` to stdout through HBBP_PAGER, PAGER or less, whichever is set or installed first;
// an empty one means none. less begins at `line`, counted from 0, unless all fits on the screen.
// Returns the exit status, as WriteOutput does.
int ShowInPager(std::string_view command, std::string_view text, size_t line);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PAGER_H_
