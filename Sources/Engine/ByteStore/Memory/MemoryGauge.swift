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
    Self.fractionAvailable(
      groups: ControlGroup.ofProcess, machineBytes: SystemMemory.physicalBytes(), KernelFile.text)
  }
  #endif

  /// The smallest available fraction of the machine's memory and of each group's limit.
  static func fractionAvailable(
    groups: [ControlGroup], machineBytes: Int?, _ files: (String) -> String?
  ) -> Double? {
    let machine = files("/proc/meminfo").flatMap(machineFraction)
    let limited = groups.compactMap { $0.fractionAvailable(machineBytes: machineBytes, files) }
    return ([machine].compactMap(\.self) + limited).min()
  }

  /// Parses lines such as `MemAvailable:   1234 kB`.
  private static func machineFraction(_ text: String) -> Double? {
    guard let total = KernelFile.number(named: "MemTotal:", in: text), total > 0,
      let available = KernelFile.number(named: "MemAvailable:", in: text)
    else { return nil }
    return min(Double(available) / Double(total), 1)
  }
}
