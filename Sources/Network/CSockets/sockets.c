#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "include/CSockets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#else
#include <sys/event.h>
#include <sys/time.h>
#endif

#define READY_MAX 256

// Bytes that wait in the system for a client to read. Without a limit they grow to megabytes for each client.
#define UNSENT_BYTES_MAX (128 * 1024)

static int set_flags(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

static int close_and_fail(int descriptor) {
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

#ifdef __linux__

int dugout_queue_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int queue, int operation, int descriptor, uint64_t number, int wants_read, int wants_write) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = (wants_read ? EPOLLIN | EPOLLRDHUP : 0) | (wants_write ? EPOLLOUT : 0);
  event.data.u64 = number;
  return epoll_ctl(queue, operation, descriptor, &event);
}

int dugout_queue_add(int queue, int descriptor, uint64_t number, int wants_read, int wants_write) {
  return control(queue, EPOLL_CTL_ADD, descriptor, number, wants_read, wants_write);
}

int dugout_queue_change(int queue, int descriptor, uint64_t number, int wants_read, int wants_write) {
  return control(queue, EPOLL_CTL_MOD, descriptor, number, wants_read, wants_write);
}

int dugout_queue_wait(int queue, struct dugout_ready *ready, int count_max, int milliseconds) {
  struct epoll_event events[READY_MAX];
  int count = epoll_wait(queue, events, count_max < READY_MAX ? count_max : READY_MAX, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count; i++) {
    ready[i].number = events[i].data.u64;
    ready[i].can_read = (events[i].events & (EPOLLIN | EPOLLRDHUP)) != 0;
    ready[i].can_write = (events[i].events & EPOLLOUT) != 0;
    ready[i].has_failed = (events[i].events & (EPOLLERR | EPOLLHUP)) != 0;
  }
  return count;
}

int dugout_waker_create(int *read_end, int *write_end) {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  *read_end = *write_end = descriptor;
  return descriptor < 0 ? -1 : 0;
}

#else

int dugout_queue_create(void) {
  int queue = kqueue();
  if (queue >= 0 && fcntl(queue, F_SETFD, FD_CLOEXEC) < 0) return close_and_fail(queue);
  return queue;
}

static int set_filter(int queue, int descriptor, int filter, int is_wanted, uint64_t number) {
  struct kevent change;
  EV_SET(&change, descriptor, filter, is_wanted ? EV_ADD : EV_DELETE, 0, 0, (void *)(uintptr_t)number);
  int result = kevent(queue, &change, 1, NULL, 0, NULL);
  return result < 0 && !is_wanted && errno == ENOENT ? 0 : result;
}

int dugout_queue_add(int queue, int descriptor, uint64_t number, int wants_read, int wants_write) {
  return dugout_queue_change(queue, descriptor, number, wants_read, wants_write);
}

int dugout_queue_change(int queue, int descriptor, uint64_t number, int wants_read, int wants_write) {
  if (set_filter(queue, descriptor, EVFILT_READ, wants_read, number) < 0) return -1;
  return set_filter(queue, descriptor, EVFILT_WRITE, wants_write, number);
}

int dugout_queue_wait(int queue, struct dugout_ready *ready, int count_max, int milliseconds) {
  struct kevent events[READY_MAX];
  struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  int count = kevent(
      queue, NULL, 0, events, count_max < READY_MAX ? count_max : READY_MAX, milliseconds < 0 ? NULL : &time);
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count; i++) {
    ready[i].number = (uint64_t)(uintptr_t)events[i].udata;
    ready[i].can_read = events[i].filter == EVFILT_READ;
    ready[i].can_write = events[i].filter == EVFILT_WRITE;
    ready[i].has_failed = (events[i].flags & EV_ERROR) != 0;
  }
  return count;
}

int dugout_waker_create(int *read_end, int *write_end) {
  int ends[2];
  if (pipe(ends) < 0) return -1;
  *read_end = ends[0];
  *write_end = ends[1];
  if (set_flags(ends[0]) < 0 || set_flags(ends[1]) < 0) {
    close_and_fail(ends[0]);
    return close_and_fail(ends[1]);
  }
  return 0;
}

#endif

void dugout_waker_wake(int write_end) {
  uint64_t one = 1;
  while (write(write_end, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void dugout_waker_clear(int read_end) {
  uint64_t bytes[64];
  while (read(read_end, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
  }
}

static int resolve(const char *host, int port, int flags, struct addrinfo **found) {
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  struct addrinfo hints;
  memset(&hints, 0, sizeof hints);
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | flags;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, service, &hints, found) == 0) return 0;
  errno = EADDRNOTAVAIL;
  return -1;
}

static int bound_port_of(int descriptor) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(descriptor, (struct sockaddr *)&address, &size) < 0) return -1;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
}

int dugout_listen(const char *host, int port, int backlog, int *bound_port) {
  struct addrinfo *found = NULL;
  if (resolve(host, port, AI_PASSIVE, &found) < 0) return -1;
  int descriptor = socket(found->ai_family, SOCK_STREAM, 0);
  int on = 1;
  if (descriptor >= 0) {
    int failed = set_flags(descriptor) < 0
        || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0
        || (found->ai_family == AF_INET6
            && setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
        || bind(descriptor, found->ai_addr, found->ai_addrlen) < 0 || listen(descriptor, backlog) < 0;
    if (!failed) *bound_port = bound_port_of(descriptor);
    if (failed || *bound_port < 0) descriptor = close_and_fail(descriptor);
  }
  int error = errno;
  freeaddrinfo(found);
  errno = error;
  return descriptor;
}

static int is_loopback_address(const struct sockaddr_storage *address) {
  if (address->ss_family == AF_INET) {
    return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) == 127;
  }
  if (address->ss_family != AF_INET6) return 0;
  const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}

static void write_address(const struct sockaddr_storage *address, socklen_t size, char text[DUGOUT_PEER_BYTES]) {
  if (getnameinfo((const struct sockaddr *)address, size, text, DUGOUT_PEER_BYTES, NULL, 0, NI_NUMERICHOST) != 0) {
    text[0] = 0;
  }
}

int dugout_accept(
    int listener, char peer[DUGOUT_PEER_BYTES], char network[DUGOUT_PEER_BYTES], int *is_loopback) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  int descriptor;
#ifdef __linux__
  descriptor = accept4(listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
  descriptor = accept(listener, (struct sockaddr *)&address, &size);
  if (descriptor >= 0 && set_flags(descriptor) < 0) return close_and_fail(descriptor);
#endif
  if (descriptor < 0) return -1;
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef TCP_NOTSENT_LOWAT
  int unsent_max = UNSENT_BYTES_MAX;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof unsent_max);
#endif
#ifdef SO_NOSIGPIPE
  setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  *is_loopback = is_loopback_address(&address);
  write_address(&address, size, peer);
  if (address.ss_family == AF_INET6) {
    struct in6_addr *in6 = &((struct sockaddr_in6 *)&address)->sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(in6)) memset(in6->s6_addr + 8, 0, 8);
  }
  write_address(&address, size, network);
  return descriptor;
}

int dugout_descriptors_max(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) return INT_MAX;
  return (int)limit.rlim_cur;
}

ssize_t dugout_receive(int socket, void *bytes, size_t count) { return recv(socket, bytes, count, 0); }

ssize_t dugout_send(int socket, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
  return send(socket, bytes, count, MSG_NOSIGNAL);
#else
  return send(socket, bytes, count, 0);
#endif
}

int dugout_connect(const char *host, int port) {
  struct addrinfo *found = NULL;
  if (resolve(host, port, 0, &found) < 0) return -1;
  int descriptor = socket(found->ai_family, SOCK_STREAM, 0);
  int on = 1;
  if (descriptor >= 0
      && (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0
          || connect(descriptor, found->ai_addr, found->ai_addrlen) < 0
          || setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)) {
    descriptor = close_and_fail(descriptor);
  }
  int error = errno;
  freeaddrinfo(found);
  errno = error;
  return descriptor;
}

struct start {
  void (*run)(void *);
  void *context;
};

static void *run_thread(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  start.run(start.context);
  return NULL;
}

int dugout_thread_start(void (*run)(void *), void *context) {
  struct start *start = malloc(sizeof *start);
  if (start == NULL) return -1;
  start->run = run;
  start->context = context;
  // The new thread inherits the mask, so that the program's signals go to its other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int error = pthread_create(&thread, NULL, run_thread, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error != 0) {
    free(start);
    errno = error;
    return -1;
  }
  pthread_detach(thread);
  return 0;
}

void dugout_thread_lower_priority(void) {
#ifdef __linux__
  // On Linux this is the thread, and not the process. Another thread gets about nine times as much time. A
  // thread begins with the priority of the thread that has started it, so that of the process is the base.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, getpid()) + 10);
#endif
}

uint64_t dugout_thread_number(void) { return (uint64_t)(uintptr_t)pthread_self(); }
