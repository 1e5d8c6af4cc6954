// Mnemonic: which instruction it is, in one vocabulary whoever decoded it.
#ifndef HBBP_LIB_ISA_MNEMONIC_H_
#define HBBP_LIB_ISA_MNEMONIC_H_

#include <cstdint>
#include <string_view>

namespace hbbp {

// A mnemonic, stable within one process only; MnemonicName gives what may be stored.
enum class Mnemonic : uint16_t { kInvalid = 0 };

// "(bad)" for kInvalid. Any thread. The view lives as long as the process.
std::string_view MnemonicName(Mnemonic mnemonic);

// Finds a name of our vocabulary or of Zydis. kInvalid if there is none.
Mnemonic FindMnemonic(std::string_view name);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_MNEMONIC_H_
