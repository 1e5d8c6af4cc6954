#include "collect/generated_code.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hbbp {
namespace {

std::string PathOfLayer(uint32_t pid, size_t layer) {
  std::string path = "[generated code of " + std::to_string(pid);
  if (layer != 0) path += ", layer " + std::to_string(layer + 1);
  return path + "]";
}

}  // namespace

std::optional<uint32_t> GeneratedCode::Add(uint32_t pid, uint64_t address,
                                           std::span<const uint8_t> bytes, const std::string& name,
                                           CodeLines lines, std::vector<ModuleRecord>* modules,
                                           const std::function<void()>& before_copy) {
  std::vector<Layer>& layers = layers_[pid];
  auto layer = layers.begin();
  for (; layer != layers.end(); ++layer) {
    const std::vector<CodeChunk>& chunks = (*modules)[layer->module].chunks;
    const auto next = layer->chunk_at.lower_bound(address);
    if (next != layer->chunk_at.end() && next->first < address + bytes.size()) {
      const CodeChunk& known = chunks[next->second];
      const bool is_same =
          next->first == address && known.name == name && std::ranges::equal(known.bytes, bytes);
      if (is_same) return layer->module;
      continue;
    }
    if (next == layer->chunk_at.begin()) break;
    const CodeChunk& before = chunks[std::prev(next)->second];
    if (before.offset + before.bytes.size() <= address) break;
  }
  const bool is_new = layer == layers.end();
  const uint64_t size = bytes.size() + lines.rows.size() * sizeof(CodeLine);
  if (size > kMaxBytes - bytes_ || (is_new && layers.size() >= kMaxLayers)) {
    return std::nullopt;
  }
  if (before_copy) before_copy();
  CodeChunk chunk{address, {bytes.begin(), bytes.end()}, name, std::move(lines)};
  if (is_new) {
    ModuleRecord module;
    module.kind = ModuleKind::kAnonymous;
    module.path = PathOfLayer(pid, layers.size());
    module.chunks.push_back(std::move(chunk));
    Layer added{static_cast<uint32_t>(modules->size()), {{address, 0}}};
    layers.reserve(layers.size() + 1);
    modules->push_back(std::move(module));
    layers.push_back(std::move(added));
    layer = std::prev(layers.end());
  } else {
    std::vector<CodeChunk>& chunks = (*modules)[layer->module].chunks;
    if (chunks.size() == chunks.capacity()) chunks.reserve(2 * chunks.size());
    layer->chunk_at.emplace(address, chunks.size());
    chunks.push_back(std::move(chunk));
  }
  bytes_ += size;
  return layer->module;
}

}  // namespace hbbp
