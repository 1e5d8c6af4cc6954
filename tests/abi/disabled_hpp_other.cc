// The file of disabled_hpp_test that has the library.
#include <hbbp/hbbp.hpp>

const char* SourceOfTheLibrary();

const char* SourceOfTheLibrary() {
  hbbp_session_options options = {};
  options.source = HBBP_SOURCE_EXTERNAL;
  try {
    hbbp::session(options).start();
  } catch (const hbbp::error& error) {
    return error.status() == HBBP_ERROR_INVALID_STATE ? "external" : error.what();
  }
  return "none: a stub was called";
}
