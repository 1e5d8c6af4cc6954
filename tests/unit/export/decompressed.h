// Decompresses what an export wrote, by gzip.
#ifndef HBBP_TESTS_UNIT_EXPORT_DECOMPRESSED_H_
#define HBBP_TESTS_UNIT_EXPORT_DECOMPRESSED_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"

namespace hbbp {

inline std::string Decompressed(const TemporaryFolder& directory, const std::string& compressed) {
  const std::string packed = directory.File("out.gz"), plain = directory.File("out.pb");
  std::ofstream(packed, std::ios::binary) << compressed;
  REQUIRE(RunCommand("gzip -dc " + packed + " > " + plain));
  const std::vector<uint8_t> bytes = BytesOfFile(plain);
  return {bytes.begin(), bytes.end()};
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_EXPORT_DECOMPRESSED_H_
