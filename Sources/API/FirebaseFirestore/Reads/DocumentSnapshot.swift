// The result of reading a document, and queries that start or end at it.

import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// The contents of a document at one point in time, or the fact that it did not exist.
public class DocumentSnapshot: NSObject, @unchecked Sendable {
  // Unchecked, because the class is not final, as in the original. All its properties are constants.
  /// The reference to the document.
  public let reference: DocumentReference
  /// The source of the contents, and whether writes are pending.
  public let metadata: SnapshotMetadata
  private let record: DocumentRecord?

  init(_ reference: DocumentReference, _ viewed: ViewedDocument) {
    self.reference = reference
    record = viewed.record
    metadata = SnapshotMetadata.of(
      hasPendingWrites: viewed.hasPendingWrites, isFromCache: viewed.isFromCache)
  }

  init(_ reference: DocumentReference, _ record: DocumentRecord?, isFromCache: Bool) {
    self.reference = reference
    self.record = record
    metadata = SnapshotMetadata.of(hasPendingWrites: false, isFromCache: isFromCache)
  }

  init(
    _ reference: DocumentReference, _ document: StoredDocument, hasPendingWrites: Bool, isFromCache: Bool
  ) {
    self.reference = reference
    record = DocumentRecord(document)
    metadata = SnapshotMetadata.of(hasPendingWrites: hasPendingWrites, isFromCache: isFromCache)
  }

  /// Creates the snapshot of a document that was read before.
  init(_ reference: DocumentReference, _ record: DocumentRecord, metadata: SnapshotMetadata) {
    self.reference = reference
    self.record = record
    self.metadata = metadata
  }

  /// Creates the snapshot from a result of the query for this document alone.
  init(_ reference: DocumentReference, _ view: ViewSnapshot) {
    self.reference = reference
    record = view.documents.first.map { DocumentRecord($0) }
    metadata = SnapshotMetadata.of(hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache)
  }

  /// The record, for modules that build on this one; nil if the document does not exist.
  var stateRecord: DocumentRecord? { record }

  /// The document with all its fields, as cursors need it.
  var stored: StoredDocument? { record?.document }

  /// Whether the document exists.
  public var exists: Bool { record != nil }

  /// The last segment of the path.
  public var documentID: String { reference.documentID }

  /// Returns all fields; nil if the document does not exist. Numbers are `NSNumber`, null is `NSNull`.
  public func data() -> [String: Any]? { data(with: .none) }

  /// Returns all fields; nil if the document does not exist.
  public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
    record(serverTimestampBehavior).map { UserData.dictionary(from: $0.fields, in: reference.firestore) }
  }

  /// Returns the value of a field; nil if the field does not exist. The field is a `FieldPath` or a string
  /// with dots.
  public func get(_ field: Any) -> Any? { get(field, serverTimestampBehavior: .none) }

  /// Returns the value of a field; nil if the field does not exist. The field is a `FieldPath` or a string
  /// with dots.
  public func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any? {
    guard let path = FieldPath.any(field) else {
      ProgrammerError.report("Subscript key must be an NSString or FIRFieldPath.")
      return nil
    }
    guard path != .documentID else { return exists ? reference : nil }
    return record(serverTimestampBehavior)?.value(at: path).map {
      UserData.any(from: $0, in: reference.firestore)
    }
  }

  /// The value of a field, as `get` returns it.
  public subscript(key: Any) -> Any? { self.get(key) }

  /// Decodes the document as `type`. If the document does not exist, returns nil for an optional type and
  /// throws for any other type.
  public func data<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    // Only a document with pending writes has pending timestamps.
    try decoder.decodeRecord(
      type, record, reference: reference, times: metadata.hasPendingWrites ? serverTimestampBehavior : .none)
  }

  /// Returns the record with values for the timestamps that the remote has not set yet. Only a document with
  /// pending writes has such timestamps.
  private func record(_ behavior: ServerTimestampBehavior) -> DocumentRecord? {
    guard let record, metadata.hasPendingWrites, behavior != .none else { return record }
    return DocumentRecord(record.document.withTimes(behavior))
  }

  /// Two snapshots are equal if they have the same database, path, existence, fields and metadata.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    guard reference == other.reference, metadata == other.metadata else { return false }
    guard let record, let others = other.record else { return exists == other.exists }
    return record.hasSameFields(as: others)
  }

  public override var hash: Int { reference.hash }
}

extension Query {
  /// Starts at the document's position in the order, inclusive.
  public func start(atDocument document: DocumentSnapshot) -> Query { starting(.before, document) }

  /// Starts after the document's position in the order.
  public func start(afterDocument document: DocumentSnapshot) -> Query { starting(.after, document) }

  /// Ends at the document's position in the order, inclusive.
  public func end(atDocument document: DocumentSnapshot) -> Query { ending(.after, document) }

  /// Ends before the document's position in the order.
  public func end(beforeDocument document: DocumentSnapshot) -> Query { ending(.before, document) }

  private func starting(_ side: Cursor.Side, _ document: DocumentSnapshot) -> Query {
    refined { query throws(DocumentStoreError) in try query.starting(side, document.stored) }
  }

  private func ending(_ side: Cursor.Side, _ document: DocumentSnapshot) -> Query {
    refined { query throws(DocumentStoreError) in try query.ending(side, document.stored) }
  }
}
