// These handlers execute the common moves of vector registers.
//
// Contract: handlers (micro_op.h), in blocks that are marked as using the vector state. Memory is
// read before anything is changed.
#include <immintrin.h>

#include "trace/interpreter/handlers.h"
#include "trace/interpreter/interpreter.h"

namespace hbbp::trace {
namespace {

template <size_t kBytes>
struct alignas(1) Chunk {
  uint8_t bytes[kBytes];
};

// Clears the register above kBytes, as the form requires.
template <VectorForm kForm, size_t kBytes>
[[gnu::always_inline]] inline void ClearAbove(uint8_t* vector) {
  constexpr size_t kEnd = kForm == kLegacy ? 16 : 64;
  if constexpr (kBytes < kEnd) __builtin_memset(vector + kBytes, 0, kEnd - kBytes);
}

// Loads to the operand buffer of the state.
[[gnu::noinline]] uint64_t LoadToBuffer(Interpreter* m, uint64_t address, size_t size) {
  uint64_t unknown = 0;
  const Access access = m->memory.Read(address, size, m->state.operand, &unknown);
  if (access != Access::kOk) return 1 + static_cast<uint64_t>(access);
  return unknown != 0 ? kUnknownBytes : 0;
}

[[gnu::noinline]] Access StoreFrom(Interpreter* m, uint64_t address, size_t size, unsigned offset) {
  return m->memory.Write(address, size, &m->At<uint8_t>(offset), 0);
}

template <VectorForm kForm, size_t kBytes>
[[gnu::noinline, gnu::cold]] void LoadSlow(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t address = ComputeAddress(op, m);
  if (address & op->extra) return StopAt(op, m, flags, StopReason::kUnreadableMemory);
  const uint64_t problem = LoadToBuffer(m, address, kBytes);
  if (problem != 0) return OnLoadProblem(op, m, flags, problem);
  uint8_t* vector = &m->At<uint8_t>(op->a);
  __builtin_memcpy(vector, m->state.operand, kBytes);
  ClearAbove<kForm, kBytes>(vector);
  HBBP_NEXT(op, m, flags);
}

template <VectorForm kForm, size_t kBytes>
void Load(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t address = ComputeAddress(op, m);
  const void* source = m->memory.FastSource<kBytes>(address);
  if (source == nullptr || (address & op->extra) != 0) [[unlikely]] {
    HBBP_TAIL(LoadSlow<kForm, kBytes>(op, m, flags));
  }
  uint8_t* vector = &m->At<uint8_t>(op->a);
  if constexpr (kBytes == 4) {
    uint32_t value;
    if (!GuardedLoad(source, &value)) HBBP_TAIL(LoadSlow<kForm, kBytes>(op, m, flags));
    __builtin_memcpy(vector, &value, 4);
  } else if constexpr (kBytes == 8) {
    uint64_t value;
    if (!GuardedLoad(source, &value)) HBBP_TAIL(LoadSlow<kForm, kBytes>(op, m, flags));
    __builtin_memcpy(vector, &value, 8);
  } else if constexpr (kBytes == 16) {
    __m128i value;
    if (!GuardedLoad(source, &value)) HBBP_TAIL(LoadSlow<kForm, kBytes>(op, m, flags));
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(vector), value);
  } else {
    __m128i low, high;
    if (!GuardedLoad(source, &low) ||
        !GuardedLoad(static_cast<const uint8_t*>(source) + 16, &high)) {
      HBBP_TAIL(LoadSlow<kForm, kBytes>(op, m, flags));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(vector), low);
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(vector + 16), high);
  }
  ClearAbove<kForm, kBytes>(vector);
  HBBP_NEXT(op, m, flags);
}

template <size_t kBytes>
void Store(const MicroOp* op, Interpreter* m, uint64_t flags) {
  const uint64_t address = ComputeAddress(op, m);
  if (address & op->extra) [[unlikely]] {
    return StopAt(op, m, flags, StopReason::kUnreadableMemory);
  }
  auto* pointer = m->memory.FastStore<Chunk<kBytes>>(address);
  if (pointer == nullptr) [[unlikely]] {
    const Access access = StoreFrom(m, address, kBytes, op->b);
    if (access != Access::kOk) return OnAccess(op, m, flags, access);
    HBBP_NEXT(op, m, flags);
  }
  __builtin_memcpy(pointer, &m->At<uint8_t>(op->b), kBytes);
  HBBP_NEXT(op, m, flags);
}

template <VectorForm kForm, size_t kBytes>
void Move(const MicroOp* op, Interpreter* m, uint64_t flags) {
  uint8_t* vector = &m->At<uint8_t>(op->a);
  __builtin_memmove(vector, &m->At<uint8_t>(op->b), kBytes);
  ClearAbove<kForm, kBytes>(vector);
  HBBP_NEXT(op, m, flags);
}

template <VectorForm kForm>
void Zero(const MicroOp* op, Interpreter* m, uint64_t flags) {
  __builtin_memset(&m->At<uint8_t>(op->a), 0, kForm == kLegacy ? 16 : 64);
  HBBP_NEXT(op, m, flags);
}

template <size_t kBytes>
void ScalarMerge(const MicroOp* op, Interpreter* m, uint64_t flags) {
  __builtin_memmove(&m->At<uint8_t>(op->a), &m->At<uint8_t>(op->b), kBytes);
  HBBP_NEXT(op, m, flags);
}

}  // namespace

constinit const Handler kVectorLoad[kVectorForms][kVectorSizes] = {
    {Load<kLegacy, 4>, Load<kLegacy, 8>, Load<kLegacy, 16>, nullptr},
    {Load<kVex, 4>, Load<kVex, 8>, Load<kVex, 16>, Load<kVex, 32>}};
constinit const Handler kVectorStore[kVectorSizes] = {Store<4>, Store<8>, Store<16>, Store<32>};
constinit const Handler kVectorMove[kVectorForms][kVectorSizes] = {
    {Move<kLegacy, 4>, Move<kLegacy, 8>, Move<kLegacy, 16>, nullptr},
    {Move<kVex, 4>, Move<kVex, 8>, Move<kVex, 16>, Move<kVex, 32>}};
constinit const Handler kVectorZero[kVectorForms] = {Zero<kLegacy>, Zero<kVex>};
constinit const Handler kScalarMerge[2] = {ScalarMerge<4>, ScalarMerge<8>};

}  // namespace hbbp::trace
