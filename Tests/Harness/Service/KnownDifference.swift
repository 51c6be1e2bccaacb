// The kinds of differences between our service and Firestore's emulator that are meant. docs/testing.md gives
// the reasons. Any other difference is a failure.

/// A kind of difference that is meant.
package enum KnownDifference: String, CaseIterable, Sendable {
  /// The emulator names a document in its own terms in the error of a precondition; we name it as Firestore
  /// does.
  case preconditionText
  /// The emulator refuses a message that it cannot decode with one sentence; we say what is wrong with it.
  case undecodableText
  /// The emulator refuses unknown fields, which newer clients may send.
  case unknownField
  /// The emulator's answer to an empty commit has no time.
  case emptyCommitTime
  /// The emulator does not tell how many documents an offset has skipped.
  case skippedResults
  /// The emulator's aggregations have a field that is not in the protocol.
  case aggregationDone
  /// The emulator fails with UNKNOWN.
  case emulatorFails
  /// The emulator takes a page token of another list.
  case foreignPageToken

  /// Finds the kind of a difference; nil if it is not meant.
  static func of(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> KnownDifference? {
    allCases.first { $0.explains(step, ours, theirs) }
  }

  private func explains(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> Bool {
    switch self {
    case .preconditionText:
      return ours.status == theirs.status
        && (theirs.message.hasPrefix("no entity to update: ")
          || theirs.message.hasPrefix("entity already exists: ")
          || theirs.message.hasPrefix("the stored version "))
    case .undecodableText:
      return ours.status == 400 && theirs.status == 400 && theirs.message == Self.undecodable
    case .unknownField:
      return step.body.contains("\"unknown\"") && theirs.message == Self.undecodable
    case .emptyCommitTime:
      return step.path.hasSuffix(":commit") && !ours.isError && theirs.body == .object([:])
    case .emulatorFails: return theirs.status == 500
    case .skippedResults, .aggregationDone, .foreignPageToken: return false
    }
  }

  private static let undecodable = "Payload isn't valid for request."

  /// Removes the parts of answers that differ in a way that is meant, and returns the kinds that it found.
  static func remove(from ours: inout RESTReply, _ theirs: inout RESTReply) -> Set<KnownDifference> {
    var found: Set<KnownDifference> = []
    if ours.body.first("skippedResults") != nil {
      ours.body = ours.body.without("skippedResults")
      found.insert(.skippedResults)
    }
    if theirs.body.first("aggregateFields") != nil, theirs.body.first("done") != nil {
      theirs.body = theirs.body.without("done")
      found.insert(.aggregationDone)
    }
    return found
  }
}

extension JSONTree {
  /// The value without the members of this name in the objects of an array.
  fileprivate func without(_ name: String) -> JSONTree {
    switch self {
    case .array(let elements): .array(elements.map { $0.without(name) })
    case .object(let members): .object(members.filter { $0.key != name })
    case .null, .boolean, .number, .string: self
    }
  }
}
