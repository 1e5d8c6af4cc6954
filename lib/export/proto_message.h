// ProtoMessage encodes a message of Protocol Buffers: the few kinds of fields that profiles have.
#ifndef HBBP_LIB_EXPORT_PROTO_MESSAGE_H_
#define HBBP_LIB_EXPORT_PROTO_MESSAGE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace hbbp {

class ProtoMessage {
 public:
  // Adds an integer or a bool, unless it is 0, which readers assume.
  void AddNumber(uint32_t field, uint64_t number);
  // Adds an integer whose readers distinguish 0 from none.
  void AddPresent(uint32_t field, uint64_t number);
  // Adds all elements of a repeated field of integers.
  void AddPacked(uint32_t field, std::initializer_list<uint64_t> numbers);
  // Adds a string or the bytes of a message.
  void AddBytes(uint32_t field, std::string_view bytes);
  // Adds fields that another message has encoded.
  void Append(const ProtoMessage& fields) { bytes_ += fields.bytes_; }

  const std::string& bytes() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  void AppendVarint(uint64_t number);

  std::string bytes_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_PROTO_MESSAGE_H_
