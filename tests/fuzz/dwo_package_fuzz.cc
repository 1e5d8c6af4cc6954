// Reads any bytes as a package of split DWARF: the ID of a unit, then the package. What is cut out
// of it is read like a unit of a program.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "symbols/dwo_package.h"
#include "symbols/libdw.h"
#include "symbols/line_unit.h"

namespace {

volatile uint64_t sink;

void ReadUnit(int fd) {
  const auto libdw = hbbp::LoadLibdw();
  if (!libdw.ok()) std::abort();
  const std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf((*libdw)->begin_(fd, DWARF_C_READ),
                                                      (*libdw)->end_);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  if (dwarf == nullptr ||
      (*libdw)->get_units_(dwarf.get(), nullptr, &unit, nullptr, nullptr, &die, nullptr) != 0) {
    return;
  }
  sink = hbbp::ReadLineUnit(**libdw, &die, &die, &die, nullptr, nullptr).MemoryBytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hbbp::SkeletonUnit skeleton;
  if (size < sizeof(skeleton.id)) return 0;
  std::memcpy(&skeleton.id, data, sizeof(skeleton.id));
  skeleton.low_pc = 0x1000;
  skeleton.addresses.resize(256, 0x11);
  skeleton.ranges.resize(256, 0x22);
  const hbbp::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  data += sizeof(skeleton.id);
  size -= sizeof(skeleton.id);
  if (!file.valid() || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto package = hbbp::DwoPackage::Open("/proc/self/fd/" + std::to_string(file.get()));
  if (!package.ok()) {
    if (package.status().message().empty()) std::abort();
    return 0;
  }
  const auto unit = (*package)->CutOut(skeleton);
  if (!unit.ok()) {
    if (unit.status().message().empty()) std::abort();
    return 0;
  }
  ReadUnit(unit->get());
  return 0;
}
