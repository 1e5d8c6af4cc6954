// These functions read what the kernel saved when a signal interrupted the program. The walks of a
// burst call LoadGeneralRegisters; LoadVectorState follows when the interpreter meets the first
// instruction that needs vectors. PrepareSignalContext, which Tracer::Open calls outside handlers,
// asks the processor where each component of the XSAVE area lies; TakeProtectionKeys gives a
// handler the program's rights to memory.
#include "trace/native/signal_context.h"

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "base/cpuid.h"

namespace hbbp::trace {
namespace {

// The components of the XSAVE area are bits of XSTATE_BV.
enum Component : unsigned {
  kX87 = 0,
  kSse = 1,
  kAvx = 2,  // upper halves of ymm0..15
  kOpmask = 5,
  kZmmHi256 = 6,  // upper halves of zmm0..15
  kHi16Zmm = 7,   // zmm16..31
  kPkru = 9,      // rights by protection key
  kComponentCount = 10
};

// The frame has the FXSAVE area, whose end the kernel uses, then the header, then the components.
constexpr size_t kControlAndStatus = 24;
constexpr size_t kX87Registers = 32;
constexpr size_t kXmmRegisters = 160;
constexpr size_t kSoftwareBytes = 464;
constexpr size_t kHeader = 512;
constexpr size_t kHeaderEnd = 576;
constexpr uint32_t kMagic = 0x46505853;  // FP_XSTATE_MAGIC1

constexpr uint32_t kInitialMxcsr = 0x1f80;
constexpr uint16_t kInitialX87Control = 0x037f;
constexpr uint32_t kRightsOfKey0 = 3;  // to all memory that has no key of its own
constexpr unsigned long kHwcap2Fsgsbase = 1u << 1;

// The layout is that of the kernel's struct _fpx_sw_bytes.
struct SoftwareBytes {
  uint32_t magic;
  uint32_t extended_size;
  uint64_t features;
  uint32_t xstate_size;
};

uint32_t component_offsets[kComponentCount];  // 0 if the processor does not have the component
std::atomic<bool> has_fsgsbase{false};
std::atomic<bool> has_protection_keys{false};

template <typename Value>
Value ReadAt(const uint8_t* bytes, size_t offset) {
  Value value;
  __builtin_memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

uint64_t SegmentBase(int get, bool fs) {
  uint64_t base = 0;
  if (has_fsgsbase.load(std::memory_order_relaxed)) {
    if (fs) {
      asm volatile("rdfsbase %0" : "=r"(base));
    } else {
      asm volatile("rdgsbase %0" : "=r"(base));
    }
    return base;
  }
  // syscall(2) would write errno.
  int64_t result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_arch_prctl), "D"(static_cast<int64_t>(get)), "S"(&base)
               : "rcx", "r11", "memory");
  return result == 0 ? base : 0;
}

// Frame finds the components of a frame that are present and not in their initial state.
class Frame {
 public:
  explicit Frame(const uint8_t* bytes) : bytes_(bytes) {
    const auto software = ReadAt<SoftwareBytes>(bytes, kSoftwareBytes);
    if (software.magic != kMagic || software.xstate_size < kHeaderEnd) return;
    size_ = software.xstate_size;
    in_use_ = ReadAt<uint64_t>(bytes, kHeader) & software.features;
  }

  // Returns nullptr if the component is all zero.
  const uint8_t* Find(Component component, size_t size) const {
    if ((in_use_ >> component & 1) == 0) return nullptr;
    if (component == kX87) return bytes_;
    if (component == kSse) return bytes_ + kXmmRegisters;
    const uint32_t offset = component_offsets[component];
    if (offset < kHeaderEnd || offset + size > size_) return nullptr;
    return bytes_ + offset;
  }

 private:
  const uint8_t* bytes_;
  size_t size_ = kHeader;
  uint64_t in_use_ = 1u << kX87 | 1u << kSse;  // a frame of FXSAVE
};

// Copies `parts` of `size` bytes each to byte `offset` of consecutive registers.
void LoadVectors(const uint8_t* parts, size_t size, unsigned first, size_t offset,
                 MachineState* state) {
  if (parts == nullptr) return;
  for (unsigned i = 0; i < 16; ++i) {
    __builtin_memcpy(state->zmm[first + i] + offset, parts + i * size, size);
  }
}

void LoadX87(const Frame& frame, const uint8_t* bytes, MachineState* state) {
  if (const uint8_t* x87 = frame.Find(kX87, kXmmRegisters)) {
    __builtin_memcpy(state->fxsave, x87, kXmmRegisters);
  } else {
    __builtin_memcpy(state->fxsave, &kInitialX87Control, sizeof(kInitialX87Control));
    __builtin_memcpy(state->fxsave + kControlAndStatus, bytes + kControlAndStatus,
                     kX87Registers - kControlAndStatus);
  }
}

// These name the instructions by their codes, which need no option of the compiler.
uint32_t ReadPkru() {
  uint32_t rights, edx;
  asm volatile(".byte 0x0f, 0x01, 0xee" : "=a"(rights), "=d"(edx) : "c"(0));  // rdpkru
  return rights;
}

void WritePkru(uint32_t rights) {
  asm volatile(".byte 0x0f, 0x01, 0xef" : : "a"(rights), "c"(0), "d"(0) : "memory");  // wrpkru
}

}  // namespace

void LoadGeneralRegisters(const ucontext_t& context, MachineState* state) {
  constexpr int kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};
  const greg_t* registers = context.uc_mcontext.gregs;
  for (unsigned i = 0; i < 16; ++i) state->gpr[i] = static_cast<uint64_t>(registers[kPlaces[i]]);
  state->gpr[kNoGpr] = 0;
  state->rip = static_cast<uint64_t>(registers[REG_RIP]);
  state->flags = static_cast<uint64_t>(registers[REG_EFL]) & (kArithmeticFlags | kFlagDf);
  state->fs_base = SegmentBase(ARCH_GET_FS, true);
  state->gs_base = SegmentBase(ARCH_GET_GS, false);
  state->poison = 0;
  state->has_vector_state = 0;
}

void LoadVectorState(const ucontext_t& context, MachineState* state) {
  __builtin_memset(state->zmm, 0, sizeof(state->zmm));
  __builtin_memset(state->k, 0, sizeof(state->k));
  __builtin_memset(state->fxsave, 0, sizeof(state->fxsave));
  state->has_vector_state = 1;
  const auto* bytes = reinterpret_cast<const uint8_t*>(context.uc_mcontext.fpregs);
  if (bytes == nullptr) {
    state->mxcsr = kInitialMxcsr;
    __builtin_memcpy(state->fxsave, &kInitialX87Control, sizeof(kInitialX87Control));
    __builtin_memcpy(state->fxsave + kControlAndStatus, &kInitialMxcsr, sizeof(kInitialMxcsr));
    return;
  }
  const Frame frame(bytes);
  // MXCSR is valid even if the SSE component is in its initial state.
  state->mxcsr = ReadAt<uint32_t>(bytes, kControlAndStatus);
  LoadX87(frame, bytes, state);
  LoadVectors(frame.Find(kSse, 16 * 16), 16, 0, 0, state);
  LoadVectors(frame.Find(kAvx, 16 * 16), 16, 0, 16, state);
  LoadVectors(frame.Find(kZmmHi256, 16 * 32), 32, 0, 32, state);
  LoadVectors(frame.Find(kHi16Zmm, 16 * 64), 64, 16, 0, state);
  if (const uint8_t* masks = frame.Find(kOpmask, sizeof(state->k))) {
    __builtin_memcpy(state->k, masks, sizeof(state->k));
  }
}

void TakeProtectionKeys(const ucontext_t& context) {
  if (!has_protection_keys.load(std::memory_order_relaxed)) return;
  const auto* bytes = reinterpret_cast<const uint8_t*>(context.uc_mcontext.fpregs);
  if (bytes == nullptr) return;
  const uint8_t* component = Frame(bytes).Find(kPkru, sizeof(uint32_t));
  const uint32_t rights = component == nullptr ? 0 : ReadAt<uint32_t>(component, 0);
  if ((rights & kRightsOfKey0) == 0 && rights != ReadPkru()) WritePkru(rights);
}

void PrepareSignalContext() {
  // In a virtual machine CPUID is slow.
  [[maybe_unused]] static const bool is_prepared = [] {
    constexpr unsigned kXsaveLeaf = 0x0d;
    constexpr Component kExtended[] = {kAvx, kOpmask, kZmmHi256, kHi16Zmm, kPkru};
    for (const Component component : kExtended) {
      const CpuidLeaf leaf = ReadCpuid(kXsaveLeaf, component);
      const uint32_t size = leaf.eax;
      if (size != 0) component_offsets[component] = leaf.ebx;
    }
    constexpr unsigned kFeaturesLeaf = 7;
    constexpr uint32_t kOspke = 1u << 4;
    has_protection_keys.store(
        (ReadCpuid(kFeaturesLeaf).ecx & kOspke) != 0 && component_offsets[kPkru] != 0,
        std::memory_order_relaxed);
    has_fsgsbase.store((getauxval(AT_HWCAP2) & kHwcap2Fsgsbase) != 0, std::memory_order_relaxed);
    return true;
  }();
}

}  // namespace hbbp::trace
