// One broken rule: where, and in a sentence what.

struct Violation: Hashable, CustomStringConvertible {
  var path: String
  /// Counted from 1; nil when the rule concerns the file or folder as a whole.
  var line: Int?
  var sentence: String

  var description: String {
    if let line { "\(path):\(line): \(sentence)" } else { "\(path): \(sentence)" }
  }
}
