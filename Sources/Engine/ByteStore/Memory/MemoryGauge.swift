// Measures the memory that the machine, or the container of the process, has left.

import Libc

package protocol MemoryGauge: Sendable {
  /// The available fraction of all memory, from 0 to 1; nil if the system does not report it.
  func fractionAvailable() -> Double?
}

/// Reads the system's own statistics.
package struct SystemMemoryGauge: MemoryGauge {
  package init() {}

  #if canImport(Darwin)
  package func fractionAvailable() -> Double? {
    var percent: Int32 = 0
    var bytes = MemoryLayout<Int32>.size
    guard unsafe sysctlbyname("kern.memorystatus_level", &percent, &bytes, nil, 0) == 0 else { return nil }
    return Double(min(max(percent, 0), 100)) / 100
  }
  #else
  package func fractionAvailable() -> Double? {
    let shares = [
      Self.machineFraction(Self.text(of: "/proc/meminfo")),
      Self.controlGroupFraction(
        limit: Self.text(of: "/sys/fs/cgroup/memory.max"),
        used: Self.text(of: "/sys/fs/cgroup/memory.current"),
        statistics: Self.text(of: "/sys/fs/cgroup/memory.stat")),
    ]
    return shares.compactMap(\.self).min()
  }

  private static func text(of path: String) -> String {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { _ = close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress, buffer.count)
    }
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }
  #endif

  /// Parses lines such as `MemAvailable:   1234 kB`.
  static func machineFraction(_ text: String) -> Double? {
    guard let total = number(after: "MemTotal:", in: text), total > 0,
      let available = number(after: "MemAvailable:", in: text)
    else { return nil }
    return min(Double(available) / Double(total), 1)
  }

  /// The available fraction of a control group's memory; nil if the group has no limit. Inactive file pages
  /// count as free.
  static func controlGroupFraction(limit: String, used: String, statistics: String) -> Double? {
    guard let limit = number(after: "", in: limit), limit > 0, let used = number(after: "", in: used) else {
      return nil
    }
    let inactive = number(after: "inactive_file", in: statistics) ?? 0
    return min(max(Double(limit) - Double(used) + Double(inactive), 0) / Double(limit), 1)
  }

  private static func number(after name: String, in text: String) -> UInt64? {
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      let words = line.dropFirst(name.count).split(separator: " ")
      if let number = words.first.flatMap({ UInt64($0) }) { return number }
    }
    return nil
  }
}
