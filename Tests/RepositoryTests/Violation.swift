// A violated rule, with its location and a message.

struct Violation: Hashable, CustomStringConvertible {
  var path: String
  /// The line number, counted from 1; nil if the rule concerns the whole file or folder.
  var line: Int?
  var sentence: String

  var description: String {
    if let line { "\(path):\(line): \(sentence)" } else { "\(path): \(sentence)" }
  }
}
