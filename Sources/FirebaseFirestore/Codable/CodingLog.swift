// What the property wrappers tell the programmer.

private import Foundation

package enum CodingLog {
  /// Where warnings go; tests listen here.
  @TaskLocal package static var sink: @Sendable (_ code: String, _ message: String) -> Void = {
    code, message in
    let line = "[FirebaseFirestore][\(code)] \(message)\n"
    try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
  }

  static func warn(_ code: String, _ message: String) { sink(code, message) }
}
