#include "perf/memory_nodes.h"

#include <filesystem>
#include <string>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr uint64_t kBlock = 0x8000000;

// A directory like /sys/devices/system.
class System {
 public:
  System() { Make("memory"); }

  const System& Make(const std::string& directory) const {
    std::filesystem::create_directories(directory_.File(directory));
    return *this;
  }
  MemoryNodes Read(const std::string& block_bytes) const {
    if (!block_bytes.empty()) directory_.Write("memory/block_size_bytes", block_bytes);
    return ReadMemoryNodes(directory_.File(""));
  }

 private:
  TemporaryFolder directory_;
};

TEST_CASE("memory is of the node that the kernel lists its block for") {
  System system;
  system.Make("node/node0/memory0").Make("node/node0/memory1").Make("node/node12/memory130");
  system.Make("node/node0/memory_side_cache").Make("node/node0/memory3x").Make("node/power");
  const MemoryNodes nodes = system.Read("8000000\n");
  REQUIRE(nodes.nodes.size() == 2);
  CHECK(nodes.Find(0) == 0);
  CHECK(nodes.Find(2 * kBlock - 1) == 0);
  CHECK(nodes.Find(130 * kBlock) == 12);
  CHECK(nodes.Find(131 * kBlock - 1) == 12);
  for (const uint64_t block : {2, 3, 63, 64, 65, 129, 131, 100'000}) {
    CAPTURE(block);
    CHECK(nodes.Find(block * kBlock) == kUnknownNode);
  }
  CHECK(nodes.Find(UINT64_MAX) == kUnknownNode);
}

TEST_CASE("a block that nodes share is of none") {
  System system;
  system.Make("node/node0/memory7").Make("node/node1/memory7").Make("node/node1/memory8");
  const MemoryNodes nodes = system.Read("8000000\n");
  CHECK(nodes.Find(7 * kBlock) == kUnknownNode);
  CHECK(nodes.Find(8 * kBlock) == 1);
}

TEST_CASE("nothing is known where the kernel has no blocks, or no nodes") {
  CHECK(ReadMemoryNodes("/nonexistent").Find(0) == kUnknownNode);
  CHECK(System().Read("8000000\n").Find(0) == kUnknownNode);
  CHECK(System().Make("node/node0/cpu0").Read("8000000\n").Find(0) == kUnknownNode);
  for (const char* block_bytes : {"", "\n", "0\n", "x\n"}) {
    CHECK(System().Make("node/node0/memory0").Read(block_bytes).Find(0) == kUnknownNode);
  }
}

TEST_CASE("no more memory is taken for a block than an address can have") {
  System system;
  system.Make("node/node0/memory18446744073709551615").Make("node/node0/memory33554432");
  system.Make("node/node0/memory1");
  const MemoryNodes nodes = system.Read("8000000\n");
  REQUIRE(nodes.nodes.size() == 1);
  CHECK(nodes.nodes[0].blocks.size() == 1);
  CHECK(nodes.Find(kBlock) == 0);
}

TEST_CASE("the nodes of this machine have what sysfs lists") {
  const MemoryNodes* const nodes = NodesOfThisMachine();
  CHECK(nodes == NodesOfThisMachine());
  if (!std::filesystem::exists("/sys/devices/system/node/node0")) HBBP_SKIP("no nodes in sysfs");
  REQUIRE(!nodes->nodes.empty());
  CHECK(nodes->nodes[0].number == 0);
}

}  // namespace
}  // namespace hbbp
