#include "mix/pivot_subject.h"

namespace hbbp {

void AddMissing(const QueryNeeds& needs, PivotSubject* subject) {
  if (needs.instructions && subject->code == nullptr) {
    subject->code = std::make_shared<const InstructionTable>(
        MakeInstructionTable(subject->analysis, subject->work));
  }
  if (needs.loops && subject->loops == nullptr) {
    subject->loops =
        std::make_shared<const ProfileLoops>(FindProfileLoops(subject->analysis, subject->work));
  }
}

}  // namespace hbbp
