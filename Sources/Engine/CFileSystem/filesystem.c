#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CFileSystem.h"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/vfs.h>

void dugout_start_writing(int descriptor, uint64_t offset, uint64_t count) {
  // Without a flag to wait, the error of an earlier write stays where the next sync finds it.
  (void)sync_file_range(descriptor, (int64_t)offset, (int64_t)count, SYNC_FILE_RANGE_WRITE);
}

int64_t dugout_file_system_type(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  // Some numbers have the highest of 32 bits set, and a word of 32 bits would show them negative.
  return (int64_t)(uint32_t)status.f_type;
}
#else
#include <errno.h>

void dugout_start_writing(int descriptor, uint64_t offset, uint64_t count) {
  (void)descriptor;
  (void)offset;
  (void)count;
}

int64_t dugout_file_system_type(int descriptor) {
  (void)descriptor;
  errno = ENOSYS;
  return -1;
}
#endif
