// MakeBackend for programs that shall not carry software branch tracing.
#include "backends/backend.h"
#include "backends/ebs.h"

namespace hbbp {

std::unique_ptr<Backend> MakeBackend(SourceKind kind) {
  if (kind == SourceKind::kEbs) return std::make_unique<EbsBackend>();
  return nullptr;
}

}  // namespace hbbp
