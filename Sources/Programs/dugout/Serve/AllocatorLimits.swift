// Settings of glibc's allocator for a process that runs for months.
//
// A commit allocates on one thread what another thread frees a minute later, when the snapshots of reads in
// the past let go of it. glibc gives threads arenas of their own, up to eight for each core, and each arena
// keeps the holes that such blocks leave. Free blocks of up to 32 MiB also stay in the arenas, because glibc
// raises the size from which it returns blocks at once. With both at their defaults, the memory of a server
// with 250 commits per second was still growing after 150,000 commits.

import Foundation

enum AllocatorLimits {
  /// A setting of `mallopt`: its number in glibc's <malloc.h>, and the variable by which an operator sets it.
  private struct Setting {
    let number: Int32
    let variable: String
    let value: Int32
  }

  private static let settings = [
    Setting(number: -8, variable: "MALLOC_ARENA_MAX", value: 2),
    Setting(number: -3, variable: "MALLOC_MMAP_THRESHOLD_", value: 128 << 10),
    Setting(number: -1, variable: "MALLOC_TRIM_THRESHOLD_", value: 256 << 10),
  ]
  private static let tunables = "GLIBC_TUNABLES"

  /// Limits what the allocator keeps, except where the environment decides. Returns the variables whose
  /// settings were made: none on a system without glibc.
  @discardableResult
  static func set(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String] {
    guard environment[tunables] == nil, let change = mallopt else { return [] }
    return settings.filter { environment[$0.variable] == nil && change($0.number, $0.value) == 1 }
      .map(\.variable)
  }

  /// Swift does not import <malloc.h>, and only glibc has the function.
  private static var mallopt: (@convention(c) (Int32, Int32) -> Int32)? {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "mallopt") else { return nil }
    return unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
  }
}
