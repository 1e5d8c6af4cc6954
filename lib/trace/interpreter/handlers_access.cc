// These handlers record where instructions access memory, and values that they have.
//
// Contract: handlers (micro_op.h).
#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {
namespace {

void RecordOne(const MicroOp* op, Interpreter* m, uint64_t flags) {
  RecordAccess(op, m);
  HBBP_NEXT(op, m, flags);
}

void RecordOneValue(const MicroOp* op, Interpreter* m, uint64_t flags) {
  RecordValue(op, m);
  HBBP_NEXT(op, m, flags);
}

}  // namespace

constinit const Handler kRecordAccess = RecordOne;
constinit const Handler kRecordValue = RecordOneValue;

}  // namespace hbbp::trace
