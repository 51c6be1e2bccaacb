// Finds the control groups that limit the memory of the process. Only Linux has them (cgroups(7)).
//
// 1. /proc/self/cgroup names the group of the process in each hierarchy, as `number:controllers:path`.
//    Version 2 has one hierarchy, with the line `0::path`. In version 1, the hierarchy with the controller
//    `memory` limits memory. A system can have both versions.
// 2. /proc/self/mountinfo names the folders that show the hierarchies (`ControlGroupMount`).
// 3. Each group between the process and the root of the mount can have a limit. If no mount shows the group
//    of the process, only the group at the root of the mount counts.

/// A control group whose memory is counted. Its limit applies to the sum of all groups below it.
struct ControlGroup: Hashable, Sendable {
  enum Version: CaseIterable, Sendable {
    case v1
    case v2
  }

  let version: Version
  let folder: String

  /// The groups of this process, each before its parents. They are found at the first use, so a later move of
  /// the process to another group has no effect.
  static let ofProcess = all(KernelFile.text(of:))

  /// Finds the groups of the process that `files` describes. `files` returns the content of the file with a
  /// path, or nil if there is no such file.
  static func all(_ files: (String) -> String?) -> [ControlGroup] {
    let memberships = KernelFile.lines(of: files("/proc/self/cgroup") ?? "")
    let mounts = KernelFile.lines(of: files("/proc/self/mountinfo") ?? "").compactMap {
      ControlGroupMount($0)
    }
    return Version.allCases.flatMap { version -> [ControlGroup] in
      guard let path = memberships.lazy.compactMap({ version.path(in: $0) }).first else { return [] }
      let folders = folders(ofGroup: path, in: mounts.filter { $0.version == version }, files)
      return folders.map { ControlGroup(version: version, folder: $0) }
        .filter { files($0.path(of: version.limitNames[0])) != nil }
    }
  }

  /// Several mounts can show the group. The result is from the one that shows the most parents.
  private static func folders(
    ofGroup path: Substring, in mounts: [ControlGroupMount], _ files: (String) -> String?
  ) -> [String] {
    let shown = mounts.compactMap { mount -> [String]? in
      guard let folders = mount.folders(ofGroup: path) else { return nil }
      return files("\(folders[0])/\(mount.version.nameInEachGroup)") == nil ? nil : folders
    }
    return shown.max { $0.count < $1.count } ?? mounts.prefix(1).map(\.folder)
  }

  // MARK: Memory

  /// The group's own limit in bytes; nil if it has none. A limit that is not below the machine's memory is no
  /// limit. Version 1 has no word for "no limit" and reports a number close to `Int64.max`.
  func limit(machineBytes: Int?, _ files: (String) -> String?) -> UInt64? {
    let limits = version.limitNames.compactMap { files(path(of: $0)).flatMap(KernelFile.number) }
    let unlimited = machineBytes.map { UInt64(clamping: $0) } ?? 1 << 60
    return limits.filter { $0 > 0 && $0 < unlimited }.min()
  }

  /// The available fraction of the group's limit, from 0 to 1; nil without a limit. Inactive file pages count
  /// as available, because the kernel evicts them first.
  func fractionAvailable(machineBytes: Int?, _ files: (String) -> String?) -> Double? {
    guard let limit = limit(machineBytes: machineBytes, files),
      let used = files(path(of: version.usageName)).flatMap(KernelFile.number)
    else { return nil }
    let statistics = files(path(of: "memory.stat")) ?? ""
    let inactive = KernelFile.number(named: version.inactiveFieldName, in: statistics) ?? 0
    let available = Double(limit) - Double(used) + Double(inactive)
    return min(max(available, 0) / Double(limit), 1)
  }

  private func path(of name: String) -> String { "\(folder)/\(name)" }
}

extension ControlGroup.Version {
  /// A file that each group of the hierarchy has.
  fileprivate var nameInEachGroup: String {
    switch self {
    case .v1: "memory.limit_in_bytes"
    case .v2: "cgroup.controllers"
    }
  }

  /// The files with the limits of a group. The first of them exists if the group's memory is counted.
  ///
  /// Above `memory.high`, the kernel slows the group down instead of ending a process. The store should not
  /// cause either.
  fileprivate var limitNames: [String] {
    switch self {
    case .v1: ["memory.limit_in_bytes"]
    case .v2: ["memory.max", "memory.high"]
    }
  }

  fileprivate var usageName: String {
    switch self {
    case .v1: "memory.usage_in_bytes"
    case .v2: "memory.current"
    }
  }

  /// The field of `memory.stat` that counts the inactive file pages of the group and of all groups below it.
  fileprivate var inactiveFieldName: String {
    switch self {
    case .v1: "total_inactive_file"
    case .v2: "inactive_file"
    }
  }

  /// The path in a line of /proc/self/cgroup; nil if the line belongs to another hierarchy.
  fileprivate func path(in line: Substring) -> Substring? {
    let fields = KernelFile.fields(of: line, at: ":", max: 3)
    guard fields.count == 3 else { return nil }
    let isOurs =
      switch self {
      case .v1: KernelFile.fields(of: fields[1], at: ",").contains("memory")
      case .v2: fields[0] == "0" && fields[1].isEmpty
      }
    return isOurs ? fields[2] : nil
  }
}
