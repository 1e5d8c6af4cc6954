#include "isa/decoder.h"

#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isa/capstone_names.h"
#include "isa/control_flow.h"
#include "isa/mnemonic_table.h"
#include "isa/zydis_setup.h"

namespace hbbp {

struct Decoder::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (instruction != nullptr) cs_free(instruction, 1);
    if (handle != 0) cs_close(&handle);
  }

  // kInvalid if Capstone rejects the bytes, finds another length or leaves the name open.
  Mnemonic AskCapstone(std::span<const uint8_t> code, uint64_t address, uint8_t length) {
    if (!CapstoneReadsEncoding(code)) return Mnemonic::kInvalid;
    const uint8_t* bytes = code.data();
    size_t size = code.size();
    if (!cs_disasm_iter(handle, &bytes, &size, &address, instruction)) return Mnemonic::kInvalid;
    // Capstone takes 66 e8 for a call of four bytes and ud0 and ud1 for two, and is wrong about
    // the immediate where 66 meets REX.W.
    if (instruction->size != length || instruction->id >= names.size()) return Mnemonic::kInvalid;
    std::optional<Mnemonic>& name = names[instruction->id];
    if (!name) name = MnemonicOfCapstoneId(handle, instruction->id);
    return *name;
  }

  csh handle = 0;
  cs_insn* instruction = nullptr;
  std::array<std::optional<Mnemonic>, X86_INS_ENDING> names;  // by Capstone's id, as they come up
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}

Decoder::~Decoder() = default;

StatusOr<std::unique_ptr<Decoder>> Decoder::Create() {
  std::unique_ptr<Decoder> decoder(new Decoder);
  State& state = *decoder->state_;
  const cs_err error = cs_open(CS_ARCH_X86, CS_MODE_64, &state.handle);
  if (error != CS_ERR_OK) {
    state.handle = 0;
    return MakeStatus(error == CS_ERR_MEM ? StatusCode::kNoMemory : StatusCode::kUnsupported,
                      "Capstone does not start: %s", cs_strerror(error));
  }
  state.instruction = cs_malloc(state.handle);
  if (state.instruction == nullptr) {
    return MakeStatus(StatusCode::kNoMemory, "no memory for Capstone");
  }
  return decoder;
}

bool Decoder::Decode(std::span<const uint8_t> code, uint64_t address, Instruction* instruction) {
  code = code.first(std::min<size_t>(code.size(), kMaxInstructionLength));
  // What is an instruction, and how long, is Zydis's word: Capstone accepts much that processors
  // refuse (a mov to cs, 66 and f2 before MMX), and disagreeing with DecodeControlFlow would
  // split blocks in two ways.
  ControlFlow flow;
  if (!DecodeControlFlow(code, address, &flow)) return false;
  instruction->address = address;
  instruction->length = flow.length;
  instruction->branch = flow.kind;
  instruction->mnemonic = state_->AskCapstone(code, address, flow.length);
  if (instruction->mnemonic != Mnemonic::kInvalid) return true;
  ZydisDecodedInstruction zydis;
  if (!DecodeWithZydis(code, &zydis)) return false;
  instruction->mnemonic = MnemonicOf(zydis);
  return true;
}

}  // namespace hbbp
