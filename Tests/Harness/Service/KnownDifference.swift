// The kinds of differences between our service and Firestore's emulator that are meant. docs/testing.md gives
// the reasons. Any other difference is a failure.

/// A kind of difference that is meant.
package enum KnownDifference: String, CaseIterable, Sendable {
  /// The emulator names a document in its own terms in the error of a precondition.
  case preconditionText
  /// The emulator refuses messages that it cannot decode with one sentence, and unknown fields, too.
  case undecodable, unknownField
  /// The emulator quotes the name of a reserved field in some errors, and ends some with a dot.
  case reservedFieldText
  /// The emulator has another text for a read time that is too old.
  case readTimeText
  /// The emulator's answer to a commit without writes has no time.
  case emptyCommitTime
  /// The emulator does not tell how many documents an offset has skipped.
  case skippedResults
  /// The emulator's aggregations have a field that is not in the protocol.
  case aggregationDone
  /// The emulator fails with UNKNOWN.
  case emulatorFails
  /// The emulator does not check the size of a page that includes missing documents, and ignores its mask.
  case missingPage
  /// The emulator refuses orders for which it has no index.
  case missingIndex
  /// The emulator refuses an inequality on a field if the order is the one of names.
  case orderAfterName
  /// The emulator refuses `NOT_IN` together with other lists, also if they are alternatives.
  case notInCombination
  /// The emulator refuses aggregates of fields that a projection lacks.
  case aggregationMask
  /// In the emulator, the limit of an aggregation counts only documents that have the aggregated fields.
  case aggregationLimit
  /// The emulator checks the length of names only when it writes.
  case longName
  /// The emulator cannot delete a document and then write it in one commit.
  case deleteThenUpdate
  /// The emulator gives a token although no page follows.
  case tokenOfEmptyPage
  /// The emulator transforms `__name__`.
  case nameTransform
  /// The emulator does not check fields that are not in the mask of a write.
  case fieldOutsideMask
  /// A request with several errors is refused with another one of them.
  case otherError

  /// Finds the kind of a difference; nil if it is not meant, or if it is one of errors.
  static func of(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> KnownDifference? {
    allCases.first { $0.explains(step, ours, theirs) }
  }

  private func explains(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> Bool {
    let isRefusedByUsOnly = ours.status == 400 && !theirs.isError
    switch self {
    case .preconditionText:
      return ours.status == theirs.status
        && (Self.isPrecondition(theirs.message)
          || theirs.body["status"]?.elements.contains { Self.isPrecondition($0["message"]?.text ?? "") }
            ?? false)
    case .undecodable:
      return ours.status == 400 && theirs.status == 400 && theirs.message == Self.undecodableText
    case .unknownField:
      return step.mayHaveUnknownFields && !ours.isError && theirs.message == Self.undecodableText
    case .reservedFieldText:
      return [ours.message, theirs.message].allSatisfy {
        $0.hasPrefix("field name ") && $0.contains("is reserved")
      }
    case .readTimeText:
      return [ours.message, theirs.message].allSatisfy {
        $0.hasPrefix("The requested 'read_time' is too old")
      }
    case .emptyCommitTime:
      return step.path.hasSuffix(":commit") && !ours.isError && theirs.body == .object([:])
    case .emulatorFails: return theirs.status == 500 || theirs.status == 0
    case .missingPage:
      let names = Set(step.parameters.map(\.key))
      return !theirs.isError && names.contains("showMissing")
        && !names.isDisjoint(with: ["mask.fieldPaths", "pageSize", "pageToken"])
    case .missingIndex:
      return !ours.isError
        && (theirs.message == "Firestore does not support descending key scans"
          || theirs.message.hasPrefix("This query requires an index "))
    case .orderAfterName:
      return !ours.isError && theirs.message == "order by clause cannot contain more fields after the key"
    case .notInCombination:
      return theirs.message.hasPrefix("'NOT_IN' cannot be used in the same query with ")
    case .aggregationMask:
      return theirs.message.hasPrefix("The aggregation property ")
        || theirs.message.hasPrefix("Cannot apply property masks when aggregation fields are present")
    case .aggregationLimit:
      return !ours.isError && !theirs.isError && step.path.hasSuffix(":runAggregationQuery")
        && step.body.contains(#"{"field":"#) && (step.body.contains("limit") || step.body.contains("offset"))
    case .longName: return ours.message == "The key path element name is longer than 1500 bytes."
    case .deleteThenUpdate:
      return theirs.message == "Cannot delete then update an entity in the same request."
    case .tokenOfEmptyPage:
      return !ours.isError && !theirs.isError && ours.body["nextPageToken"] == nil
        && theirs.body["nextPageToken"] != nil
    case .nameTransform:
      return isRefusedByUsOnly && ours.message == "Invalid reserved name in field path __name__"
    case .fieldOutsideMask:
      return isRefusedByUsOnly && step.description.contains("pdateMask")
    case .skippedResults, .aggregationDone, .otherError: return false
    }
  }

  private static let undecodableText = "Payload isn't valid for request."

  static func isPrecondition(_ message: String) -> Bool {
    ["no entity to update: ", "entity already exists: ", "the stored version "].contains {
      message.hasPrefix($0)
    }
  }

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
