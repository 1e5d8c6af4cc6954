#include "perf/memory_nodes.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/counted_memory.h"
#include "base/directory.h"
#include "base/files.h"
#include "base/unique_fd.h"

namespace hbbp {
namespace {

// Physical addresses have at most 52 bits, and blocks at least 128 MiB.
constexpr uint64_t kMaxBlocks = uint64_t{1} << (52 - 27);

// Returns the numbers N of all entries PREFIXN of a directory, sorted.
std::vector<uint64_t> ListNumbers(const std::string& directory, std::string_view prefix) {
  std::vector<uint64_t> numbers;
  const UniqueFd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return numbers;
  (void)ForEachName(opened.get(), [&](std::string_view name) {
    if (!name.starts_with(prefix)) return true;
    uint64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) numbers.push_back(number);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Returns 0 if it is not known.
uint64_t ReadBlockBytes(const std::string& directory) {
  const StatusOr<std::string> text = ReadTextFile(directory + "/memory/block_size_bytes");
  uint64_t bytes = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), bytes, 16);
  return bytes;
}

}  // namespace

MemoryNodes ReadMemoryNodes(const std::string& directory) {
  MemoryNodes memory;
  memory.block_bytes = ReadBlockBytes(directory);
  for (const uint64_t number : ListNumbers(directory + "/node", "node")) {
    if (memory.nodes.size() == MemoryNodes::kMaxNodes) break;
    MemoryNodes::Node node = {static_cast<uint32_t>(number), {}};
    for (const uint64_t block :
         ListNumbers(directory + "/node/node" + std::to_string(number), "memory")) {
      if (block >= kMaxBlocks) break;
      node.blocks.resize(block / 64 + 1);
      node.blocks[block / 64] |= uint64_t{1} << block % 64;
    }
    memory.nodes.push_back(std::move(node));
  }
  return memory;
}

const MemoryNodes* NodesOfThisMachine() {
  static const MemoryNodes nodes = [] {
    MemoryNodes read;
    (void)HasMemoryFor([&read] { read = ReadMemoryNodes("/sys/devices/system"); });
    return read;
  }();
  return &nodes;
}

}  // namespace hbbp
