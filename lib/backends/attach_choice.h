// Declares what depends on whether a program can trace branches of other processes: it can if it
// links hbbp_attach, and not if it links no_attach.cc.
#ifndef HBBP_LIB_BACKENDS_ATTACH_CHOICE_H_
#define HBBP_LIB_BACKENDS_ATTACH_CHOICE_H_

#include <memory>

#include "backends/backend.h"

namespace hbbp {

// Return nullptr without it.
std::unique_ptr<Backend> MakeAttachBackend();
std::unique_ptr<Backend> MakeEbsAndAttachBackend();

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_ATTACH_CHOICE_H_
