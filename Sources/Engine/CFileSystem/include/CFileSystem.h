// Information about files and file systems that Linux provides and Swift's view of its C library omits.

#pragma once

#include <stdint.h>

/// Returns the type number of the file system that holds an open file, or -1 and sets `errno`. Linux
/// only; other systems offer more in their C library.
int64_t dugout_file_system_type(int descriptor);

/// Starts writeback of a part of a file. It blocks only while the disk's queue is full. Linux only; it
/// does nothing elsewhere.
void dugout_start_writing(int descriptor, uint64_t offset, uint64_t count);
