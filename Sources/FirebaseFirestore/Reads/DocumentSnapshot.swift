// What a read found.

package import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// A document at one moment, or the fact that it did not exist then.
public class DocumentSnapshot: NSObject, @unchecked Sendable {
  // Unchecked, because the class is not final, as in the original; all that it has are constants.
  public let reference: DocumentReference
  public let metadata: SnapshotMetadata
  package let stored: StoredDocument?

  init(_ reference: DocumentReference, _ viewed: ViewedDocument) {
    self.reference = reference
    stored = viewed.document
    metadata = SnapshotMetadata(
      hasPendingWrites: viewed.hasPendingWrites, isFromCache: viewed.isFromCache)
  }

  public var exists: Bool { stored != nil }

  public var documentID: String { reference.documentID }

  /// All fields, or nil if the document does not exist. Numbers are `NSNumber`, null is `NSNull`.
  public func data() -> [String: Any]? { data(with: .none) }

  public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
    stored.map { UserData.dictionary(from: $0.fields, in: reference.firestore) }
  }

  /// The value of a field, named by text with dots or by a `FieldPath`; nil if it is not there.
  public func get(_ field: Any) -> Any? { get(field, serverTimestampBehavior: .none) }

  public func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any? {
    guard let path = FieldPath.any(field) else {
      ProgrammerError.trap("Subscript key must be an NSString or FIRFieldPath.")
    }
    guard path != .documentID else { return exists ? reference : nil }
    return stored?.fields[path].map { UserData.any(from: $0, in: reference.firestore) }
  }

  /// The same as `get`.
  public subscript(key: Any) -> Any? { self.get(key) }

  /// The document as a value of `type`. An absent document is nil for an optional type, else an error.
  public func data<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    guard let stored else { return try decoder.decode(type, from: NSNull()) }
    return try decoder.decodeFields(type, from: stored.fields, reference: reference)
  }

  /// Equal means the same database, path, existence, fields and metadata.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    return reference == other.reference && stored?.fields == other.stored?.fields
      && metadata == other.metadata
  }

  public override var hash: Int { reference.hash }
}
