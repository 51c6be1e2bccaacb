// The warnings of the property wrappers.

private import Foundation

package enum CodingLog {
  /// The destination of warnings. It is a struct, because a task-local variable of function type crashes in
  /// optimized code (Swift 6.3.1).
  package struct Sink: Sendable {
    let write: @Sendable (_ code: String, _ message: String) -> Void

    package init(_ write: @escaping @Sendable (_ code: String, _ message: String) -> Void) {
      self.write = write
    }
  }

  /// Standard error, unless a test replaces it.
  @TaskLocal package static var sink = Sink { code, message in
    // Errors while writing the warning are ignored.
    try? FileHandle.standardError.write(contentsOf: Data("[FirebaseFirestore][\(code)] \(message)\n".utf8))
  }

  static func warn(_ code: String, _ message: String) { sink.write(code, message) }
}
