// Reads the pseudo-probes of an ELF file, or of its debug file if it was stripped.
#ifndef HBBP_LIB_SYMBOLS_PSEUDO_PROBE_FILE_H_
#define HBBP_LIB_SYMBOLS_PSEUDO_PROBE_FILE_H_

#include <string>

#include "base/status.h"
#include "image/elf_image.h"
#include "symbols/pseudo_probes.h"

namespace hbbp {

// Searches for a debug file as ElfImage does. Messages begin with `path`, that of the image.
// Returns kNotFound if there are no probes, and kBadFormat if they are damaged.
StatusOr<PseudoProbes> OpenPseudoProbes(const ElfImage& image, const std::string& path,
                                        const std::string& debug_root);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_PSEUDO_PROBE_FILE_H_
