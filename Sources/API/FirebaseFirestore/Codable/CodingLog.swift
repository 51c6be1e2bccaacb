// What the property wrappers tell the programmer.

private import Foundation

package enum CodingLog {
  /// Where warnings go. A struct, because a task-local function crashes in optimized code (Swift 6.3.1).
  package struct Sink: Sendable {
    let write: @Sendable (_ code: String, _ message: String) -> Void

    package init(_ write: @escaping @Sendable (_ code: String, _ message: String) -> Void) {
      self.write = write
    }
  }

  /// Standard error, unless a test listens.
  @TaskLocal package static var sink = Sink { code, message in
    // A log that cannot be written is no reason to fail.
    try? FileHandle.standardError.write(contentsOf: Data("[FirebaseFirestore][\(code)] \(message)\n".utf8))
  }

  static func warn(_ code: String, _ message: String) { sink.write(code, message) }
}
