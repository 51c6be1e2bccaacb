#include "CFileSystem.h"

#if defined(__linux__)
#include <sys/vfs.h>

int64_t dugout_file_system_type(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  // Some numbers have the highest of 32 bits set, and a word of 32 bits would show them negative.
  return (int64_t)(uint32_t)status.f_type;
}
#else
#include <errno.h>

int64_t dugout_file_system_type(int descriptor) {
  (void)descriptor;
  errno = ENOSYS;
  return -1;
}
#endif
