#include <array>

#include "exporter.h"

namespace hbbp::tools {

std::span<const Exporter* const> Exporters() {
  static constexpr std::array kExporters = {&kHtmlExporter};
  return kExporters;
}

}  // namespace hbbp::tools
