// Tests which address each instruction of a burst gets.
#include "probes/access_cursor.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("accesses: each instruction gets the first of its own") {
  const std::vector<RecordedAccess> accesses = {{0x100, 0, 4}, {0x200, 0, 9}, {0x208, 0, 9},
                                                {0x300, 2, 0}, {0x400, 2, 5}, {0x500, 3, 0}};
  AccessCursor cursor(accesses);
  CHECK_FALSE(cursor.Find(0, 0));
  CHECK(cursor.Find(0, 4) == 0x100);
  CHECK_FALSE(cursor.Find(0, 7));
  CHECK(cursor.Find(0, 9) == 0x200);
  CHECK_FALSE(cursor.Find(0, 12));
  CHECK_FALSE(cursor.Find(1, 4));
  CHECK(cursor.Find(2, 5) == 0x400);
  CHECK(cursor.Find(3, 0) == 0x500);
  CHECK_FALSE(cursor.Find(3, 1));
  CHECK_FALSE(AccessCursor({}).Find(0, 0));
}

TEST_CASE("accesses: an instruction may have numbers of several kinds") {
  const std::vector<RecordedAccess> values = {{1, 0, 4, RecordedKind::kDivisor},
                                              {2, 1, 4, RecordedKind::kRdi},
                                              {3, 1, 4, RecordedKind::kRdx},
                                              {4, 1, 6, RecordedKind::kRsi}};
  AccessCursor cursor(values);
  CHECK_FALSE(cursor.Find(0, 4));
  CHECK(cursor.Find(0, 4, RecordedKind::kDivisor) == 1);
  CHECK_FALSE(cursor.Find(1, 4, RecordedKind::kDivisor));
  CHECK_FALSE(cursor.Find(1, 4, RecordedKind::kRsi));
  CHECK(cursor.Find(1, 4, RecordedKind::kRdx) == 3);
  CHECK_FALSE(cursor.Find(1, 6, RecordedKind::kRdi));
  CHECK(cursor.Find(1, 6, RecordedKind::kRsi) == 4);
}

}  // namespace
}  // namespace hbbp
