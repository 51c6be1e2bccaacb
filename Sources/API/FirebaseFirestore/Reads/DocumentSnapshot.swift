// What a read found.

import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// A document at one moment, or the fact that it did not exist then.
public class DocumentSnapshot: NSObject, @unchecked Sendable {
  // Unchecked, because the class is not final, as in the original; all that it has are constants.
  /// Where the document is.
  public let reference: DocumentReference
  /// Where the content is from, and whether writes wait.
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

  /// One that was read before.
  init(_ reference: DocumentReference, _ record: DocumentRecord, _ metadata: SnapshotMetadata) {
    self.reference = reference
    self.record = record
    self.metadata = metadata
  }

  /// Of a state of the document's own query.
  init(_ reference: DocumentReference, _ view: ViewSnapshot) {
    self.reference = reference
    record = view.documents.first.map { DocumentRecord($0) }
    metadata = SnapshotMetadata.of(hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache)
  }

  /// What was found, for the layers above.
  var stateRecord: DocumentRecord? { record }

  /// The document with all of its fields, as cursors need it.
  var stored: StoredDocument? { record?.document }

  /// False if there is no document, and then no data.
  public var exists: Bool { record != nil }

  /// The last part of the path.
  public var documentID: String { reference.documentID }

  /// All fields, or nil if the document does not exist. Numbers are `NSNumber`, null is `NSNull`.
  public func data() -> [String: Any]? { data(with: .none) }

  /// All fields; nil if there is no document.
  public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
    record(serverTimestampBehavior).map { UserData.dictionary(from: $0.fields, in: reference.firestore) }
  }

  /// The value of a field, named by text with dots or by a `FieldPath`; nil if it is not there.
  public func get(_ field: Any) -> Any? { get(field, serverTimestampBehavior: .none) }

  /// One field, by its path as text or a `FieldPath`; nil if it is not there.
  public func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any? {
    guard let path = FieldPath.any(field) else {
      ProgrammerError.trap("Subscript key must be an NSString or FIRFieldPath.")
    }
    guard path != .documentID else { return exists ? reference : nil }
    return record(serverTimestampBehavior)?.value(at: path).map {
      UserData.any(from: $0, in: reference.firestore)
    }
  }

  /// The same as `get`.
  public subscript(key: Any) -> Any? { self.get(key) }

  /// The document as a value of `type`. An absent document is nil for an optional type, else an error.
  public func data<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    guard let record else { return try decoder.decode(type, from: NSNull()) }
    // Only a document with pending writes has times that are still to be set.
    return try decoder.decodeFields(
      type, from: record.fields, reference: reference,
      times: metadata.hasPendingWrites ? serverTimestampBehavior : .none)
  }

  /// With something in the place of times that the remote has still to set. Only a document with pending writes has
  /// any.
  private func record(_ behavior: ServerTimestampBehavior) -> DocumentRecord? {
    guard let record, metadata.hasPendingWrites, behavior != .none else { return record }
    return DocumentRecord(record.document.withTimes(behavior))
  }

  /// Equal means the same database, path, existence, fields and metadata.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    guard reference == other.reference, metadata == other.metadata else { return false }
    guard let record, let others = other.record else { return exists == other.exists }
    return record.hasSameFields(as: others)
  }

  public override var hash: Int { reference.hash }
}
