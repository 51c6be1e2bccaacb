// LMDB, as the system has it.
#pragma once
#include <lmdb.h>
