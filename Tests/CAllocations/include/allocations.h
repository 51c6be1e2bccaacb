// Counts the allocations of a thread, for tests that limit the allocations of a call.
#pragma once

#include <stdbool.h>

/// False if the allocator cannot be wrapped: with sanitizers, and with other C libraries.
bool allocations_are_counted(void);

/// The number of calls of malloc and related functions in this thread so far.
unsigned long allocations_of_this_thread(void);

/// The number of bytes that these calls requested. Copying an array is one call, whatever its length.
unsigned long allocated_bytes_of_this_thread(void);
