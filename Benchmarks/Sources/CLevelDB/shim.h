// The C interface of the installed LevelDB.
#pragma once
#include <leveldb/c.h>
