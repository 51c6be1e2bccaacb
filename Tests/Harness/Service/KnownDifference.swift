// The kinds of differences between our service and Firestore's emulator that are meant. docs/testing.md gives
// the reasons. Any other difference is a failure.
//
// A kind is either a part of the answers, which is removed from both before the rest is compared, or it is
// the whole answer: one side refuses what the other one answers. In both cases our side must be as described.

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
  /// The emulator merges alternatives that contain each other, and then counts array filters.
  case repeatedArrayFilter
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

  /// Finds the kind of a difference in which one side refuses the request; nil if it is not meant.
  static func of(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> KnownDifference? {
    allCases.first { $0.explains(step, ours, theirs) }
  }

  /// Whether our answer must be compared with the evaluator, because the emulator has none.
  var needsEvaluator: Bool {
    [.missingIndex, .orderAfterName, .notInCombination, .nameEquality, .aggregationMask].contains(self)
  }

  private func explains(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> Bool {
    let isRefusedByUs = ours.status == 400 && !theirs.isError
    let isRefusedByThem = !ours.isError && theirs.status == 400
    switch self {
    case .missingIndex:
      return isRefusedByThem
        && (theirs.message == "Firestore does not support descending key scans"
          || theirs.message.hasPrefix("This query requires an index "))
    case .orderAfterName:
      return isRefusedByThem && theirs.message == "order by clause cannot contain more fields after the key"
    case .notInCombination:
      return isRefusedByThem && theirs.message.hasPrefix("'NOT_IN' cannot be used in the same query with ")
    case .nameEquality:
      return isRefusedByThem && theirs.message.hasPrefix("Equality on key is not allowed ")
    case .aggregationMask:
      return isRefusedByThem
        && (theirs.message.hasPrefix("The aggregation property ")
          || theirs.message.hasPrefix("Cannot apply property masks when aggregation fields are present"))
    case .emptyFilter:
      return isRefusedByUs && ours.message == "Composite filter must have at least one sub-filter."
        && step.body.contains(#""filters":[]"#)
    case .repeatedArrayFilter:
      return isRefusedByUs && ours.message == Self.twoArrayFilters && step.hasOverlappingArrayFilters
    case .missingPage: return isRefusedByUs && step.isListWithMissing && Self.isPageError(step, ours.message)
    case .longName:
      // The emulator looks for the document, and may or may not find what it needs.
      let isAbsent =
        theirs.status == 404
        && ["Document (", "no entity to update: "].contains { theirs.message.hasPrefix($0) }
      return ours.status == 400 && (!theirs.isError || isAbsent) && step.hasLongName
        && ours.message == "The key path element name is longer than 1500 bytes."
    case .writesOfOneDocument:
      return isRefusedByThem && step.path.hasSuffix(":commit") && !step.documentsWrittenTwice.isEmpty
        && Self.isMerging(theirs.message) && ours.body["writeResults"]?.elements.count == step.writes.count
    case .nameTransform:
      return isRefusedByUs && ours.message == "Invalid reserved name in field path __name__"
        && step.body.contains(#""fieldPath":"__name__""#)
    case .unstoredField:
      return isRefusedByUs && KnownText.isOfFieldName(ours.message)
        && step.body.contains("\"\(Self.fieldName(ours.message))\":")
    case .preconditionText, .undecodable, .unknownField, .fieldNameText, .readTimeText, .emptyCommitTime,
      .skippedResults, .aggregationDone, .aggregationLimit, .verifiedAbsence, .tokenOfEmptyPage, .otherError:
      return false
    }
  }

  /// Whether a list with missing documents is refused for a parameter that the emulator does not read.
  private static func isPageError(_ step: RESTStep, _ message: String) -> Bool {
    if message == "Page size must be nonnegative." { return step.parameter("pageSize") == "-1" }
    return step.parameter("mask.fieldPaths") != nil
      && ["Invalid property path ", "Invalid empty property path ", "Invalid reserved name in field path "]
        .contains { message.hasPrefix($0) }
  }

  private static let twoArrayFilters = "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction."

  private static func isMerging(_ message: String) -> Bool {
    message.hasPrefix("Cannot collapse mutations ") || message.hasSuffix(" an entity in the same request.")
  }

  /// The name in an error about the name of a field.
  private static func fieldName(_ message: String) -> Substring {
    message.hasPrefix("field name ") ? message.dropFirst(11).dropLast(" is reserved.".count) : ""
  }
}

extension RESTStep {
  var isListWithMissing: Bool { method == "GET" && parameter("showMissing") == "true" }

  fileprivate var hasLongName: Bool {
    [path, body].contains { $0.contains(String(repeating: "x", count: 1501)) }
  }

  /// Whether two array filters of the query have the same field and a value in common.
  fileprivate var hasOverlappingArrayFilters: Bool {
    let filters = JSONTree(Array(body.utf8)).fieldFilters.filter {
      $0["op"]?.text?.hasPrefix("ARRAY_CONTAINS") ?? false
    }
    return filters.indices.contains { index in
      filters[..<index].contains { earlier in
        earlier["field"] == filters[index]["field"]
          && earlier.operands.contains { filters[index].operands.contains($0) }
      }
    }
  }

  var writes: [JSONTree] { JSONTree(Array(body.utf8))["writes"]?.elements ?? [] }

  /// The names of the documents that several writes of the body change.
  var documentsWrittenTwice: Set<String> {
    let names = writes.compactMap(\.writtenName)
    return Set(names.filter { name in names.count { $0 == name } > 1 })
  }
}

extension JSONTree {
  /// All field filters in the tree.
  fileprivate var fieldFilters: [JSONTree] {
    switch self {
    case .object(let members):
      members.flatMap { name, value in name == "fieldFilter" ? [value] : value.fieldFilters }
    case .array(let elements): elements.flatMap(\.fieldFilters)
    default: []
    }
  }

  /// The values with which a filter compares.
  fileprivate var operands: [JSONTree] {
    guard let value = self["value"] else { return [] }
    return value["arrayValue"]?["values"]?.elements ?? [value]
  }

  /// The name of the document of a write.
  var writtenName: String? {
    (self["update"]?["name"] ?? self["delete"] ?? self["verify"] ?? self["transform"]?["document"])?.text
  }
}
