// Records that cannot be decoded, as commands tell of them.

import DocumentStore

/// Records that a command has passed over, each once.
struct Undecodable {
  /// More are counted only.
  static let namesMax = 20

  private(set) var paths: [DocumentPath] = []
  private var seen: Set<String> = []

  mutating func add(_ more: [DocumentPath]) {
    for path in more where seen.insert("\(path)").inserted { paths.append(path) }
  }

  var names: [String] { paths.map(\.description) }

  /// Nil if there are none. `what` says what became of the others.
  func failure(_ what: String) -> CommandFailure? {
    guard !paths.isEmpty else { return nil }
    return CommandFailure(
      code: .badData, message: "\(Self.sentence(paths.count, names)) \(what) \(Self.advice(names))")
  }

  static func sentence(_ count: Int, _ names: [String]) -> String {
    let listed = names.prefix(namesMax).joined(separator: ", ")
    let rest = count > namesMax ? ", and \(count - min(namesMax, names.count)) more" : ""
    return "\(Wording.count(count, "record")) cannot be decoded: \(listed)\(rest)."
  }

  /// Advice about records with these names. Only a document can be deleted or overwritten.
  static func advice(_ names: [String]) -> String {
    let salvage = "\"dugout salvage\" sets all of them aside."
    // The path of a document has at least two names. No other name of a record has a slash.
    guard names.contains(where: { $0.contains("/") }) else { return salvage }
    return "To delete or to overwrite such a document mends it, and \(salvage)"
  }
}
