// FakeModuleCode is a module made of bytes that the test supplies.
//
//   FakeModuleCode module;
//   module.AddCode(0x1000, {0x90, 0xc3});
//   module.AddFunction(0x1000, 0x1002, "f");
#ifndef HBBP_TESTS_SUPPORT_FAKE_MODULE_CODE_H_
#define HBBP_TESTS_SUPPORT_FAKE_MODULE_CODE_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "image/module_code.h"

namespace hbbp {

class FakeModuleCode : public ModuleCode {
 public:
  // Adds executable bytes, which can be read as data too. Pieces must not overlap.
  void AddCode(uint64_t address, std::vector<uint8_t> bytes) { code_[address] = std::move(bytes); }

  // Adds bytes that cannot be executed.
  void AddData(uint64_t address, std::vector<uint8_t> bytes) { data_[address] = std::move(bytes); }

  // Functions must not overlap. Contiguous code without a function is one function.
  void AddFunction(uint64_t start, uint64_t end, std::string name = "") {
    functions_[start] = {{{start}, {end}}, std::move(name)};
  }

  // The pointer at `slot` points to a function of another module.
  void AddImport(uint64_t slot, std::string name) { imports_[slot] = std::move(name); }

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override {
    return BytesAt(code_, address.value, size);
  }

  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override {
    const auto bytes = BytesAt(data_, address.value, size);
    return bytes.empty() ? BytesAt(code_, address.value, size) : bytes;
  }

  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override {
    if (const Function* function = FunctionAt(address)) return function->range;
    const auto piece = PieceAround(code_, address.value);
    if (piece == code_.end()) return std::nullopt;
    AddressRange range = {{piece->first}, {piece->first + piece->second.size()}};
    const auto next = functions_.upper_bound(address.value);
    if (next != functions_.end()) range.end = std::min(range.end, next->second.range.start);
    if (next != functions_.begin()) {
      range.start = std::max(range.start, std::prev(next)->second.range.end);
    }
    return range;
  }

  std::string FunctionName(ModuleAddress address) const override {
    const Function* function = FunctionAt(address);
    return function == nullptr ? std::string() : function->name;
  }

  std::string ImportAt(ModuleAddress slot) const override {
    const auto found = imports_.find(slot.value);
    return found == imports_.end() ? std::string() : found->second;
  }

 private:
  struct Function {
    AddressRange range;
    std::string name;
  };
  using Pieces = std::map<uint64_t, std::vector<uint8_t>>;

  static Pieces::const_iterator PieceAround(const Pieces& pieces, uint64_t address) {
    auto piece = pieces.upper_bound(address);
    if (piece == pieces.begin()) return pieces.end();
    --piece;
    return address - piece->first < piece->second.size() ? piece : pieces.end();
  }

  static std::span<const uint8_t> BytesAt(const Pieces& pieces, uint64_t address, size_t size) {
    const auto piece = PieceAround(pieces, address);
    if (piece == pieces.end()) return {};
    const auto bytes = std::span(piece->second).subspan(address - piece->first);
    return bytes.first(std::min(size, bytes.size()));
  }

  const Function* FunctionAt(ModuleAddress address) const {
    const auto next = functions_.upper_bound(address.value);
    if (next == functions_.begin()) return nullptr;
    const Function& function = std::prev(next)->second;
    return function.range.Contains(address) ? &function : nullptr;
  }

  Pieces code_;
  Pieces data_;
  std::map<uint64_t, Function> functions_;
  std::map<uint64_t, std::string> imports_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_FAKE_MODULE_CODE_H_
