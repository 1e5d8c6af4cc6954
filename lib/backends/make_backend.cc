#include "backends/backend.h"
#include "backends/ebs.h"
#include "backends/swbt.h"

namespace hbbp {

std::unique_ptr<Backend> MakeBackend(SourceKind kind) {
  switch (kind) {
    case SourceKind::kEbs:
      return std::make_unique<EbsBackend>();
    case SourceKind::kSwbt:
      return std::make_unique<SwbtBackend>();
    default:
      return nullptr;
  }
}

}  // namespace hbbp
