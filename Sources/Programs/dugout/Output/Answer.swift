// The result of a command: lines of text, or one JSON object.

import ByteStore
import DocumentStore
import Foundation

extension Arguments {
  static let json = "--json"

  /// Prints `object` if the user requested JSON, and `text` otherwise. Adds the age of what is shown if the
  /// store was read beside its writer.
  func answer(_ text: @autoclosure () -> String, _ object: @autoclosure () -> JSON) {
    let snapshot = ShownSnapshot.last
    guard has(Self.json) else {
      Terminal.print(text())
      snapshot?.printAge()
      return
    }
    var object = object()
    if let snapshot { object["snapshot"] = snapshot.object }
    Terminal.print(object.description)
  }
}

/// Formats numbers with their units.
enum Wording {
  static func count(_ number: some BinaryInteger, _ one: String, plural: String? = nil) -> String {
    "\(number) \(number == 1 ? one : plural ?? one + "s")"
  }

  /// Uses the largest unit in which the number is at least 1.
  static func bytes(_ number: UInt64) -> String {
    var rest = Double(number)
    guard rest >= 1024 else { return count(number, "byte") }
    var unit = "bytes"
    for larger in ["KiB", "MiB", "GiB", "TiB"] where rest >= 1024 {
      rest /= 1024
      unit = larger
    }
    return String(format: "%.1f %@", rest, unit)
  }

  static func duration(seconds: Double) -> String {
    switch seconds {
    case ..<120: count(Int(seconds), "second")
    case ..<7200: count(Int(seconds / 60), "minute")
    case ..<172_800: count(Int(seconds / 3600), "hour")
    default: count(Int(seconds / 86400), "day")
    }
  }
}

extension Wording {
  /// Whether the words differ by one typing error: one letter is added, missing or replaced, or two letters
  /// are swapped.
  static func areOneTypoApart(_ word: String, _ other: String) -> Bool {
    let (left, right) = (Array(word), Array(other))
    let start = zip(left, right).prefix { $0 == $1 }.count
    let end = zip(left.dropFirst(start).reversed(), right.dropFirst(start).reversed()).prefix { $0 == $1 }
      .count
    let (one, two) = (left[start..<left.count - end], right[start..<right.count - end])
    return (one.count <= 1 && two.count <= 1) || (one.count == 2 && Array(one) == two.reversed())
  }
}

// MARK: What several commands tell

extension Damage {
  var line: String { "\(file) at byte \(offset): expected \(expected), found \(found)" }

  var object: JSON {
    ["file": file, "offset": offset, "expected": expected, "found": found]
  }
}

extension RecoveryReport.Loss {
  var line: String {
    "\(file): \(reason), \(Wording.count(length, "byte")) at byte \(offset)"
  }

  var object: JSON {
    ["file": file, "offset": offset, "length": length, "reason": reason]
  }
}

extension DurabilityReport {
  var object: JSON {
    [
      "fileSystem": fileSystem, "medium": medium.rawValue, "sync": sync.rawValue,
      "verdict": verdict.rawValue,
    ]
  }
}
