// ProfileBytes is a profile file whose parts can be changed, with checksums that fit again.
//
//   ProfileBytes bytes(data);
//   bytes.Patch(kCounts, 0, uint64_t{1} << 40);
//   ParseProfile(bytes.Take());
#ifndef HBBP_TESTS_SUPPORT_PROFILE_BYTES_H_
#define HBBP_TESTS_SUPPORT_PROFILE_BYTES_H_

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "profile/profile_file.h"

namespace hbbp {

class ProfileBytes {
 public:
  explicit ProfileBytes(const ProfileData& data) {
    const std::vector<uint8_t> bytes = SerializeProfile(data);
    version_ = Get<uint32_t>(bytes, 8);
    const auto count = Get<uint32_t>(bytes, 12);
    for (uint32_t i = 0; i < count; ++i) {
      const size_t entry = kHeaderBytes + i * kEntryBytes;
      const auto offset = static_cast<ptrdiff_t>(Get<uint64_t>(bytes, entry + 8));
      const auto size = static_cast<ptrdiff_t>(Get<uint64_t>(bytes, entry + 16));
      sections_.push_back({Get<uint32_t>(bytes, entry),
                           Get<uint32_t>(bytes, entry + 4),
                           0,
                           {bytes.begin() + offset, bytes.begin() + offset + size}});
    }
  }

  void SetVersion(uint32_t version) { version_ = version; }
  void SetSectionVersion(uint32_t type, uint32_t version) { Find(type).version = version; }
  // Inserts it before all others.
  void AddSection(uint32_t type, const std::vector<uint8_t>& content) {
    sections_.insert(sections_.begin(), {type, 1, 0, content});
  }
  // Replaces the section of that type, or appends a new one.
  void SetSection(uint32_t type, std::vector<uint8_t> content) {
    for (Part& part : sections_) {
      if (part.type != type) continue;
      part.content = std::move(content);
      return;
    }
    AddSection(type, content);
  }
  void RemoveSection(uint32_t type) {
    std::erase_if(sections_, [type](const Part& part) { return part.type == type; });
  }
  std::vector<uint8_t>& Section(uint32_t type) { return Find(type).content; }
  // Makes the table claim that the section begins there.
  void MoveSection(uint32_t type, uint64_t offset) { Find(type).claimed_offset = offset; }

  template <typename T>
  void Patch(uint32_t type, size_t position, T value) {
    std::memcpy(Section(type).data() + position, &value, sizeof(value));
  }

  std::vector<uint8_t> Take() const {
    std::vector<uint8_t> table;
    std::vector<uint8_t> contents;
    const size_t first = kHeaderBytes + sections_.size() * kEntryBytes;
    for (const Part& part : sections_) {
      const uint64_t offset = first + contents.size();
      Put(part.type, &table);
      Put(part.version, &table);
      Put(part.claimed_offset != 0 ? part.claimed_offset : offset, &table);
      Put<uint64_t>(part.content.size(), &table);
      Put(Checksum(part.content), &table);
      contents.insert(contents.end(), part.content.begin(), part.content.end());
    }
    std::vector<uint8_t> file;
    for (char letter : {'H', 'B', 'B', 'P', 'P', 'R', 'O', 'F'}) Put(letter, &file);
    Put(version_, &file);
    Put(static_cast<uint32_t>(sections_.size()), &file);
    Put<uint64_t>(first + contents.size(), &file);
    Put(Checksum(table), &file);
    file.insert(file.end(), table.begin(), table.end());
    file.insert(file.end(), contents.begin(), contents.end());
    return file;
  }

 private:
  static constexpr size_t kHeaderBytes = 32;
  static constexpr size_t kEntryBytes = 32;

  struct Part {
    uint32_t type;
    uint32_t version;
    uint64_t claimed_offset;  // 0: its real one
    std::vector<uint8_t> content;
  };

  static uint64_t Checksum(const std::vector<uint8_t>& bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
  }

  template <typename T>
  static T Get(const std::vector<uint8_t>& bytes, size_t position) {
    T value;
    std::memcpy(&value, bytes.data() + position, sizeof(value));
    return value;
  }

  template <typename T>
  static void Put(const T& value, std::vector<uint8_t>* bytes) {
    const auto* first = reinterpret_cast<const uint8_t*>(&value);
    bytes->insert(bytes->end(), first, first + sizeof(value));
  }

  Part& Find(uint32_t type) {
    return *std::find_if(sections_.begin(), sections_.end(),
                         [type](const Part& part) { return part.type == type; });
  }

  uint32_t version_ = 0;
  std::vector<Part> sections_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_PROFILE_BYTES_H_
