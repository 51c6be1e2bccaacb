// A document as it was at one commit.

import ByteStore

/// An existing document: where it is, when it was made and last changed, and its fields.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// for user in try store.documents(StructuredQuery(.collection(CollectionPath(["users"])))) {
///   guard case .string(let name)? = user.fields["name"] else { continue }
///   print(user.path.id, name, user.updateTime.seconds)
/// }
/// ```
public struct StoredDocument: Sendable, Equatable {
  /// Stands for fields that cannot be decoded. No document can have these, so that every write differs from them.
  static let damagedFields = StoredMap([("", .null)])

  /// Where it is.
  public let path: DocumentPath
  /// Kept by later writes, new after a removal.
  public let createTime: StoredTimestamp
  /// Of the last commit that changed it; ahead of that if what was there before was ahead of the clock, or if it came
  /// with its times, from a bundle or a remote.
  public let updateTime: StoredTimestamp
  /// What it has.
  public let fields: StoredMap

  package init(
    path: DocumentPath, createTime: StoredTimestamp, updateTime: StoredTimestamp, fields: StoredMap
  ) {
    self.path = path
    self.createTime = createTime
    self.updateTime = updateTime
    self.fields = fields
  }

  /// As it can be stored anywhere: without shapes.
  package var record: [UInt8] {
    RecordCodec.encode(createTime: createTime, updateTime: updateTime, fields: fields)
  }

  /// Of a record without shapes.
  package init(path: DocumentPath, record: [UInt8]) throws(RecordError) {
    try self.init(path: path, record: record.rawSpan, .empty)
  }

  init(path: DocumentPath, record: RawSpan, _ shapes: ShapeTable) throws(RecordError) {
    let head = try RecordCodec.decodeHead(record)
    self.init(
      path: path, createTime: head.createTime, updateTime: head.updateTime,
      fields: try RecordCodec.decodeFields(record, shapes))
  }
}
