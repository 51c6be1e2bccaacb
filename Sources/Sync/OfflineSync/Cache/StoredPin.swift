// A pinned query, and its record in the store.
//
//   f: the form of the record, 1
//   q: the query, in bytes (QueryCodec)
//   d, b: the budget in documents and in bytes; missing for no limit
//   x: true if the documents have exceeded the budget

package import DocumentStore

/// The maximum size of a pinned query's documents; nil means no limit.
package struct PinLimits: Hashable, Sendable {
  package var documentsMax: Int?
  package var bytesMax: Int?

  package init(documentsMax: Int? = nil, bytesMax: Int? = nil) {
    self.documentsMax = documentsMax
    self.bytesMax = bytesMax
  }

  func isExceeded(byDocuments documents: Int, bytes: Int) -> Bool {
    documents > documentsMax ?? .max || bytes > bytesMax ?? .max
  }
}

/// A query that a user has pinned.
package struct StoredPin: Sendable, Equatable {
  private static let form: Int64 = 1

  package let user: String?
  /// The number of the record, unique among the pins of the user.
  let number: Int64
  package let query: StructuredQuery
  /// The text of the query's target.
  let text: String
  package let budget: PinLimits
  /// Whether the documents have exceeded the budget. The query is not watched for the pin then.
  package var isOverBudget = false

  init(_ query: StructuredQuery, of user: String?, number: Int64, budget: PinLimits) {
    self.user = user
    self.number = number
    self.query = query
    text = query.targetID
    self.budget = budget
  }

  /// Returns nil if the fields are not those of a record.
  init?(_ fields: StoredMap, of user: String?, number: Int64) {
    guard fields["f"] == .integer(Self.form), case .bytes(let bytes)? = fields["q"],
      let query = QueryCodec.decode(bytes)
    else { return nil }
    var limits: [Int?] = []
    for name in ["d", "b"] {
      switch fields[name] {
      case nil: limits.append(nil)
      case .integer(let limit)?:
        guard let limit = Int(exactly: limit), limit >= 0 else { return nil }
        limits.append(limit)
      default: return nil
      }
    }
    self.init(
      query, of: user, number: number, budget: PinLimits(documentsMax: limits[0], bytesMax: limits[1]))
    isOverBudget = fields["x"] == .boolean(true)
  }

  var fields: [StoredMap.Entry] {
    var fields: [StoredMap.Entry] = []
    if let limit = budget.bytesMax { fields.append(("b", .integer(Int64(limit)))) }
    if let limit = budget.documentsMax { fields.append(("d", .integer(Int64(limit)))) }
    fields.append(("f", .integer(Self.form)))
    fields.append(("q", .bytes(QueryCodec.encode(query))))
    if isOverBudget { fields.append(("x", .boolean(true))) }
    return fields
  }
}
