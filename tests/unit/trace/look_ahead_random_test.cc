// Runs random sequences of integer instructions in the interpreter and on the processor.
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <vector>

#include "support/catch.h"
#include "unit/trace/look_ahead_fixture.h"

namespace hbbp::trace {
namespace {

// rbp and r13 point to memory, and rsp is not used.
constexpr unsigned kPointer = 5;

enum Immediate : uint8_t { kNone, kByte, kFull };

// Emits an opcode with ModRM.
struct Form {
  uint8_t escape;  // 0 or 0x0f
  uint8_t opcode;
  bool is_byte;
  Immediate immediate;
  int digit;       // ModRM.reg, or -1: a register
  uint8_t prefix;  // 0, 0xf2, 0xf3
  bool only_register;
  bool no_66;
};

std::vector<Form> Forms() {
  std::vector<Form> forms;
  for (unsigned group = 0; group < 0x40; group += 8) {
    for (unsigned i = 0; i < 4; ++i) {
      forms.push_back({0, static_cast<uint8_t>(group + i), i % 2 == 0, kNone, -1, 0, false, false});
    }
    const int digit = static_cast<int>(group / 8);
    forms.push_back({0, 0x80, true, kByte, digit, 0, false, false});
    forms.push_back({0, 0x81, false, kFull, digit, 0, false, false});
    forms.push_back({0, 0x83, false, kByte, digit, 0, false, false});
    for (const uint8_t opcode : {0xc0, 0xd0, 0xd2}) {
      forms.push_back({0, opcode, true, opcode == 0xc0 ? kByte : kNone, digit, 0, false, false});
      forms.push_back({0, static_cast<uint8_t>(opcode + 1), false, opcode == 0xc0 ? kByte : kNone,
                       digit, 0, false, false});
    }
  }
  forms.push_back({0, 0x63, false, kNone, -1, 0, false, true});
  forms.push_back({0, 0x69, false, kFull, -1, 0, false, false});
  forms.push_back({0, 0x6b, false, kByte, -1, 0, false, false});
  for (unsigned opcode = 0x84; opcode <= 0x8b; ++opcode) {
    forms.push_back({0, static_cast<uint8_t>(opcode), opcode % 2 == 0, kNone, -1, 0, false, false});
  }
  forms.push_back({0, 0xc6, true, kByte, 0, 0, false, false});
  forms.push_back({0, 0xc7, false, kFull, 0, 0, false, false});
  for (int digit = 2; digit < 6; ++digit) {
    forms.push_back({0, 0xf6, true, kNone, digit, 0, false, false});
    forms.push_back({0, 0xf7, false, kNone, digit, 0, false, false});
  }
  forms.push_back({0, 0xf6, true, kByte, 0, 0, false, false});
  forms.push_back({0, 0xf7, false, kFull, 0, 0, false, false});
  for (int digit = 0; digit < 2; ++digit) {
    forms.push_back({0, 0xfe, true, kNone, digit, 0, false, false});
    forms.push_back({0, 0xff, false, kNone, digit, 0, false, false});
  }
  for (unsigned i = 0; i < 16; ++i) {
    forms.push_back({0x0f, static_cast<uint8_t>(0x40 + i), false, kNone, -1, 0, false, false});
    forms.push_back({0x0f, static_cast<uint8_t>(0x90 + i), true, kNone, 0, 0, false, false});
  }
  for (const uint8_t opcode : {0xa3, 0xab, 0xb3, 0xbb}) {
    forms.push_back({0x0f, opcode, false, kNone, -1, 0, true, false});
  }
  for (int digit = 4; digit < 8; ++digit) {
    forms.push_back({0x0f, 0xba, false, kByte, digit, 0, false, false});
  }
  for (const uint8_t opcode : {0xa4, 0xac}) {
    forms.push_back({0x0f, opcode, false, kByte, -1, 0, false, true});
    forms.push_back({0x0f, static_cast<uint8_t>(opcode + 1), false, kNone, -1, 0, false, true});
  }
  for (const uint8_t opcode : {0xaf, 0xbc, 0xbd, 0xb1, 0xc1}) {
    forms.push_back({0x0f, opcode, false, kNone, -1, 0, false, false});
  }
  for (const uint8_t opcode : {0xb0, 0xc0}) {
    forms.push_back({0x0f, opcode, true, kNone, -1, 0, false, false});
  }
  for (const uint8_t opcode : {0xb8, 0xbc, 0xbd}) {
    forms.push_back({0x0f, opcode, false, kNone, -1, 0xf3, false, false});
  }
  for (const uint8_t opcode : {0xb6, 0xb7, 0xbe, 0xbf}) {
    forms.push_back({0x0f, opcode, false, kNone, -1, 0, false, false});
  }
  return forms;
}

class RandomCode {
 public:
  explicit RandomCode(uint32_t seed) : random_(seed), forms_(Forms()) {}

  void Append(std::vector<uint8_t>* code) {
    const unsigned kind = Number(20);
    if (kind == 0) return AppendOneByte(code);
    const Form& form = forms_[Number(static_cast<unsigned>(forms_.size()))];
    const bool is_wide = !form.is_byte && Number(2) == 0;
    const bool is_word = !form.is_byte && !is_wide && !form.no_66 && Number(4) == 0;
    const bool has_memory = !form.only_register && Number(3) == 0;
    uint8_t rex = static_cast<uint8_t>(is_wide ? 0x48 : Number(2) == 0 ? 0x40 : 0);
    if (rex != 0) rex |= static_cast<uint8_t>(Number(2) * 4 + Number(2));
    if (is_word) code->push_back(0x66);
    if (form.prefix != 0) code->push_back(form.prefix);
    if (rex != 0) code->push_back(rex);
    if (form.escape != 0) code->push_back(form.escape);
    code->push_back(form.opcode);
    const bool is_lea = form.opcode == 0x8d && form.escape == 0;
    const bool high_bytes = form.is_byte && rex == 0;
    const unsigned reg = form.digit >= 0 ? static_cast<unsigned>(form.digit) : Register(high_bytes);
    if (has_memory || is_lea) {
      // The operand is [rbp + disp8], which may cross the ends of lines.
      code->push_back(static_cast<uint8_t>(0x40 | (reg << 3) | kPointer));
      code->push_back(static_cast<uint8_t>(Number(256)));
    } else {
      code->push_back(static_cast<uint8_t>(0xc0 | (reg << 3) | Register(high_bytes)));
    }
    if (form.immediate == kByte) code->push_back(static_cast<uint8_t>(Number(256)));
    if (form.immediate == kFull) {
      for (int i = 0; i < (is_word ? 2 : 4); ++i) {
        code->push_back(static_cast<uint8_t>(Number(256)));
      }
    }
  }

  uint64_t Value() {
    switch (Number(6)) {
      case 0:
        return Number(4);
      case 1:
        return ~uint64_t{0} - Number(2);
      case 2:
        return uint64_t{1} << Number(64);
      case 3:
        return 0x8000000080008080u;
      default:
        return (uint64_t{random_()} << 32) | random_();
    }
  }

 private:
  unsigned Number(unsigned limit) { return random_() % limit; }

  unsigned Register(bool high_bytes) {
    for (;;) {
      const unsigned reg = Number(8);
      if (high_bytes || (reg != 4 && reg != 5)) return reg;
    }
  }

  void AppendOneByte(std::vector<uint8_t>* code) {
    constexpr uint8_t kOpcodes[] = {0x98, 0x99, 0x9e, 0x9f, 0xf5, 0xf8, 0xf9, 0x90, 0x91, 0x97};
    if (Number(3) == 0) code->push_back(0x48);
    if (Number(4) == 0) {
      code->push_back(0x0f);
      code->push_back(static_cast<uint8_t>(0xc8 + Number(4)));
    } else {
      code->push_back(kOpcodes[Number(sizeof(kOpcodes))]);
    }
  }

  std::mt19937 random_;
  const std::vector<Form> forms_;
};

struct Image {
  uint64_t registers[16];
  alignas(64) uint8_t memory[1024];
};

// Loads the registers from `image`, runs the code, and returns.
[[gnu::noinline]] void RunCode(const void* code, Image* image) {
  asm volatile(
      "push %%rbp\n\t"
      "push %[code]\n\t"
      "mov 0(%%rax), %%rcx\n\t"
      "mov 8(%%rax), %%rdx\n\t"
      "mov 16(%%rax), %%rbx\n\t"
      "mov 24(%%rax), %%rsi\n\t"
      "mov 32(%%rax), %%rdi\n\t"
      "mov 40(%%rax), %%r8\n\t"
      "mov 48(%%rax), %%r9\n\t"
      "mov 56(%%rax), %%r10\n\t"
      "mov 64(%%rax), %%r11\n\t"
      "mov 72(%%rax), %%r12\n\t"
      "mov 80(%%rax), %%r14\n\t"
      "mov 88(%%rax), %%r15\n\t"
      "lea 512(%%rax), %%rbp\n\t"
      "mov %%rbp, %%r13\n\t"
      "mov 96(%%rax), %%rax\n\t"
      "call *(%%rsp)\n\t"
      "pop %%rbp\n\t"
      "pop %%rbp"
      : "+a"(image), [code] "+c"(code)
      :
      : "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory",
        "cc");
}

TEST_CASE("Random sequences of integer instructions do what the processor does") {
  constexpr size_t kInstructions = 400;
  auto* code = static_cast<uint8_t*>(
      mmap(nullptr, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(code != MAP_FAILED);
  LookAheadFixture fixture;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    RandomCode random(seed);
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < kInstructions; ++i) random.Append(&bytes);
    bytes.push_back(0xc3);
    std::memcpy(code, bytes.data(), bytes.size());
    Image image;
    for (uint64_t& value : image.registers) value = random.Value();
    for (size_t i = 0; i < sizeof(image.memory); i += 8) {
      const uint64_t value = random.Value();
      std::memcpy(image.memory + i, &value, 8);
    }
    const auto run = [code, &image] { RunCode(code, &image); };
    const Image before = image;
    const Comparison steps = CompareSteps(&fixture, run);
    CHECK(steps.difference == "");
    CHECK(steps.compared + 10 > steps.steps);
    image = before;
    const Comparison bursts = CompareBursts(&fixture, run, 1);
    CHECK(bursts.difference == "");
  }
  munmap(code, 65536);
}

}  // namespace
}  // namespace hbbp::trace
