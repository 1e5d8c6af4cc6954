#include "export/json_text.h"

#include <nlohmann/json.hpp>

namespace hbbp {

std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hbbp
