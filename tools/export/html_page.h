// WriteHtmlPage writes a profile as one page that needs nothing but a browser.
#ifndef HBBP_TOOLS_EXPORT_HTML_PAGE_H_
#define HBBP_TOOLS_EXPORT_HTML_PAGE_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

namespace hbbp::tools {

struct PageRequest {
  const hbbp::analysis* analysis = nullptr;
  std::vector<std::string> files;  // that the profile was read from
  uint64_t functions = 0;          // maximum number; 0: the default
  uint64_t blocks = 0;             // maximum number, like functions
  bool with_source_text = true;    // of source files that exist here
};

struct HtmlPage {
  std::string text;                // the whole file
  std::vector<std::string> notes;  // what its reader must know; the file has them too
};

HtmlPage WriteHtmlPage(const PageRequest& request);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_HTML_PAGE_H_
