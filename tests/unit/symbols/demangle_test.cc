#include "symbols/demangle.h"

#include <string>

#include "support/catch.h"
#include "symbols/rust_demangle.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

TEST_CASE("Names of C++ and C", "[demangle]") {
  CHECK(Demangle("_ZN6shapes3BoxIlE3GetEi") == "shapes::Box<long>::Get(int)");
  CHECK(Demangle("main") == "main");
  CHECK(Demangle("i") == "i");
  CHECK(Demangle("") == "");
  CHECK(Demangle("_Z") == "_Z");
  CHECK(Demangle("_Rubbish") == "_Rubbish");
  CHECK(Demangle("_ZN3fooEv.cold") == "foo() [clone .cold]");
  const std::string too_long = "_Z" + std::string(1 << 20, 'P');
  CHECK(Demangle(too_long) == too_long);
}

TEST_CASE("Names without parameters", "[demangle]") {
  CHECK(WithoutParameters("a::f(int, b<c>)") == "a::f");
  CHECK(WithoutParameters("main") == "main");
  CHECK(WithoutParameters("f() [clone .isra.0] [clone .cold]") == "f");
  CHECK(WithoutParameters("a::(anonymous namespace)::f(int) const") ==
        "a::(anonymous namespace)::f");
  CHECK(WithoutParameters("(anonymous namespace)::f(void (*)(int)) const &") ==
        "(anonymous namespace)::f");
  CHECK(WithoutParameters("A::operator()(int) volatile &&") == "A::operator()");
  CHECK(WithoutParameters("A::operator()") == "A::operator()");
  CHECK(WithoutParameters("a::(anonymous namespace)") == "a::(anonymous namespace)");
  CHECK(WithoutParameters("std::function<int (int)>::swap(std::function<int (int)>&)") ==
        "std::function<int (int)>::swap");
  CHECK(WithoutParameters("main::{lambda(int)#1}::operator()(int) const") ==
        "main::{lambda(int)#1}::operator()");
  CHECK(WithoutParameters("main::{lambda(int)#1}") == "main::{lambda(int)#1}");
  CHECK(WithoutParameters("<r::P<T> as r::Shape>::area") == "<r::P<T> as r::Shape>::area");
  CHECK(WithoutParameters("odd)") == "odd)");
  CHECK(WithoutParameters(")") == ")");
  CHECK(WithoutParameters("") == "");
}

TEST_CASE("Names of Rust in the older scheme", "[demangle]") {
  CHECK(Demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE") ==
        "core::fmt::Write::write_fmt");
  CHECK(Demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
                 "17h930b740aa94f1d3aE") == "<Test + 'static as foo::Bar<Test>>::bar");
  CHECK(Demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123") ==
        "core::fmt::Write::write_fmt");
  // Without a hash it is a name of C++.
  CHECK(Demangle("_ZN4core3fmt5writeE") == "core::fmt::write");
  CHECK(!DemangleRust("_ZN4core3fmt5writeE"));
}

TEST_CASE("Names of Rust in the scheme v0", "[demangle]") {
  CHECK(Demangle("_RNvCs1234_7mycrate3foo") == "mycrate::foo");
  CHECK(Demangle("_RNCNvCsaB_7mycrate4main0B3_") == "mycrate::main::{closure#0}");
  CHECK(Demangle("_RINvNtC3std3mem8align_ofdE") == "std::mem::align_of::<f64>");
  CHECK(Demangle("_RNvMCs4fqI2P2rA04_13const_genericINtB2_8UnsignedKhb_E1f") ==
        "<const_generic::Unsigned<11>>::f");
  CHECK(Demangle("_RNvXs_C7mycrateNtB4_3BarNtB4_5Trait3foo") ==
        "<mycrate::Bar as mycrate::Trait>::foo");
  CHECK(Demangle("_RINvC3foo3barRNtB2_3BazQjTlmEE") ==
        "foo::bar::<&foo::Baz, &mut usize, (i32, u32)>");
  CHECK(Demangle("_RINvC3foo3barFUKCjEuE") == "foo::bar::<unsafe extern \"C\" fn(usize)>");
  CHECK(Demangle("_RINvC3foo3barDNtB2_5TraitEL_E") == "foo::bar::<dyn foo::Trait>");
}

TEST_CASE("Hostile names of Rust end soon", "[demangle]") {
  // Each level refers to the one before twice.
  std::string doubling = "_RINvC1a1b";
  for (int i = 0; i < 60; ++i) doubling += "TB8_B8_";
  doubling += "E";
  CHECK(Demangle(doubling).size() < (128u << 10));
  CHECK(Demangle("_RNvB_1a") == "_RNvB_1a");
  CHECK(Demangle("_RNv" + std::string(10000, 'N')).starts_with("_RNv"));
  CHECK(Demangle("_RINvC1a1b" + std::string(5000, 'R') + "lE").starts_with("_R"));
  for (const char* cut : {"_R", "_RN", "_RNv", "_RNvC", "_RNvC7my", "_RNvCs", "_RINvC1a1b",
                          "_RNvC99999999999999999999a1b", "_RINvC1a1bKj", "_RINvC1a1bDE"}) {
    CHECK(Demangle(cut) == cut);
  }
}

TEST_CASE("Names of the Rust compiler are those of llvm-cxxfilt", "[demangle]") {
  const test::TemporaryDirectory directory;
  const std::string list = directory.File("symbols");
  const auto symbols = test::RunCommand(
      "nm -D \"$(rustc --print sysroot)\"/lib/librustc_driver-*.so | awk '{print $NF}' "
      "| grep '^_R' | grep -v punycode | sort -u | tee " +
      list);
  if (!symbols || symbols->size() < 100) HBBP_SKIP("no rustc whose names are of the scheme v0");
  const auto expected = test::RunCommand("llvm-cxxfilt-19 < " + list);
  if (!expected || expected->size() != symbols->size()) HBBP_SKIP("no llvm-cxxfilt-19");
  size_t same = 0;
  std::string first_difference;
  for (size_t i = 0; i < symbols->size(); ++i) {
    const std::string name = Demangle((*symbols)[i]);
    if (name == (*expected)[i]) {
      ++same;
    } else if (first_difference.empty()) {
      first_difference = name + " but " + (*expected)[i];
    }
  }
  INFO(first_difference);
  CHECK(same == symbols->size());
}

}  // namespace
}  // namespace hbbp
