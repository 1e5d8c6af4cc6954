// Counts the calls of operator new by the program that links allocation_count.cc.
#ifndef HBBP_TESTS_SUPPORT_ALLOCATION_COUNT_H_
#define HBBP_TESTS_SUPPORT_ALLOCATION_COUNT_H_

namespace hbbp {

int AllocationCount();

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_ALLOCATION_COUNT_H_
