// DataObjects finds by address what data a module has: objects that symbols name, or else sections.
#ifndef HBBP_LIB_IMAGE_DATA_OBJECTS_H_
#define HBBP_LIB_IMAGE_DATA_OBJECTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "image/elf_file.h"
#include "image/module_code.h"
#include "image/symbol_table.h"

namespace hbbp {

// An object has the name of its symbol. Data without one is called by its section, or by the kind
// of its segment: "[.data]", "[data]", "[read-only data]".
struct DataObject {
  AddressRange range;
  std::string name;
  bool is_symbol = false;
};

class DataObjects {
 public:
  // `symbols` are those of objects, and finished. `file` must outlive this object.
  DataObjects(const ElfFile& file, SymbolTable symbols);

  // Returns the object around an address, the innermost one, or the only one that a longer range
  // touches; else the section or segment, or nothing if none is loaded there.
  std::optional<DataObject> Find(const AddressRange& range) const;

 private:
  struct Object {
    AddressRange range;
    ModuleAddress last_end;  // of the objects up to here
    const Symbol* symbol;
  };
  struct Part {  // a section or segment
    AddressRange range;
    std::string name;
  };

  void AddSections(const ElfFile& file);
  void AddSegments(const ElfFile& file);
  void AddObjects();
  const Part* FindPart(ModuleAddress address) const;
  const Object* FindObject(const AddressRange& range) const;

  SymbolTable symbols_;
  std::vector<Part> sections_;
  std::vector<Part> segments_;
  std::vector<Object> objects_;  // by start
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_DATA_OBJECTS_H_
