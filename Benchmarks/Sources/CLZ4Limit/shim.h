// LZ4 by itself, for the limit that it sets.
#pragma once
#include <lz4.h>
