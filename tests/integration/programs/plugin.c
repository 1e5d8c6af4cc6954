#define _GNU_SOURCE
#include "work.h"

__attribute__((visibility("default"))) void RunPlugin(void);

void RunPlugin(void) { Work(200); }
