// Information about files and file systems that Linux provides and Swift's view of its C library omits.

#pragma once

#include <stdint.h>

/// Returns the type number of the file system that holds an open file, or -1 and sets `errno`. Linux
/// only; other systems offer more in their C library.
int64_t dugout_file_system_type(int descriptor);

/// Starts writeback of a part of a file. It blocks only while the disk's queue is full. Linux only; it
/// does nothing elsewhere.
void dugout_start_writing(int descriptor, uint64_t offset, uint64_t count);

/// Marks an open file as in use by a writer, until the file is closed. There are two marks, at the places 0
/// and 1. Returns 0, or -1 and sets `errno`. A mark does not exclude other processes. It is a lock of the
/// open file, so another descriptor of the file does not remove it.
int dugout_mark_writer(int descriptor, int place);

/// Removes both marks of this open file, also for the descriptors that a forked child has inherited. Returns 0,
/// or -1 and sets `errno`.
int dugout_unmark_writer(int descriptor);

/// Returns 1 if the file has the mark at this place, 0 if it has not, or -1 and sets `errno`. Takes no lock.
int dugout_has_writer(int descriptor, int place);
