// Loads libdw (elfutils) when the first line is requested.
//
// Linking it would make every host of libhbbp load it with liblzma and libbz2, although most never
// request a line, and would make it a dependency of every package that contains libhbbp. Elf
// handles do not cross over, because a static libhbbp has a libelf of its own.
#ifndef HBBP_LIB_SYMBOLS_LIBDW_H_
#define HBBP_LIB_SYMBOLS_LIBDW_H_

#include <elfutils/libdw.h>
#include <libelf.h>

#include "base/status.h"

// Lists every function that is used, without its prefix.
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
  X(linediscriminator)          \
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

  // Returns the error of the last call by this thread.
  const char* Error() const { return errmsg_(-1); }
};

// Returns kUnsupported if libdw is not installed or lacks a function. Any thread may call it.
StatusOr<const Libdw*> LoadLibdw();
// Loads another file in the same way, for tests.
StatusOr<Libdw> LoadLibdwFrom(const char* file);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_LIBDW_H_
