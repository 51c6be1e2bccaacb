// The record of a database's migrations: a reserved document, which each step of a migration replaces in the
// commit of its own writes.
//
//   applied: array of strings      the migrations that have ended, in the order of their commits
//   paged: map                     the paged migration that has begun and not ended, if there is one:
//     name: string
//     order: string                the collection and the order of its query
//     pages, documents: integer    how many of them are committed
//     after: map                   the values of the last document, one per order: "0", "1", ...

import DocumentStore

struct MigrationRecord: Sendable {
  /// A paged migration that has begun and not ended.
  struct Paged: Sendable {
    var name: String
    var order: String
    var pages = 0
    var documents = 0
    var after: [StoredValue] = []
  }

  static let path = ReservedPath.appliedMigrations

  var applied: [String] = []
  var paged: Paged?

  /// Decodes the stored document; nil is the record of a database without migrations.
  init(_ document: StoredDocument?) throws(DocumentStoreError) {
    guard let fields = document?.fields else { return }
    guard case .array(let names)? = fields["applied"] else { throw Self.unreadable }
    for name in names {
      guard case .string(let name) = name else { throw Self.unreadable }
      applied.append(name)
    }
    switch fields["paged"] {
    case nil: paged = nil
    case .map(let map)?: paged = try Paged(map)
    default: throw Self.unreadable
    }
  }

  /// Replaces the stored document.
  var mutation: Mutation {
    var fields = StoredMap([("applied", .array(applied.map { .string($0) }))])
    if let paged { fields["paged"] = .map(paged.fields) }
    return .set(Self.path, fields)
  }

  fileprivate static var unreadable: DocumentStoreError {
    .failedPrecondition(
      "The record of the migrations has a form that this version cannot read. A newer version wrote it.")
  }
}

extension MigrationRecord.Paged {
  fileprivate init(_ map: StoredMap) throws(DocumentStoreError) {
    guard case .string(let name)? = map["name"], case .string(let order)? = map["order"],
      case .integer(let pages)? = map["pages"], case .integer(let documents)? = map["documents"],
      case .map(let after)? = map["after"], let pages = Int(exactly: pages),
      let documents = Int(exactly: documents), pages >= 0, documents >= 0
    else { throw MigrationRecord.unreadable }
    self.init(name: name, order: order, pages: pages, documents: documents)
    for place in 0..<after.count {
      guard let value = after["\(place)"] else { throw MigrationRecord.unreadable }
      self.after.append(value)
    }
  }

  fileprivate var fields: StoredMap {
    // A map, because an array cannot contain an array, and a value to order by may be one.
    let after = StoredMap(after.enumerated().map { ("\($0.offset)", $0.element) })
    return StoredMap([
      ("name", .string(name)), ("order", .string(order)), ("pages", .integer(Int64(pages))),
      ("documents", .integer(Int64(documents))), ("after", .map(after)),
    ])
  }
}

extension StructuredQuery {
  /// The collection and the order of the query as text. A position in the result of one query is a position
  /// in the result of another if this text is equal.
  var orderID: String {
    get throws(DocumentStoreError) {
      var query = StructuredQuery(scope)
      for order in orders { query = try query.ordered(by: order) }
      return query.canonicalID
    }
  }
}
