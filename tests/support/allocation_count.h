// How often the program that links allocation_count.cc has called operator new.
#ifndef HBBP_TESTS_SUPPORT_ALLOCATION_COUNT_H_
#define HBBP_TESTS_SUPPORT_ALLOCATION_COUNT_H_

namespace hbbp {

int AllocationCount();

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_ALLOCATION_COUNT_H_
