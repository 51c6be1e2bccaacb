// An order that the thread sanitizer cannot see: an order of accesses that the reference counts of Swift objects give.
//
// The Swift runtime counts references with a release and looks at a count with an acquire, but it is not built with the
// sanitizer. Without it, both functions do nothing.

#pragma once

/// Orders what this thread did before ahead of what a thread does after `dugout_order_acquire` of the same address.
void dugout_order_release(const void *address);

/// Orders what threads did before `dugout_order_release` of the same address ahead of what this thread does next.
void dugout_order_acquire(const void *address);
