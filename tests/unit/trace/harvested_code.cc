#include "unit/trace/harvested_code.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <link.h>

#include <span>
#include <string>
#include <unordered_set>

namespace hbbp::testing {
namespace {

constexpr const char* kLibraries[] = {"libm.so.6",      "libmvec.so.1", "libcrypto.so.3",
                                      "libx264.so.164", "libzstd.so.1", "libgmp.so.10"};

std::string MakeKey(const ZydisDecodedInstruction& instruction, const uint8_t* code) {
  std::string key(reinterpret_cast<const char*>(code), instruction.length);
  const auto clear = [&](unsigned offset, unsigned bits) {
    for (unsigned i = 0; i < bits / 8; ++i) key[offset + i] = 0;
  };
  if (instruction.raw.disp.size != 0) {
    clear(instruction.raw.disp.offset, instruction.raw.disp.size);
  }
  for (const auto& immediate : instruction.raw.imm) {
    if (immediate.size > 8) clear(immediate.offset, immediate.size);
  }
  return key;
}

struct Harvest {
  std::unordered_set<std::string> keys;
  std::vector<InstructionBytes> instructions;

  void Add(std::span<const uint8_t> code) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecodedInstruction instruction;
    for (size_t at = 0; at < code.size();) {
      const uint8_t* bytes = code.data() + at;
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, bytes, code.size() - at,
                                                      &instruction))) {
        ++at;
        continue;
      }
      if (keys.insert(MakeKey(instruction, bytes)).second) {
        instructions.emplace_back(bytes, bytes + instruction.length);
      }
      at += instruction.length;
    }
  }
};

int AddModule(dl_phdr_info* info, size_t, void* harvest) {
  // The vdso is skipped, because not all of its pages may be readable.
  if (std::string(info->dlpi_name).find(".so") == std::string::npos) return 0;
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const auto* start = reinterpret_cast<const uint8_t*>(info->dlpi_addr + segment.p_vaddr);
    static_cast<Harvest*>(harvest)->Add({start, segment.p_filesz});
  }
  return 0;
}

}  // namespace

std::vector<InstructionBytes> HarvestInstructions() {
  for (const char* library : kLibraries) dlopen(library, RTLD_NOW | RTLD_LOCAL);
  Harvest harvest;
  dl_iterate_phdr(AddModule, &harvest);
  return std::move(harvest.instructions);
}

}  // namespace hbbp::testing
