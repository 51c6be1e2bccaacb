// What Linux says about a file system and Swift's view of its C library leaves out.

#pragma once

#include <stdint.h>

/// The type number of the file system that holds an open file, or -1 with `errno`. Linux only: elsewhere
/// the C library itself tells more.
int64_t dugout_file_system_type(int descriptor);

/// Asks the system to begin with writing a part of a file to its disk; at most it waits for room in the disk's queue.
/// Linux only: elsewhere nothing happens.
void dugout_start_writing(int descriptor, uint64_t offset, uint64_t count);
