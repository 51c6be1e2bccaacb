// The C interface of LevelDB, as the system has it.
#pragma once
#include <leveldb/c.h>
