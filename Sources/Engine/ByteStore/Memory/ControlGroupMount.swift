// Parses the mounts of control groups in /proc/self/mountinfo. A line has these fields, as in
// proc_pid_mountinfo(5):
//
// id parent device root folder options optional-fields… - type source options-of-the-file-system
//
// A blank, tab, newline or backslash in a field is written as a backslash and three octal digits.

/// A folder that shows a hierarchy of control groups, or a part of it.
struct ControlGroupMount {
  let version: ControlGroup.Version
  /// The path, within the hierarchy, of the group that the folder shows. It is `/` for the whole hierarchy.
  /// In a container, it can be the path by which the host knows the container's group.
  let root: String
  let folder: String

  /// Returns nil if the line is not the mount of a hierarchy that can limit memory.
  init?(_ line: Substring) {
    let fields = KernelFile.fields(of: line, at: " ")
    guard fields.count > 6, let dash = fields[6...].firstIndex(of: "-"), fields.count > dash + 3 else {
      return nil
    }
    switch fields[dash + 1] {
    case "cgroup2": version = .v2
    case "cgroup" where KernelFile.fields(of: fields[dash + 3], at: ",").contains("memory"): version = .v1
    default: return nil
    }
    root = Self.unescaped(fields[3])
    folder = Self.unescaped(fields[4])
  }

  /// Returns the folder of a group, followed by the folders of its parents up to the mount; nil if the mount
  /// does not contain the group.
  func folders(ofGroup path: Substring) -> [String]? {
    let names = KernelFile.fields(of: path, at: "/").filter { !$0.isEmpty }
    let rootNames = KernelFile.fields(of: root[...], at: "/").filter { !$0.isEmpty }
    // Seen from a namespace of control groups, a group outside has a path that begins with `/..`.
    guard names.starts(with: rootNames), !names.contains("..") else { return nil }
    var folders = [folder]
    for name in names.dropFirst(rootNames.count) { folders.append("\(folders[folders.count - 1])/\(name)") }
    return folders.reversed()
  }

  private static let octalDigits = UInt8(ascii: "0")...UInt8(ascii: "7")

  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = field.utf8
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy(octalDigits.contains) {
        let code = digits.reduce(0) { $0 * 8 + Int($1 - octalDigits.lowerBound) }
        bytes.append(UInt8(truncatingIfNeeded: code))
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
