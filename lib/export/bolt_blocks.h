// BoltBlock is a basic block as llvm-bolt divides functions into them: unlike ours, it goes on
// after a call, and has the jump that follows a conditional one.
//
//   401000  cmp %eax, %ebx       Streams went 30 times on from 401002 to 401004, and 12 times after
//   401002  je 401010            a return from the call at 401006 to 40100b, to which other code
//   401004  mov %eax, %edi       jumps: 401002 -> 401004 (30), 401006 -> 40100b (12).
//   401006  call 402000
//   40100b  jmp 401020
#ifndef HBBP_LIB_EXPORT_BOLT_BLOCKS_H_
#define HBBP_LIB_EXPORT_BOLT_BLOCKS_H_

#include <span>
#include <vector>

#include "base/address.h"
#include "export/bolt_functions.h"
#include "export/bolt_streams.h"
#include "export/export_subject.h"

namespace hbbp {

struct BoltBlock {
  ModuleAddress start;
  ModuleAddress last;  // its last instruction
  ModuleAddress next;  // the block after it
  double count = 0;    // executions
  double went_on = 0;  // executions from it to `next` without a taken branch, by the streams
};

// Returns the blocks of subject.module that ran, by address. Throws WorkCancelled.
std::vector<BoltBlock> FindBoltBlocks(const ExportSubject& subject, const BoltFunctions& functions,
                                      std::span<const BoltStream> streams);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_BOLT_BLOCKS_H_
