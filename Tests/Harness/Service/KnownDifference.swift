// The kinds of differences between our service and Firestore's emulator that are meant. docs/testing.md gives
// the reasons. Any other difference is a failure.

/// A kind of difference that is meant.
package enum KnownDifference: String, CaseIterable, Sendable {
  /// The emulator names a document in its own terms in the error of a precondition, or has other times there.
  case preconditionText
  /// The emulator refuses messages that it cannot decode with one sentence, and unknown fields, too.
  case undecodable, unknownField
  /// The emulator has several texts for names of fields that are reserved or empty.
  case fieldNameText
  /// The emulator has another text for a read time that is too old.
  case readTimeText
  /// The emulator's answer to a commit without writes has no time.
  case emptyCommitTime
  /// The emulator does not tell with the last document how many documents an offset has skipped, and tells it
  /// with all others.
  case skippedResults
  /// The emulator's aggregations have a field that is not in the protocol.
  case aggregationDone
  /// The emulator does not check the size of a page that includes missing documents, ignores its mask, and
  /// tells when documents were deleted.
  case missingPage
  /// The emulator refuses orders for which it has no index.
  case missingIndex
  /// The emulator refuses an inequality on a field if the order is the one of names.
  case orderAfterName
  /// The emulator refuses `NOT_IN` together with other lists, also if they are alternatives.
  case notInCombination
  /// The emulator refuses equality on names together with an inequality on another field.
  case nameEquality
  /// The emulator answers filters with an empty list of filters inside.
  case emptyFilter
  /// The emulator refuses aggregates of fields that a projection lacks.
  case aggregationMask
  /// In the emulator, the limit of an aggregation counts only documents that have the aggregated fields.
  case aggregationLimit
  /// The emulator checks the length of names only when it writes.
  case longName
  /// The emulator merges the writes of one document in a commit. It refuses some combinations, and the
  /// results of all these writes are those of the last one.
  case writesOfOneDocument
  /// The emulator tells a time for an absent document that was verified.
  case verifiedAbsence
  /// The emulator gives a token although no page follows.
  case tokenOfEmptyPage
  /// The emulator transforms `__name__`.
  case nameTransform
  /// The emulator checks the names of fields only when it stores them.
  case unstoredField
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
      let texts = [(ours.message, theirs.message)] + zip(Self.statusTexts(ours), Self.statusTexts(theirs))
      return ours.status == theirs.status && texts.contains { Self.isPrecondition($0, $1) }
    case .undecodable:
      return ours.status == 400 && theirs.status == 400 && theirs.message == Self.undecodableText
    case .unknownField:
      return step.mayHaveUnknownFields && !ours.isError && theirs.message == Self.undecodableText
    case .fieldNameText:
      return ours.isError && theirs.isError
        && [ours.message, theirs.message].allSatisfy(Self.isAboutFieldName)
    case .readTimeText:
      return [ours.message, theirs.message].allSatisfy {
        $0.hasPrefix("The requested 'read_time' is too old")
      }
    case .emptyCommitTime:
      return step.path.hasSuffix(":commit") && !ours.isError && theirs.body == .object([:])
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
        && ["\"sum\":", "\"avg\":"].contains { step.body.contains($0) }
        && ["\"limit\":", "\"offset\":"].contains { step.body.contains($0) }
    case .nameEquality: return !ours.isError && theirs.message.hasPrefix("Equality on key is not allowed ")
    case .emptyFilter:
      return isRefusedByUsOnly && ours.message == "Composite filter must have at least one sub-filter."
    case .longName: return ours.message == "The key path element name is longer than 1500 bytes."
    case .writesOfOneDocument:
      return step.path.hasSuffix(":commit") && step.writesDocumentTwice
        && (theirs.message.isEmpty ? !ours.isError : Self.isMerging(theirs.message))
    case .verifiedAbsence:
      return !ours.isError && !theirs.isError && step.body.contains(#""verify":"#)
        && step.body.contains(#""exists":false"#)
    case .tokenOfEmptyPage:
      return !ours.isError && !theirs.isError && ours.body["nextPageToken"] == nil
        && theirs.body["nextPageToken"] != nil
    case .nameTransform:
      return isRefusedByUsOnly && ours.message == "Invalid reserved name in field path __name__"
    case .unstoredField: return isRefusedByUsOnly && Self.isAboutFieldName(ours.message)
    case .skippedResults, .aggregationDone, .otherError: return false
    }
  }

  private static let undecodableText = "Payload isn't valid for request."

  /// Whether a text is only known on one side, because the texts or the rules differ in a way that is meant.
  static func isText(_ message: String) -> Bool {
    isPreconditionOfEntity(message) || isAboutFieldName(message) || isMerging(message)
      || [
        "the stored version ",
        "The requested 'read_time' is too old", "Invalid reserved name in field path __name__",
        "Firestore does not support descending key scans",
        "This query requires an index ", "Composite filter must have at least one sub-filter",
        "Equality on key is not allowed ",
      ].contains { message.hasPrefix($0) }
  }

  private static func isAboutFieldName(_ message: String) -> Bool {
    message.hasPrefix("field name ") && message.contains("is reserved")
      || message.hasPrefix("The property.name is the empty string")
      || message.contains(" contains an invalid nested entity")
  }

  private static func isMerging(_ message: String) -> Bool {
    message.hasPrefix("Cannot collapse mutations ") || message.hasSuffix(" an entity in the same request.")
  }

  private static func statusTexts(_ reply: RESTReply) -> [String] {
    (reply.body["status"]?.elements ?? []).map { $0["message"]?.text ?? "" }
  }

  private static func isPrecondition(_ ours: String, _ theirs: String) -> Bool {
    // Both sides have the same sentence, with their own times.
    if theirs.hasPrefix("the stored version ") { return ours.withoutNumbers == theirs.withoutNumbers }
    return isPreconditionOfEntity(theirs)
  }

  private static func isPreconditionOfEntity(_ message: String) -> Bool {
    ["no entity to update: ", "entity already exists: "].contains { message.hasPrefix($0) }
  }

  /// Removes the parts of answers that differ in a way that is meant, and returns the kinds that it found.
  static func remove(from ours: inout RESTReply, _ theirs: inout RESTReply) -> Set<KnownDifference> {
    var found: Set<KnownDifference> = []
    if let skipped = ours.body.first("skippedResults"),
      theirs.body.first("skippedResults") ?? skipped == skipped
    {
      ours.body = ours.body.without("skippedResults")
      theirs.body = theirs.body.without("skippedResults")
      found.insert(.skippedResults)
    }
    if theirs.body.first("aggregateFields") != nil, theirs.body.first("done") != nil {
      theirs.body = theirs.body.without("done")
      found.insert(.aggregationDone)
    }
    if case .array(let documents)? = theirs.body["documents"] {
      theirs.body = theirs.body.replacing("documents", by: .array(documents.map(\.withoutDeletionTime)))
    }
    return found
  }
}

extension RESTStep {
  /// Whether the body has several writes of one document.
  fileprivate var writesDocumentTwice: Bool {
    let names = JSONTree(Array(body.utf8))["writes"]?.elements.compactMap { write in
      (write["update"]?["name"] ?? write["delete"] ?? write["verify"] ?? write["transform"]?["document"])?
        .text
    }
    return Set(names ?? []).count < names?.count ?? 0
  }
}

extension JSONTree {
  /// A document without the time of its deletion, if it is an absent one.
  fileprivate var withoutDeletionTime: JSONTree {
    self["createTime"] == nil ? without("updateTime") : self
  }

  fileprivate func replacing(_ name: String, by value: JSONTree) -> JSONTree {
    guard case .object(var members) = self else { return self }
    members[name] = value
    return .object(members)
  }

  /// The value without the members of this name in the objects of an array.
  fileprivate func without(_ name: String) -> JSONTree {
    switch self {
    case .array(let elements): .array(elements.map { $0.without(name) })
    case .object(let members): .object(members.filter { $0.key != name })
    case .null, .boolean, .number, .string: self
    }
  }
}
