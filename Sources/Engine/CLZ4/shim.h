// The parts of the system's LZ4 that Dugout uses: the block functions, with and without a dictionary.
#pragma once
#include <lz4.h>
