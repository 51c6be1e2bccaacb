// A document in one snapshot.

import ByteStore

/// An existing document: its path, its times, and its fields.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// for user in try store.documents(StructuredQuery(.collection(CollectionPath(["users"])))) {
///   guard case .string(let name)? = user.fields["name"] else { continue }
///   print(user.path.id, name, user.updateTime.seconds)
/// }
/// ```
public struct StoredDocument: Sendable, Equatable {
  /// Placeholder for fields that cannot be decoded. No valid document has these fields, so every write is a
  /// change.
  static let damagedFields = StoredMap([("", .null)])

  /// Whether the fields could not be decoded.
  var isDamaged: Bool { !fields.isEncoded && fields == Self.damagedFields }

  /// The path of the document.
  public let path: DocumentPath
  /// The time at which the document was created. Later writes keep this time. If the document is deleted and
  /// created again, it gets a new time.
  public let createTime: StoredTimestamp
  /// The time of the last commit that changed the document. This time is later than the commit's own time if
  /// the previous version was ahead of the clock. A document that came from a bundle or a remote with its own
  /// times keeps those times.
  public let updateTime: StoredTimestamp
  /// The fields of the document.
  public let fields: StoredMap

  package init(
    path: DocumentPath, createTime: StoredTimestamp, updateTime: StoredTimestamp, fields: StoredMap
  ) {
    self.path = path
    self.createTime = createTime
    self.updateTime = updateTime
    self.fields = fields
  }

  /// The document encoded without shapes, independent of any database.
  package var record: [UInt8] {
    RecordCodec.encode(createTime: createTime, updateTime: updateTime, fields: fields)
  }

  /// Decodes a record without shapes.
  package init(path: DocumentPath, record: [UInt8]) throws(RecordError) {
    try self.init(path: path, record: record.rawSpan, shapes: .empty)
  }

  init(path: DocumentPath, record: RawSpan, shapes: ShapeTable) throws(RecordError) {
    let head = try RecordCodec.decodeHead(record)
    self.init(
      path: path, createTime: head.createTime, updateTime: head.updateTime,
      fields: try RecordCodec.decodeFields(record, shapes))
  }
}

// MARK: - Records with given shapes, for tests

extension StoredDocument {
  /// Decodes a record with these shapes, which are indexed by id. The names in each shape must be sorted by
  /// bytes.
  package init(path: DocumentPath, record: [UInt8], shapes: [[String]]) throws(RecordError) {
    try self.init(path: path, record: record.rawSpan, shapes: Self.dictionary(shapes).table)
  }

  package func record(shapes: [[String]]) -> [UInt8] {
    var encoder = RecordEncoder(shapes: Self.dictionary(shapes))
    _ = encoder.append(self)
    return encoder.bytes
  }

  /// A dictionary with exactly these shapes.
  private static func dictionary(_ shapes: [[String]]) -> ShapeDictionary {
    let dictionary = ShapeDictionary()
    for (id, names) in shapes.enumerated() { dictionary.add(Shape(id: id, names: names)) }
    return dictionary
  }
}
