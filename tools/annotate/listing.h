// Annotated functions as text for people, and as a table for programs.
#ifndef HBBP_TOOLS_ANNOTATE_LISTING_H_
#define HBBP_TOOLS_ANNOTATE_LISTING_H_

#include <cstddef>
#include <string>

#include "annotate/annotated_code.h"
#include "annotate/source_text.h"
#include "table.h"

namespace hbbp::tools {

struct ListingStyle {
  bool has_colour = false;
  bool has_source = true;
  bool folds = true;  // code that was not seen to run
};

struct Listing {
  std::string text;
  size_t hottest_line = 0;  // of text, from 0 on: where the hottest block begins
  size_t folded = 0;        // number of instructions
};

// Returns whether stdout is a terminal that accepts colours and NO_COLOR is not set.
bool WantsColour();

// Lists one function: a heading, then its instructions with share (of the function), count,
// standard error and source of the count, samples, and what IBS knows of their ops, each under its
// source line.
Listing ListFunction(const AnnotatedFunction& function, const AnalysedCode& code,
                     const ListingStyle& style, SourceText* text);

// Has a row per instruction, with columns for samples and ops of IBS if the code has them.
Table InstructionTable(const AnalysedCode& code);
void AddInstructions(const AnnotatedFunction& function, const AnalysedCode& code, Table* table);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_LISTING_H_
