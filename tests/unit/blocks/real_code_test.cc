// Checks properties that the blocks of every function of real programs must have.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "blocks/block_map.h"
#include "image/elf_image.h"
#include "support/catch.h"

namespace hbbp {
namespace {

struct Program {
  std::string path;
  std::unique_ptr<ElfImage> image;
  std::vector<AddressRange> functions;
};

std::vector<Program> Programs() {
  std::vector<Program> programs;
  for (const std::string path :
       {"/bin/bzip2", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libbz2.so.1.0",
        "/usr/bin/lua5.4", "/usr/bin/perl", "/usr/bin/python3",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"}) {
    auto image = ElfImage::Open(path);
    if (!image.ok()) continue;
    auto functions = (*image)->AllFunctions();
    programs.push_back({path, *std::move(image), std::move(functions)});
  }
  return programs;
}

uint64_t CountInstructions(const ElfImage& image, ModuleAddress start, ModuleAddress end) {
  uint64_t count = 0;
  while (start < end) {
    ControlFlow flow;
    if (!DecodeControlFlow(image.CodeAt(start, kMaxInstructionLength), start.value, &flow)) break;
    start = start + flow.length;
    ++count;
  }
  return count;
}

TEST_CASE("blocks of real functions are whole and next to each other") {
  for (const Program& program : Programs()) {
    BlockMap map(program.image.get());
    uint64_t branches = 0;
    uint64_t inside = 0;
    uint64_t gaps = 0;
    uint64_t overlapping = 0;
    for (const AddressRange& function : program.functions) {
      ModuleAddress expected = function.start;
      const auto blocks = map.FunctionBlocks(function.start);
      INFO(program.path << " 0x" << std::hex << function.start.value);
      for (const Block& block : blocks) {
        const bool in_order = expected <= block.start && block.start < block.end;
        if (!in_order) REQUIRE(in_order);
        gaps += block.start - expected;
        expected = block.end;
        // A lock prefix that can be skipped is one instruction and a part of another.
        if (CountInstructions(*program.image, block.start, block.end) != block.instruction_count) {
          ++overlapping;
        }
        const auto found = map.Find(block.start + (block.end - block.start) / 2);
        if (found != block) REQUIRE(found == block);
        if (!block.has_target) continue;
        ++branches;
        if (!function.Contains(block.target)) continue;
        const auto target = map.Find(block.target);
        if (!target.has_value() || target->start != block.target) ++inside;
      }
      if (expected > function.end) REQUIRE(expected <= function.end);
      gaps += function.end - expected;
    }
    const BlockMapStatistics& statistics = map.statistics();
    const uint64_t all = statistics.jump_tables + statistics.unresolved_indirect_jumps;
    std::printf(
        "%s: %llu functions, %llu instructions, %llu blocks; jump tables %llu (%llu entries), "
        "indirect jumps not resolved %llu (%.1f %% resolved); branches into blocks %llu of %llu; "
        "bytes in gaps %llu\n",
        program.path.c_str(), static_cast<unsigned long long>(statistics.functions),
        static_cast<unsigned long long>(statistics.instructions),
        static_cast<unsigned long long>(statistics.blocks),
        static_cast<unsigned long long>(statistics.jump_tables),
        static_cast<unsigned long long>(statistics.jump_table_entries),
        static_cast<unsigned long long>(statistics.unresolved_indirect_jumps),
        all == 0 ? 100.0
                 : 100.0 * static_cast<double>(statistics.jump_tables) / static_cast<double>(all),
        static_cast<unsigned long long>(inside), static_cast<unsigned long long>(branches),
        static_cast<unsigned long long>(gaps));
    CHECK(gaps == statistics.undecodable_bytes);
    CHECK(inside * 10000 <= branches);
    CHECK(overlapping * 1000 <= statistics.blocks);
  }
}

std::vector<Block> AllBlocks(BlockMap* map, const std::vector<AddressRange>& functions) {
  std::vector<Block> all;
  for (const AddressRange& function : functions) {
    const auto blocks = map->FunctionBlocks(function.start);
    all.insert(all.end(), blocks.begin(), blocks.end());
  }
  return all;
}

TEST_CASE("blocks do not depend on the order of questions and evidence") {
  std::mt19937_64 random(20260101);
  for (const Program& program : Programs()) {
    INFO(program.path);
    // Some evidence is wrong on purpose: in the middle of instructions.
    std::vector<std::pair<ModuleAddress, bool>> evidence;
    for (int i = 0; i < 3000 && !program.functions.empty(); ++i) {
      const AddressRange& function = program.functions[random() % program.functions.size()];
      const uint64_t offset = random() % (function.end - function.start);
      evidence.emplace_back(function.start + offset, random() % 2 == 0);
    }
    const auto add = [](BlockMap* map, const std::pair<ModuleAddress, bool>& item) {
      if (item.second) {
        map->AddLeaderEvidence(item.first);
      } else {
        map->AddInstructionEvidence(item.first);
      }
    };

    BlockMap questions_only(program.image.get());
    const auto plain = AllBlocks(&questions_only, program.functions);
    auto shuffled = program.functions;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    BlockMap other_order(program.image.get());
    // Each map is asked once, before any related part was asked for.
    std::vector<std::pair<ModuleAddress, std::optional<Block>>> first_answers;
    for (const AddressRange& function : shuffled) {
      const ModuleAddress middle = function.start + (function.end - function.start) / 2;
      first_answers.emplace_back(middle, other_order.Find(middle));
    }
    for (const auto& [address, block] : first_answers) {
      if (questions_only.Find(address) != block) CHECK(questions_only.Find(address) == block);
    }
    CHECK((AllBlocks(&other_order, program.functions) == plain));

    BlockMap evidence_first(program.image.get());
    for (const auto& item : evidence) add(&evidence_first, item);
    const auto corrected = AllBlocks(&evidence_first, program.functions);
    BlockMap mixed(program.image.get());
    std::shuffle(evidence.begin(), evidence.end(), random);
    for (size_t i = 0; i < evidence.size(); ++i) {
      mixed.Find(shuffled[i % shuffled.size()].start);
      if (i % 2 == 0) mixed.Find(evidence[i].first);
      add(&mixed, evidence[i]);
    }
    CHECK((AllBlocks(&mixed, program.functions) == corrected));
    CHECK(mixed.statistics().blocks == evidence_first.statistics().blocks);
    CHECK(mixed.statistics().instructions == evidence_first.statistics().instructions);
    CHECK(mixed.statistics().undecodable_bytes == evidence_first.statistics().undecodable_bytes);
  }
}

}  // namespace
}  // namespace hbbp
