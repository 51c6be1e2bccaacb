// Tells the thread sanitizer about the order that Swift's reference counts establish.
//
// The sanitizer cannot see this order. The Swift runtime decrements counts with release order and reads
// them with acquire order, but it is not built with the sanitizer. In a build without the sanitizer,
// both functions do nothing.

#pragma once

/// Orders this thread's earlier accesses before those that follow a `dugout_order_acquire` of the same
/// address in another thread.
void dugout_order_release(const void *address);

/// Orders this thread's later accesses after those before a `dugout_order_release` of the same address
/// in other threads.
void dugout_order_acquire(const void *address);
