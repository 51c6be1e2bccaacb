// What Dugout uses of the system's LZ4: the block functions, with and without a dictionary.
#pragma once
#include <lz4.h>
