// What a page fault takes of the CPU time of a thread: the kernel's part is in it, too.
#ifndef HBBP_LIB_ATTACH_PAGE_FAULTS_H_
#define HBBP_LIB_ATTACH_PAGE_FAULTS_H_

namespace hbbp {

// Measures how long the first access to a page of new memory takes, in ns, by 33 pages. That
// of a huge page takes much longer. Returns 0 if there is no memory.
double MeasurePageFaultNs();

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_PAGE_FAULTS_H_
