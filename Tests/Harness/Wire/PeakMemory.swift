// The largest memory that the process has had, to bound what an input makes a decoder take.

import Libc

enum PeakMemory {
  /// RUSAGE_SELF, which the C libraries import as different types.
  private static let thisProcess: CInt = 0

  /// The peak of the resident memory in bytes.
  static var bytes: Int {
    var usage = rusage()
    getrusage(thisProcess, &usage)
    #if canImport(Darwin)
    return Int(usage.ru_maxrss)
    #else
    return Int(usage.ru_maxrss) << 10
    #endif
  }
}
