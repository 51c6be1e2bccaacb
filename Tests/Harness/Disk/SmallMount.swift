// A file system with little space.

import Foundation

#if os(Linux)
/// A tmpfs of a few megabytes for one test.
package struct SmallMount {
  package let path: String

  package static var isSupported: Bool {
    guard getuid() == 0, let mount = try? SmallMount(megabytes: 1) else { return false }
    mount.unmount()
    return true
  }

  package init(megabytes: Int) throws {
    path = NSTemporaryDirectory() + "dugout-small-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard Self.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path) else {
      try FileManager.default.removeItem(atPath: path)
      throw CocoaError(.fileWriteNoPermission)
    }
  }

  package func unmount() {
    _ = Self.run("umount", "-l", path)
    try? FileManager.default.removeItem(atPath: path)
  }

  private static func run(_ words: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
#endif
