#include "image/kernel_symbols.h"

#include <string>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr char kText[] =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000100 t __write_impl\n"
    "ffffffff81000100 W weak_write\n"
    "ffffffff81000180 D some_data\n"
    "ffffffff81000200 T __pi_last_of_kernel\n"
    "ffffffff81000200 T last_of_kernel\n"
    "ffffffffc0001010 t helper\t[module_b]\n"
    "ffffffffc0001000 T entry\t[module_b]\n"
    "ffffffffc0000000 t only\t[module_a]\n";

TEST_CASE("kernel symbols") {
  StatusOr<std::unique_ptr<KernelSymbols>> symbols = KernelSymbols::Parse(kText);
  REQUIRE(symbols.ok());
  const KernelSymbols& kernel = **symbols;
  CHECK(kernel.FunctionName({0xffffffff81000000}) == "startup_64");
  CHECK(kernel.FunctionAround({0xffffffff810000ff}) ==
        AddressRange{{0xffffffff81000000}, {0xffffffff81000100}});
  // Weak is preferred to local; data is not a function.
  CHECK(kernel.FunctionName({0xffffffff81000190}) == "weak_write");
  CHECK(kernel.KernelModule({0xffffffff81000190}).empty());
  CHECK(kernel.FunctionName({0xffffffffc0001008}) == "entry");
  CHECK(kernel.KernelModule({0xffffffffc0001008}) == "module_b");
  CHECK(kernel.FunctionAround({0xffffffffc0001008}) ==
        AddressRange{{0xffffffffc0001000}, {0xffffffffc0001010}});
  CHECK(kernel.KernelModule({0xffffffffc0000001}) == "module_a");
  CHECK(kernel.CodeAt({0xffffffff81000000}, 16).empty());
  CHECK(kernel.DataAt({0xffffffff81000000}, 16).empty());
}

TEST_CASE("the address of a kernel symbol of any kind") {
  StatusOr<std::unique_ptr<KernelSymbols>> symbols = KernelSymbols::Parse(kText);
  REQUIRE(symbols.ok());
  CHECK((*symbols)->AddressOf("_text") == ModuleAddress{0xffffffff81000000});
  CHECK((*symbols)->AddressOf("some_data") == ModuleAddress{0xffffffff81000180});
  // Parts of names and symbols of modules are not found.
  for (const char* none : {"", "text", "_tex", "startup", "helper", "only"}) {
    CAPTURE(none);
    CHECK_FALSE((*symbols)->AddressOf(none).has_value());
  }
}

TEST_CASE("kernel symbols of a file") {
  const TemporaryFolder directory;
  CHECK(KernelSymbols::Open(directory.Write("kallsyms", kText)).ok());
  CHECK(KernelSymbols::Open(directory.File("none")).status().code() == StatusCode::kNotFound);
  const auto bad = KernelSymbols::Open(directory.Write("bad", "x"));
  CHECK(bad.status().message().starts_with(directory.File("bad")));
}

TEST_CASE("the last function before a gap does not fill the gap") {
  StatusOr<std::unique_ptr<KernelSymbols>> symbols = KernelSymbols::Parse(kText);
  REQUIRE(symbols.ok());
  CHECK((*symbols)->FunctionAround({0xffffffff81000210}) ==
        AddressRange{{0xffffffff81000200}, {0xffffffff81002000}});
  CHECK_FALSE((*symbols)->FunctionAround({0xffffffff90000000}).has_value());
  CHECK((*symbols)->FunctionName({0xffffffff90000000}).empty());
  CHECK_FALSE((*symbols)->FunctionAround({0}).has_value());
  CHECK_FALSE((*symbols)->FunctionAround({UINT64_MAX}).has_value());
}

TEST_CASE("hidden kernel addresses are a matter of permission") {
  StatusOr<std::unique_ptr<KernelSymbols>> symbols =
      KernelSymbols::Parse("0000000000000000 T _text\n0000000000000000 t helper\t[module]\n");
  REQUIRE_FALSE(symbols.ok());
  CHECK(symbols.status().code() == StatusCode::kPermission);
  CHECK(symbols.status().message().find("kptr_restrict=0") != std::string::npos);
}

TEST_CASE("text that is not a list of kernel symbols") {
  for (const char* bad : {"x", "12", "12 ", "12 T", "12 T ", "12 Tx", "fffffffffffffffff T a",
                          "ffffffff81000000 T good\n\n"}) {
    CAPTURE(bad);
    CHECK(KernelSymbols::Parse(bad).status().code() == StatusCode::kBadFormat);
  }
  REQUIRE(KernelSymbols::Parse("").ok());
  CHECK_FALSE((*KernelSymbols::Parse(""))->FunctionAround({1}).has_value());
}

TEST_CASE("functions at the very end of the address space") {
  StatusOr<std::unique_ptr<KernelSymbols>> symbols =
      KernelSymbols::Parse("fffffffffffffff0 T last\n");
  REQUIRE(symbols.ok());
  CHECK((*symbols)->FunctionAround({0xfffffffffffffff5}) ==
        AddressRange{{0xfffffffffffffff0}, {UINT64_MAX}});
}

TEST_CASE("the running kernel") {
  StatusOr<std::unique_ptr<KernelSymbols>> symbols = KernelSymbols::Read();
  if (!symbols.ok()) HBBP_SKIP(symbols.status().message());
  std::optional<AddressRange> function = (*symbols)->FunctionAround({0xffffffff81000000});
  if (!function) HBBP_SKIP("the kernel is loaded elsewhere");
  CHECK_FALSE((*symbols)->FunctionName(function->start).empty());
}

}  // namespace
}  // namespace hbbp
