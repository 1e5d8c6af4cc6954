// libdw (elfutils), loaded when the first source line is asked for.
//
// Linking it would make every host of libhbbp load it with liblzma and libbz2, although most never
// ask for a line, and would make it a dependency of every package that has libhbbp inside. No
// Elf handle crosses over: a static libhbbp has a libelf of its own.
#ifndef HBBP_LIB_SYMBOLS_LIBDW_H_
#define HBBP_LIB_SYMBOLS_LIBDW_H_

#include <elfutils/libdw.h>
#include <libelf.h>

#include "base/status.h"

// Every function that is used, without its prefix.
#define HBBP_LIBDW_FUNCTIONS(X) \
  X(attr)                       \
  X(attr_integrate)             \
  X(begin)                      \
  X(child)                      \
  X(cu_info)                    \
  X(dieoffset)                  \
  X(end)                        \
  X(errmsg)                     \
  X(filesrc)                    \
  X(formflag)                   \
  X(formstring)                 \
  X(formudata)                  \
  X(get_units)                  \
  X(getsrcfiles)                \
  X(getsrclines)                \
  X(linecol)                    \
  X(lineaddr)                   \
  X(lineendsequence)            \
  X(lineno)                     \
  X(linesrc)                    \
  X(lowpc)                      \
  X(offdie)                     \
  X(onesrcline)                 \
  X(ranges)                     \
  X(setalt)                     \
  X(siblingof)                  \
  X(tag)

namespace hbbp {

struct Libdw {
#define HBBP_LIBDW_MEMBER(name) decltype(&::dwarf_##name) name##_ = nullptr;
  HBBP_LIBDW_FUNCTIONS(HBBP_LIBDW_MEMBER)
#undef HBBP_LIBDW_MEMBER

  // What the last call of this thread failed by.
  const char* Error() const { return errmsg_(-1); }
};

// kUnsupported if it is not installed or lacks a function. Any thread.
StatusOr<const Libdw*> LoadLibdw();
// The same of another file, for tests.
StatusOr<Libdw> LoadLibdwFrom(const char* file);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LIBDW_H_
