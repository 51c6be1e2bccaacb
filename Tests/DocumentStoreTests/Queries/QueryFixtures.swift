// Shorthands for the documents and fields of query tests.

public import DocumentStore

/// A document at `c/<id>`.
func document(_ id: String, _ fields: (String, StoredValue)...) -> StoredDocument {
  document(at: ["c", id], fields)
}

func document(at segments: [String], _ fields: [(String, StoredValue)] = []) -> StoredDocument {
  StoredDocument(
    path: DocumentPath(unchecked: segments), createTime: timestamp(0), updateTime: timestamp(0),
    fields: StoredMap(fields.map { (name: $0.0, value: $0.1) }))
}

extension StoredFieldPath: ExpressibleByStringLiteral {
  public init(stringLiteral name: String) { self.init(unchecked: [name]) }
}

extension StoredValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral
{
  public init(integerLiteral number: Int64) { self = .integer(number) }
  public init(floatLiteral number: Double) { self = .double(number) }
  public init(stringLiteral text: String) { self = .string(text) }
  public init(arrayLiteral elements: StoredValue...) { self = .array(elements) }
}

extension StructuredQuery {
  /// A query for all documents of `c`.
  static var ofC: StructuredQuery { StructuredQuery(.collection(path("c", "x").parent)) }

  static var ofGroupC: StructuredQuery { StructuredQuery(.collectionGroup("c")) }

  func `where`(
    _ field: StoredFieldPath, _ operator: FieldFilter.Operator, _ operand: StoredValue
  ) throws -> StructuredQuery {
    try filtered(by: .field(field, `operator`, operand))
  }

  func order(
    _ field: StoredFieldPath, _ direction: OrderBy.Direction = .ascending
  ) throws -> StructuredQuery {
    try ordered(by: OrderBy(field, direction))
  }

  /// The ids of the documents in the result.
  func ids(_ documents: [StoredDocument]) -> [String] { answer(from: documents).map(\.path.id) }
}
