// What the property wrappers tell the programmer.

private import Foundation

package enum CodingLog {
  /// Where warnings go; tests listen here.
  @TaskLocal package static var sink: @Sendable (_ code: String, _ message: String) -> Void = print

  static func warn(_ code: String, _ message: String) { sink(code, message) }

  @Sendable private static func print(_ code: String, _ message: String) {
    // A log that cannot be written is no reason to fail.
    try? FileHandle.standardError.write(contentsOf: Data("[FirebaseFirestore][\(code)] \(message)\n".utf8))
  }
}
