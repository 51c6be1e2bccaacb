// The C interface of LZ4, for the decoding limit of the machine.
#pragma once
#include <lz4.h>
