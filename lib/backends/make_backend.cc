#include "backends/auto_backend.h"
#include "backends/backend.h"
#include "backends/pair_backend.h"
#include "backends/perf_backend.h"
#include "backends/tracing_backend.h"

namespace hbbp {
namespace {

std::unique_ptr<Backend> BestOf(std::vector<std::unique_ptr<Backend>> candidates) {
  std::erase(candidates, nullptr);
  return std::make_unique<AutoBackend>(std::move(candidates));
}

}  // namespace

std::unique_ptr<Backend> MakeBackend(SourceKind kind) {
  std::vector<std::unique_ptr<Backend>> candidates;
  switch (kind) {
    case SourceKind::kEbs:
    case SourceKind::kLbr:
    case SourceKind::kIbs:
      return std::make_unique<PerfBackend>(kind);
    case SourceKind::kSwbt:
      return MakeTracingBackend();
    case SourceKind::kEbsAndSwbt:
      if (auto tracing = MakeTracingBackend()) {
        return std::make_unique<PairBackend>(std::make_unique<PerfBackend>(SourceKind::kEbs),
                                             std::move(tracing));
      }
      return nullptr;
    case SourceKind::kNone:
    case SourceKind::kAuto:
      candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kLbr));
      if (kind == SourceKind::kAuto) candidates.push_back(MakeTracingBackend());
      candidates.push_back(std::make_unique<PerfBackend>(SourceKind::kEbs));
      return BestOf(std::move(candidates));
    default:
      return nullptr;
  }
}

}  // namespace hbbp
