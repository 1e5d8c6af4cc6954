// What page faults cost a process, as its CPU time has them: the kernel's part is in it, too.
#ifndef HBBP_LIB_ATTACH_PAGE_FAULTS_H_
#define HBBP_LIB_ATTACH_PAGE_FAULTS_H_

#include <sys/types.h>

#include <cstdint>

namespace hbbp {

// Returns how many page faults the process has had; 0 if it is not known.
uint64_t CountPageFaults(pid_t pid);

// Measures how long the first access to a page of new memory takes, in ns; half a millisecond where
// hypervisors make page faults slow. Huge pages take much longer. Returns 0 if there is no memory.
double NsOfPageFault();

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_PAGE_FAULTS_H_
