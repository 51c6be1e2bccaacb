// How often this thread has asked for memory: for tests that pin what a call allocates.
#pragma once

#include <stdbool.h>

/// False where the allocator is not ours to stand in front of: sanitizers, other C libraries.
bool allocations_are_counted(void);

/// Calls of malloc and its kin in this thread so far.
unsigned long allocations_of_this_thread(void);

/// Bytes that these calls asked for. A copy of an array is one call, whatever its length.
unsigned long allocated_bytes_of_this_thread(void);
