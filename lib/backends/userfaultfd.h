// Finds out whether the process has memory whose pages its own threads provide.
#ifndef HBBP_LIB_BACKENDS_USERFAULTFD_H_
#define HBBP_LIB_BACKENDS_USERFAULTFD_H_

namespace hbbp {

// Reads the open descriptors, which takes a microsecond or two for each.
bool HasUserfaultfd();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_USERFAULTFD_H_
