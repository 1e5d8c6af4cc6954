#define _GNU_SOURCE
#include "work.h"

__attribute__((visibility("default"))) void RunPlugin(void);

static _Thread_local volatile long calls = 0;

void RunPlugin(void) {
  calls = calls + 1;
  Work(200);
}
