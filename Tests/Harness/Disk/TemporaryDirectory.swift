// A real directory for tests, which is removed after the test.

import Foundation

/// A path in the temporary directory that does not exist yet. The file or directory at this path is removed
/// when this object is released.
package final class TemporaryDirectory {
  package let path: String

  package init() { path = NSTemporaryDirectory() + "dugout-documentstore-\(UUID().uuidString)" }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package func create() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package var exists: Bool { FileManager.default.fileExists(atPath: path) }

  package var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  package func read(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
  }

  package func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  /// Returns the bytes of every file in the directory, by file name.
  package func contents() throws -> [String: [UInt8]] {
    try Dictionary(uniqueKeysWithValues: names.map { ($0, try read($0)) })
  }
}
