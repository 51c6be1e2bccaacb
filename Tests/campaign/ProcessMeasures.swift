// Measurements of this process by the operating system.

import Foundation

enum ProcessMeasures {
  static var residentBytes: Int {
    let words = text("/proc/self/statm").split(separator: " ")
    return words.count > 1 ? (Int(words[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
  }

  /// The largest resident memory since the process started.
  static var peakResidentBytes: Int {
    let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    let words = line?.split(separator: " ") ?? []
    return words.count > 1 ? (Int(words[words.count - 2]) ?? 0) << 10 : 0
  }

  static var openDescriptors: Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count
  }

  private static func text(_ path: String) -> String {
    guard let file = FileHandle(forReadingAtPath: path) else { return "" }
    defer { try? file.close() }
    return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
  }
}
