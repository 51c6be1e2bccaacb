// The heap of the process.

import Libc

enum Heap {
  private typealias Trim = @convention(c) (Int) -> Int32

  /// The function of the C library that returns freed memory to the system; nil if the library has none.
  private static let function: Trim? = {
    guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return nil }
    // Why the cast is correct: glibc declares `int malloc_trim(size_t)`, and `Int` has the size of `size_t`.
    // The C library is never unloaded, so the address stays valid.
    return unsafe unsafeBitCast(symbol, to: Trim.self)
  }()

  /// Returns freed memory to the system. Without this, each thread keeps what it has freed for later.
  static func trim() { _ = function?(0) }
}
