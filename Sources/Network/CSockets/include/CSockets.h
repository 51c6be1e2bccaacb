// Event queues, sockets and wake-ups: epoll and eventfd on Linux, kqueue and pipes elsewhere.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// A descriptor that is ready, as `dugout_queue_wait` reports it.
struct dugout_ready {
  /// The number that was registered with the descriptor.
  uint64_t number;
  int32_t can_read;
  int32_t can_write;
  /// The connection is broken or both sides are closed.
  int32_t has_failed;
};

/// Each function returns -1 and sets `errno` if it fails.

/// Creates an event queue, and returns its descriptor.
int dugout_queue_create(void);

/// Registers a descriptor with a number. Events are reported as long as their cause lasts.
int dugout_queue_add(int queue, int descriptor, uint64_t number, int wants_read, int wants_write);

/// Changes the events of a registered descriptor.
int dugout_queue_change(int queue, int descriptor, uint64_t number, int wants_read, int wants_write);

/// Waits for events, for ever if `milliseconds` is negative. Returns their count, which is 0 after a signal.
int dugout_queue_wait(int queue, struct dugout_ready *ready, int count_max, int milliseconds);

/// Creates a wake-up: a descriptor to read from and one to write to, which can be the same one.
int dugout_waker_create(int *read_end, int *write_end);

/// Makes the read end ready. Never blocks.
void dugout_waker_wake(int write_end);

/// Makes the read end wait for the next `dugout_waker_wake`.
void dugout_waker_clear(int read_end);

/// Listens on a numeric IPv4 or IPv6 address. Returns a descriptor that does not block, and its port.
int dugout_listen(const char *host, int port, int backlog, int *bound_port);

/// The size of an address as text.
#define DUGOUT_PEER_BYTES 64

/// Accepts a connection. Returns a descriptor that does not block and sends small packets at once, with the
/// client's address as text, the network of one client as text, and whether the client is on this machine.
/// The system keeps few bytes that the client has no room for.
/// The network is the address, or the first 64 bits of an IPv6 address.
int dugout_accept(
    int listener, char peer[DUGOUT_PEER_BYTES], char network[DUGOUT_PEER_BYTES], int *is_loopback);

/// The number of descriptors that this process may have, or INT_MAX if there is no limit.
int dugout_descriptors_max(void);

/// Reads from or writes to a socket. Writing never raises SIGPIPE.
ssize_t dugout_receive(int socket, void *bytes, size_t count);
ssize_t dugout_send(int socket, const void *bytes, size_t count);

/// Connects to a numeric address, and waits. Returns a descriptor that sends small packets at once.
int dugout_connect(const char *host, int port);

/// Starts a detached thread that blocks all signals and runs `run(context)`.
int dugout_thread_start(void (*run)(void *), void *context);

/// Lets other threads of the process run first, where threads have priorities of their own.
void dugout_thread_lower_priority(void);

/// A number of the calling thread that no other running thread has.
uint64_t dugout_thread_number(void);
