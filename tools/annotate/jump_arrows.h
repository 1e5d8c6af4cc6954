// Draws where the branches of a listing lead to, next to its lines.
//
//   ╭─→ add eax, 1          Branches to the same line share an arrow. Shorter arrows are nearer to
//   │   cmp eax, 10         the code; those that find no room are left out.
//   ╰── jne
#ifndef HBBP_TOOLS_ANNOTATE_JUMP_ARROWS_H_
#define HBBP_TOOLS_ANNOTATE_JUMP_ARROWS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace hbbp::tools {

// Of a listing, by the numbers of its lines.
struct Jump {
  size_t from = 0;
  size_t to = 0;
};

// Returns a text for each of `lines` lines, all of the same width on a terminal: empty ones if
// there is nothing to draw. A jump to its own line is not drawn.
std::vector<std::string> DrawJumps(const std::vector<Jump>& jumps, size_t lines);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_JUMP_ARROWS_H_
