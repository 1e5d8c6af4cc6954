// Mnemonic identifies an instruction in one vocabulary, whatever decoded it.
#ifndef HBBP_LIB_ISA_MNEMONIC_H_
#define HBBP_LIB_ISA_MNEMONIC_H_

#include <cstdint>
#include <string_view>

namespace hbbp {

// The value is stable within one process only; store MnemonicName instead.
enum class Mnemonic : uint16_t { kInvalid = 0 };

// Returns "(bad)" for kInvalid. The view lives as long as the process. Any thread may call it.
std::string_view MnemonicName(Mnemonic mnemonic);

// Finds a name of our vocabulary or of Zydis, or returns kInvalid.
Mnemonic FindMnemonic(std::string_view name);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_MNEMONIC_H_
