// PprofFile writes a profile.proto of google/pprof, compressed as its readers expect: mappings,
// then samples, each after what it is the first to refer to, and the strings at the end.
//
//   PprofFile file(subject, layout, sink);
//   file.WriteSampleType("samples", "count");
//   file.WriteHeader("samples");
//   const uint64_t location = file.WriteLocation(module, address, frames);
//   file.WriteSample({location}, {count});
//   file.Finish();
#ifndef HBBP_LIB_EXPORT_PPROF_FILE_H_
#define HBBP_LIB_EXPORT_PPROF_FILE_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "export/address_layout.h"
#include "export/export_sink.h"
#include "export/export_subject.h"
#include "export/gzip_writer.h"
#include "export/proto_message.h"
#include "symbols/line_range.h"

namespace hbbp {

class PprofFile {
 public:
  // Notes where there is no zlib.
  PprofFile(const ExportSubject& subject, const AddressLayout& layout, ExportSink* sink);

  // Samples have a value of each type, in this order.
  void WriteSampleType(std::string_view type, std::string_view unit);
  // Writes when, how and of what the profile was made, and the mappings of the layout.
  void WriteHeader(std::string_view default_sample_type);
  // Writes where an address is, innermost function first. Returns its number. What is not in the
  // layout has lines and no address.
  uint64_t WriteLocation(uint32_t module, ModuleAddress address, std::span<const LineFrame> frames);
  void AddLabel(std::string_view key, std::string_view text, ProtoMessage* labels);
  void AddLabel(std::string_view key, uint64_t number, ProtoMessage* labels);
  // The first location is that of the instruction, the others those of its callers.
  void WriteSample(std::initializer_list<uint64_t> locations,
                   std::initializer_list<uint64_t> values, const ProtoMessage& labels = {});
  void Finish();

 private:
  const ProfileData& data() const { return subject_.analysis.data(); }
  void WriteField(uint32_t field, std::string_view bytes);
  uint64_t FindString(std::string_view text);
  ProtoMessage MakeType(std::string_view type, std::string_view unit);
  void WriteMappings();
  void WriteMapping(size_t index);
  uint64_t FindFunction(const LineFrame& frame);

  const ExportSubject& subject_;
  const AddressLayout& layout_;
  GzipWriter out_;
  ProtoMessage top_;
  std::unordered_map<std::string, uint64_t> string_indices_;
  std::vector<const std::string*> strings_;  // keys of string_indices_, by index
  // By name, file and line.
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, uint64_t> functions_;
  uint64_t last_location_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_PPROF_FILE_H_
