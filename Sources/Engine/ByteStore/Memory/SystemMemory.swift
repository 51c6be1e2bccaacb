// Determines how much memory the process can use.

import Libc

/// The memory of the machine, and the limit of the container or service in which the process runs.
package struct SystemMemory: Sendable, Hashable {
  /// The physical memory; nil if the system does not report it.
  package var machineBytes: Int?
  /// The smallest memory limit of the process's control group and all its ancestors; nil without a limit.
  package var controlGroupBytes: Int?

  package init(machineBytes: Int?, controlGroupBytes: Int?) {
    self.machineBytes = machineBytes
    self.controlGroupBytes = controlGroupBytes
  }

  /// Finds the limits in files below /proc and /sys. `files` returns the content of the file with a path, or
  /// nil if there is no such file.
  package init(files: (String) -> String?, machineBytes: Int?) {
    self.init(groups: ControlGroup.all(files), files: files, machineBytes: machineBytes)
  }

  private init(groups: [ControlGroup], files: (String) -> String?, machineBytes: Int?) {
    let limits = groups.compactMap { $0.limit(machineBytes: machineBytes, files) }
    self.init(machineBytes: machineBytes, controlGroupBytes: limits.min().map { Int(clamping: $0) })
  }

  /// The smaller of both sizes; nil if neither is known.
  package var bytes: Int? { [machineBytes, controlGroupBytes].compactMap(\.self).min() }

  /// Reads the present limits. The control groups of the process are determined once.
  package static func current() -> SystemMemory {
    SystemMemory(groups: ControlGroup.ofProcess, files: KernelFile.text, machineBytes: physicalBytes())
  }

  static func physicalBytes() -> Int? {
    // Each call of `sysconf` returns -1 if the result is unknown.
    let (pages, pageBytes) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
    guard pages > 0, pageBytes > 0 else { return nil }
    let (bytes, hasOverflown) = pages.multipliedReportingOverflow(by: pageBytes)
    return hasOverflown ? nil : bytes
  }
}
