// Reports of records that cannot be decoded.

import DocumentStore

/// The undecodable records that a command has skipped, without duplicates.
struct Undecodable {
  /// Only this many names are listed.
  static let namesMax = 20

  private(set) var paths: [DocumentPath] = []
  private var seen: Set<String> = []

  mutating func add(_ more: [DocumentPath]) {
    for path in more where seen.insert("\(path)").inserted { paths.append(path) }
  }

  var names: [String] { paths.map(\.description) }

  /// Returns a failure that lists the undecodable records, or nil if there are none. `what` is a sentence
  /// about the other records.
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

  /// Returns advice about the records with these names. Only documents can be deleted or overwritten.
  static func advice(_ names: [String]) -> String {
    let salvage = "\"dugout salvage\" sets all of them aside."
    // A document's path has at least two segments, and no other record has a slash in its name.
    guard names.contains(where: { $0.contains("/") }) else { return salvage }
    return "Deleting or overwriting such a document repairs it, and \(salvage)"
  }
}
