/* code.h: single instructions, and the names of functions as their language spells them. */
#ifndef HBBP_CODE_H_
#define HBBP_CODE_H_

#include "analysis.h"

HBBP_EXTERN_C_BEGIN

/* One instruction of a module. */
typedef struct hbbp_instruction {
  uint32_t struct_size; /* set by the caller */
  uint32_t length;      /* bytes */
  uint64_t address;
  const char *mnemonic; /* Intel's, lower case, without prefixes; static storage */
} hbbp_instruction;

/* The instruction at an address of a module; address + length is the next one.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         no such module, no code there, or no instruction
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_decode(const hbbp_analysis *analysis, uint32_t module,
                                          uint64_t address, hbbp_instruction *instruction,
                                          hbbp_error *error);

/* What an instruction does to the flow of control. */
typedef int32_t hbbp_flow;
enum {
  HBBP_FLOW_NEXT = 0, /* the next instruction follows */
  HBBP_FLOW_CONDITIONAL = 1,
  HBBP_FLOW_JUMP = 2,
  HBBP_FLOW_INDIRECT_JUMP = 3,
  HBBP_FLOW_CALL = 4,
  HBBP_FLOW_INDIRECT_CALL = 5,
  HBBP_FLOW_RETURN = 6,
  HBBP_FLOW_SYSTEM = 7, /* system calls, far transfers, transactions */
  HBBP_FLOW_TRAP = 8    /* does not go on */
};

typedef struct hbbp_disassembly {
  uint32_t struct_size; /* set by the caller */
  uint32_t length;      /* bytes */
  uint64_t address;
  uint64_t target; /* of a branch, if the code alone gives it; otherwise HBBP_NO_ADDRESS */
  hbbp_flow flow;
  uint32_t reserved;
  char text[160]; /* Intel's syntax, lower case, numbers in hexadecimal */
} hbbp_disassembly;

/* The text of the instruction at an address of a module; address + length is the next one.
 * Errors: those of hbbp_analysis_decode. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_disassemble(const hbbp_analysis *analysis, uint32_t module,
                                               uint64_t address, hbbp_disassembly *disassembly,
                                               hbbp_error *error);

/* The name of a function as C++ or Rust spells it; the symbol itself if it is not a mangled name.
 * Writes as much as fits into `buffer`, always with a final 0, and gives the length of the whole
 * name without it; NULL and 0 to ask for that. A NULL symbol gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_demangle(const char *symbol, char *buffer, size_t buffer_size);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_CODE
#include "disabled.inc"
#endif

#endif /* HBBP_CODE_H_ */
