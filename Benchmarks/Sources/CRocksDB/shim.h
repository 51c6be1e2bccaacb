// The C interface of the installed RocksDB.
#pragma once
#include <rocksdb/c.h>
