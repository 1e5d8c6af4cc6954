// Tests what data of a module is called: objects without sizes, inside of others, with several
// names, and ranges that several of them touch. The assembler makes the module.
#include "image/data_objects.h"

#include <memory>
#include <string>

#include "image/elf_image.h"
#include "support/catch.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

// Each object begins at a multiple of 0x100 in .data; `inner` lies in `outer`.
constexpr std::string_view kData = R"(
  .globl _start
  .text
_start: ret
  .data
  .balign 4096
  .type outer, @object
  .size outer, 0x80
outer: .zero 0x10
  .type inner, @object
  .size inner, 8
inner: .zero 0x90
  .balign 0x100
  .type endless, @object
endless: .zero 0x40
  .type weak_name, @object
  .type _local, @object
  .globl global_name
  .type global_name, @object
  .weak weak_name
  .size _local, 0x20
  .size weak_name, 0x20
  .size global_name, 0x20
_local: weak_name: global_name: .zero 0x20
label: .zero 0x20
  .type of_code, @function
of_code: .zero 0x10
)";

class Module {
 public:
  static std::unique_ptr<Module> Make(const std::string& command = "") {
    auto module = std::make_unique<Module>();
    const std::string path = module->directory_.File("data");
    if (!test::Compile(module->directory_, kData, "-x assembler -nostdlib -static", path)) {
      return nullptr;
    }
    if (!command.empty() && !test::RunCommand(command + " " + path)) return nullptr;
    StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path, {.debug_root = ""});
    REQUIRE(image.ok());
    module->image_ = *std::move(image);
    for (const Segment& segment : module->image_->LoadSegments()) {
      if (!segment.executable) module->data_ = segment.range.start;
    }
    return module;
  }

  std::string NameAt(uint64_t offset, uint64_t bytes = 1) const {
    const ModuleAddress start = data_ + offset;
    const std::optional<DataObject> found = image_->DataAround({start, start + bytes});
    return found ? found->name : "";
  }
  const ElfImage& image() const { return *image_; }
  ModuleAddress data() const { return data_; }

 private:
  test::TemporaryDirectory directory_;
  std::unique_ptr<ElfImage> image_;
  ModuleAddress data_;
};

TEST_CASE("an address is of the innermost object around it, and else of its section") {
  const auto module = Module::Make();
  if (module == nullptr) HBBP_SKIP("no assembler");
  CHECK(module->NameAt(0) == "outer");
  CHECK(module->NameAt(0x0f) == "outer");
  CHECK(module->NameAt(0x10) == "inner");
  CHECK(module->NameAt(0x17) == "inner");
  CHECK(module->NameAt(0x18) == "outer");
  CHECK(module->NameAt(0x7f) == "outer");
  CHECK(module->NameAt(0x80) == "[.data]");
  CHECK(module->NameAt(0x160) == "[.data]");
  CHECK(module->NameAt(0x180) == "[.data]");
  CHECK(module->NameAt(0x100000).empty());
}

TEST_CASE(
    "an object without a size extends to the next one, and the best of several names counts") {
  const auto module = Module::Make();
  if (module == nullptr) HBBP_SKIP("no assembler");
  CHECK(module->NameAt(0x100) == "endless");
  CHECK(module->NameAt(0x13f) == "endless");
  CHECK(module->NameAt(0x140) == "global_name");
  CHECK(module->NameAt(0x15f) == "global_name");
}

TEST_CASE("a range is of the only object that it touches, and else of the section") {
  const auto module = Module::Make();
  if (module == nullptr) HBBP_SKIP("no assembler");
  CHECK(module->NameAt(0x40, 0x40) == "outer");
  CHECK(module->NameAt(0x40, 0x100 - 0x40) == "outer");
  CHECK(module->NameAt(0x00, 0x40) == "[.data]");
  CHECK(module->NameAt(0x120, 0x40) == "[.data]");
  CHECK(module->NameAt(0x80, 0x40) == "[.data]");
}

TEST_CASE("data of files without symbols is of sections, and without sections of segments") {
  const auto stripped = Module::Make("strip");
  if (stripped == nullptr) HBBP_SKIP("no strip");
  CHECK(stripped->NameAt(0x10) == "[.data]");
  CHECK_FALSE(stripped->image().DataAround({stripped->data(), stripped->data() + 1})->is_symbol);
  const auto bare = Module::Make("objcopy --strip-section-headers");
  if (bare == nullptr) return;  // before binutils 2.41
  CHECK(bare->NameAt(0x10) == "[data]");
}

}  // namespace
}  // namespace hbbp
