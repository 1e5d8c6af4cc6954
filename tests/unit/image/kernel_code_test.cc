// Tests which of its parts a KernelCode takes code from (code that changed while it was sampled,
// captured code, a core file, vmlinux) and functions from (vmlinux, kallsyms, the recording), how
// CountPatchedBytes distinguishes rewritten from relocated bytes, and the windows of KernelMemory.
// The kernel is the one of support/tiny_kernel.h.
#include "image/kernel_code.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/tiny_kernel.h"

namespace hbbp {
namespace {

constexpr uint64_t kStart = kTinyKernelStart;

std::vector<uint8_t> Bytes(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::shared_ptr<const KernelCore> CoreIn(const TemporaryFolder& directory,
                                         const CoreBuilder& builder) {
  builder.Write(directory.File("core"));
  auto core = KernelCore::Open(directory.File("core"));
  REQUIRE(core.ok());
  return *std::move(core);
}

std::shared_ptr<const KernelSymbols> Symbols(const std::string& text) {
  auto symbols = KernelSymbols::Parse(text);
  REQUIRE(symbols.ok());
  return *std::move(symbols);
}

KernelParts TinyVmlinux(const TemporaryFolder& directory) {
  KernelParts parts;
  if (!BuildTinyVmlinux(directory.File("vmlinux"))) return parts;
  auto image = ElfImage::Open(directory.File("vmlinux"));
  REQUIRE(image.ok());
  parts.vmlinux = *std::move(image);
  parts.vmlinux_slide = kTinyKernelSlide;
  return parts;
}

TEST_CASE("memory of the kernel is put over its static file") {
  const TemporaryFolder directory;
  KernelParts parts = TinyVmlinux(directory);
  if (parts.vmlinux == nullptr) HBBP_SKIP("there is no compiler");
  CHECK(parts.vmlinux->AddressOfSymbol("_text") == ModuleAddress{kTinyKernelLinked});
  CHECK_FALSE(parts.vmlinux->AddressOfSymbol("none").has_value());
  const std::vector<uint8_t> nop = {0x0f, 0x1f, 0x44, 0x00, 0x00};
  const std::vector<uint8_t> call = {0xe8, 0x16, 0x00, 0x00, 0x00};
  SECTION("the file alone") {
    const KernelCode code(std::move(parts));
    CHECK(Bytes(code.CodeAt({kStart + kTracePoint}, 5)) == nop);
    CHECK_FALSE(code.IsLive({kStart}));
    CHECK(code.PatchedBytes({{kStart}, {kStart + 32}}) == 0);
    CHECK(code.CodeAt({kTinyKernelModule}, 4).empty());
    CHECK_FALSE(code.FunctionAround({kTinyKernelModule}).has_value());
    // This is where it would be without the slide.
    CHECK(code.CodeAt({kTinyKernelLinked}, 4).empty());
  }
  SECTION("with a core file") {
    parts.core = CoreIn(directory, TinyKernelCore());
    const KernelCode code(std::move(parts));
    CHECK(Bytes(code.CodeAt({kStart + kTracePoint}, 5)) == call);
    CHECK(code.IsLive({kStart}));
    CHECK(code.PatchedBytes({{kStart}, {kStart + 19}}) == 3);
    CHECK(Bytes(code.CodeAt({kTinyKernelModule}, 9)) ==
          std::vector<uint8_t>{0x31, 0xc0, 0xc3, 0xcc});
    // This is the mapping of the kernel's data.
    CHECK(code.CodeAt({0xffff888000000000}, 9).empty());
  }
  SECTION("with a core file of a part") {
    parts.core = CoreIn(directory, CoreBuilder().AddMemory(kStart + kTracePoint, call));
    const KernelCode code(std::move(parts));
    std::vector<uint8_t> text = TinyKernelText();
    CHECK(Bytes(code.CodeAt({kStart}, text.size())) == text);
    CHECK_FALSE(code.IsLive({kStart}));
    CHECK(code.IsLive({kStart + kTracePoint}));
  }
  SECTION("with code that was captured when it ran") {
    parts.core = CoreIn(directory, TinyKernelCore());
    parts.captured.Add({kStart + kTracePoint}, std::vector<uint8_t>{0x90});
    const KernelCode code(std::move(parts));
    CHECK(Bytes(code.CodeAt({kStart + kTracePoint}, 2)) == std::vector<uint8_t>{0x90, 0x16});
  }
  SECTION("with code that changed while it was sampled, over all of them") {
    parts.core = CoreIn(directory, TinyKernelCore());
    parts.captured.Add({kStart}, TinyKernelText());
    parts.poked.Add({kStart + kTracePoint}, nop);
    const KernelCode code(std::move(parts));
    std::vector<uint8_t> text = TinyKernelText();
    std::ranges::copy(nop, text.begin() + kTracePoint);
    CHECK(Bytes(code.CodeAt({kStart}, text.size())) == text);
    CHECK(code.PatchedBytes({{kStart}, {kStart + 19}}) == 0);
  }
  SECTION("with such code alone, which does not make the rest of the file memory") {
    parts.poked.Add({kStart + kTracePoint}, call);
    const KernelCode code(std::move(parts));
    CHECK(Bytes(code.CodeAt({kStart}, 50)) == TinyKernelText());
    CHECK_FALSE(code.IsLive({kStart + kTracePoint}));
    CHECK(code.PatchedBytes({{kStart}, {kStart + 19}}) == 3);
  }
}

TEST_CASE("functions of a kernel") {
  const TemporaryFolder directory;
  const AddressRange traced{{kStart + kTraced}, {kStart + kTraced + 3}};
  SECTION("by its static file, which has their sizes") {
    KernelParts parts = TinyVmlinux(directory);
    if (parts.vmlinux == nullptr) HBBP_SKIP("there is no compiler");
    parts.symbols = Symbols(TinyKallsyms());
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionAround({kStart + kTracedReturn}) == traced);
    CHECK(code.FunctionName({kStart + kTracedReturn}) == "traced");
    // Modules are in kallsyms only.
    CHECK(code.FunctionName({kTinyKernelModule + 1}) == "tiny_irq [tiny]");
  }
  SECTION("by kallsyms") {
    KernelParts parts;
    parts.symbols = Symbols(TinyKallsyms());
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionAround({kStart + 40}) == AddressRange{traced.start, {kStart + 48}});
    CHECK(code.FunctionName({kStart + 1}) == "sys_work");
    CHECK(code.CodeAt({kStart}, 4).empty());
  }
  SECTION("by symbols of the kernel as it was linked, which do not have modules") {
    KernelParts parts;
    parts.symbols = Symbols(TinyKallsyms(kTinyKernelLinked));
    parts.symbols_slide = kTinyKernelSlide;
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionName({kStart + kTracedReturn}) == "traced");
    CHECK(code.FunctionName({kTinyKernelLinked + kTracedReturn}).empty());
    CHECK(code.FunctionName({kTinyKernelModule + kTinyKernelSlide}).empty());
  }
  SECTION("by what was recorded, or by the module") {
    KernelParts parts;
    parts.functions = {{traced, "traced"}};
    parts.modules = {{{{kStart}, {kStart + 4096}}, "[kernel]"},
                     {{{kTinyKernelModule}, {kTinyKernelModule + 4096}}, "[tiny]"}};
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionName({kStart + kTracedReturn}) == "traced");
    CHECK(code.FunctionName({kStart}) == "[kernel]");
    CHECK(code.FunctionName({kTinyKernelModule + 9}) == "[tiny]");
    CHECK(code.FunctionName({kTinyKernelModule + 4096}).empty());
  }
  SECTION("by what was recorded of code that kallsyms does not have any more") {
    KernelParts parts;
    parts.symbols = Symbols(TinyKallsyms());
    const AddressRange unloaded{{kTinyKernelModule + 256}, {kTinyKernelModule + 300}};
    const AddressRange older{{kTinyKernelModule}, {kTinyKernelModule + 64}};
    parts.functions = {{older, "bpf_prog_1"}, {unloaded, "bpf_prog_2"}};
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionName({kTinyKernelModule + 256}) == "bpf_prog_2");
    CHECK(code.FunctionAround({kTinyKernelModule + 299}) == unloaded);
    CHECK(code.FunctionName({kTinyKernelModule + 255}) == "tiny_exit [tiny]");
    CHECK(code.FunctionName({kTinyKernelModule + 300}) == "tiny_exit [tiny]");
    // Another one is there now, or it is the same under the name that it had.
    CHECK(code.FunctionName({kTinyKernelModule + 8}) == "tiny_exit [tiny]");
    CHECK(code.FunctionName({kTinyKernelModule}) == "tiny_irq [tiny]");
  }
  SECTION("by nothing: memory that belongs together") {
    KernelParts parts;
    parts.core = CoreIn(directory, TinyKernelCore());
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionAround({kStart + 5}) == AddressRange{{kStart}, {kStart + 50}});
    CHECK(code.FunctionName({kStart + 5}).empty());
    CHECK_FALSE(code.FunctionAround({0xffff888000000000}).has_value());
  }
  SECTION("by what was recorded with all its code, though symbols read later have others") {
    KernelParts parts;
    parts.symbols = Symbols(TinyKallsyms());
    const AddressRange program{{kTinyKernelModule + 8}, {kTinyKernelModule + 11}};
    parts.functions = {{traced, "other"}, {program, "program"}};
    parts.poked.Add(program.start, std::vector<uint8_t>{0x31, 0xc0, 0xc3});
    parts.poked.Add(traced.start, std::vector<uint8_t>{0x31, 0xc0});
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionAround(program.start + 1) == program);
    CHECK(code.FunctionName(program.start + 1) == "program");
    CHECK(code.FunctionName(program.start - 1) == "tiny_exit [tiny]");
    CHECK(code.FunctionName(traced.start) == "traced");
  }
  SECTION("by nothing: code that was generated, unless other memory is around it") {
    KernelParts parts;
    const std::vector<uint8_t> generated = {0x31, 0xc0, 0xc3};
    parts.core = CoreIn(directory, TinyKernelCore());
    parts.poked.Add({kTinyKernelModule + 4096}, generated);
    parts.poked.Add({kStart + kTracePoint}, generated);
    const KernelCode code(std::move(parts));
    CHECK(code.FunctionAround({kTinyKernelModule + 4097}) ==
          AddressRange{{kTinyKernelModule + 4096}, {kTinyKernelModule + 4099}});
    CHECK(code.FunctionAround({kStart + kTracePoint}) == AddressRange{{kStart}, {kStart + 50}});
  }
}

TEST_CASE("bytes that the kernel rewrote, and those that it relocated") {
  constexpr uint64_t kSlide = 0x2c00000;
  const std::vector<uint8_t> file = {0x48, 0xc7, 0xc7, 0x00, 0x10, 0x00, 0x81, 0x90, 0x90};
  CHECK(CountPatchedBytes(file, file, kSlide) == 0);
  // The instruction is mov $0xffffffff81001000, %rdi.
  std::vector<uint8_t> live = {0x48, 0xc7, 0xc7, 0x00, 0x10, 0xc0, 0x83, 0x90, 0x90};
  CHECK(CountPatchedBytes(live, file, kSlide) == 0);
  CHECK(CountPatchedBytes(live, file, 0) == 2);
  live[8] = 0xcc;
  CHECK(CountPatchedBytes(live, file, kSlide) == 1);
  // This is a distance to something that is not moved.
  live = {0x48, 0xc7, 0xc7, 0x00, 0x10, 0x40, 0x7e, 0x90, 0x90};
  CHECK(CountPatchedBytes(live, file, kSlide) == 0);
  // Only what both have is compared.
  CHECK(CountPatchedBytes(std::span(live).first(3), file, kSlide) == 0);
  CHECK(CountPatchedBytes({}, file, kSlide) == 0);
}

TEST_CASE("an address in 64 bits that was relocated") {
  const std::vector<uint8_t> file = {0x00, 0x10, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff};
  const std::vector<uint8_t> live = {0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  CHECK(CountPatchedBytes(live, file, 0x1000000) == 0);
}

TEST_CASE("kernel memory is at one address, whatever is asked first") {
  KernelMemory memory;
  constexpr uint64_t kBase = 0xffffffff81200000 - 16;
  // This layer has every byte but one from there on.
  memory.AddLayer([](ModuleAddress address, std::span<uint8_t> buffer) -> size_t {
    if (address.value < kBase || address.value == kBase + 100'000) return 0;
    const uint64_t gap = address.value < kBase + 100'000 ? kBase + 100'000 : UINT64_MAX;
    const size_t size = std::min<uint64_t>(buffer.size(), gap - address.value);
    for (size_t i = 0; i < size; ++i) buffer[i] = static_cast<uint8_t>((address.value + i) * 7);
    return size;
  });
  CHECK(memory.At({kBase - 1}, 10).empty());
  const auto all = memory.At({kBase}, 200'000);
  REQUIRE(all.size() == 100'000);
  CHECK(all[99'999] == static_cast<uint8_t>((kBase + 99'999) * 7));
  CHECK(memory.At({kBase + 100'000}, 1).empty());
  // This range crosses the bound between two of its windows.
  CHECK(memory.At({kBase + 100'001}, 3 << 20).size() >= 2 << 20);
  CHECK(memory.At({kBase}, 16).data() == all.data());
  for (const uint64_t outside : {uint64_t{0}, uint64_t{0xffffffff7fffffff}, UINT64_MAX}) {
    CHECK(memory.At({outside}, 16).empty());
  }
  CHECK(memory.At({0xfffffffffeffffff}, 16).size() == 1);
}

}  // namespace
}  // namespace hbbp
