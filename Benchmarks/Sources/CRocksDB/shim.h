// The C interface of RocksDB, as the system has it.
#pragma once
#include <rocksdb/c.h>
