// System calls of Linux for CFileSystem.h, and stubs for other systems.

#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CFileSystem.h"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/vfs.h>

void dugout_start_writing(int descriptor, uint64_t offset, uint64_t count) {
  // Without a flag to wait, this does not consume the error of an earlier write, so the next sync still
  // reports it.
  (void)sync_file_range(descriptor, (int64_t)offset, (int64_t)count, SYNC_FILE_RANGE_WRITE);
}

int64_t dugout_file_system_type(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  // Some numbers have bit 31 set, and a 32-bit word would be sign-extended.
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

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef F_OFD_SETLK
int dugout_mark_writer(int descriptor, int place) {
  struct flock mark = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
  return fcntl(descriptor, F_OFD_SETLK, &mark);
}

int dugout_unmark_writer(int descriptor) {
  struct flock mark = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 2};
  return fcntl(descriptor, F_OFD_SETLK, &mark);
}

int dugout_has_writer(int descriptor, int place) {
  struct flock mark = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
  if (fcntl(descriptor, F_OFD_GETLK, &mark) != 0) return -1;
  return mark.l_type == F_UNLCK ? 0 : 1;
}
#else
int dugout_mark_writer(int descriptor, int place) {
  (void)descriptor;
  (void)place;
  errno = ENOSYS;
  return -1;
}

int dugout_unmark_writer(int descriptor) {
  (void)descriptor;
  errno = ENOSYS;
  return -1;
}

int dugout_has_writer(int descriptor, int place) {
  (void)descriptor;
  (void)place;
  errno = ENOSYS;
  return -1;
}
#endif
