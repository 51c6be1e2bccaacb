// The number of files and connections that this process may have open.

import Foundation

enum DescriptorLimit {
  /// Connections, which the server limits to 10,000, and the files of stores.
  static let wanted: UInt64 = 10_000 + 2_000

  /// Raises the limit as far as the system allows. Returns a sentence if that is not far enough.
  static func raise() -> String? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return nil }
    if UInt64(limit.rlim_cur) < wanted, limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
      _ = setrlimit(resource, &limit)
      _ = getrlimit(resource, &limit)
    }
    guard UInt64(limit.rlim_cur) < wanted else { return nil }
    return
      "This process may open \(limit.rlim_cur) files, which limits its connections. Allow \(wanted), with "
      + "\"ulimit -n \(wanted)\" or LimitNOFILE= of systemd."
  }

  #if canImport(Glibc)
  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
  #else
  private static var resource: Int32 { RLIMIT_NOFILE }
  #endif
}
