// The memory that a piece of work takes, to bound what bytes from outside make a decoder take.

import CAllocations

enum AllocatedBytes {
  /// The bytes that this thread allocates while `body` runs, whether or not they are freed in between. Nil if
  /// allocations are not counted, as under a sanitizer.
  static func during(_ body: () -> Void) -> Int? {
    let before = allocated_bytes_of_this_thread()
    body()
    guard allocations_are_counted() else { return nil }
    return Int(allocated_bytes_of_this_thread() - before)
  }
}
