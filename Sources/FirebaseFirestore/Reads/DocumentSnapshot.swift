// What a read found.

import DocumentStore
public import Foundation
import OfflineSync

/// Where a read may look. Without a remote, the database is server and cache at once.
public enum FirestoreSource: UInt, Sendable {
  case `default` = 0
  case server = 1
  case cache = 2
}

/// What to read where the server has not yet set a timestamp. Without a remote that never happens.
public enum ServerTimestampBehavior: Int, Sendable {
  case none = 0
  case estimate = 1
  case previous = 2
}

/// Where a snapshot comes from.
public final class SnapshotMetadata: NSObject, Sendable {
  public let hasPendingWrites: Bool
  public let isFromCache: Bool

  init(hasPendingWrites: Bool, isFromCache: Bool) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotMetadata else { return false }
    return hasPendingWrites == other.hasPendingWrites && isFromCache == other.isFromCache
  }

  public override var hash: Int { (hasPendingWrites ? 2 : 0) + (isFromCache ? 1 : 0) }
}

/// A document at one moment, or the fact that it did not exist then.
public final class DocumentSnapshot: NSObject, Sendable {
  public let reference: DocumentReference
  public let metadata: SnapshotMetadata
  private let document: StoredDocument?

  init(_ reference: DocumentReference, _ viewed: ViewedDocument) {
    self.reference = reference
    document = viewed.document
    metadata = SnapshotMetadata(
      hasPendingWrites: viewed.hasPendingWrites, isFromCache: viewed.isFromCache)
  }

  public var exists: Bool { document != nil }

  public var documentID: String { reference.documentID }

  /// All fields, or nil if the document does not exist.
  public func data() -> [String: Any]? { data(with: .none) }

  public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
    document.map { UserData.dictionary(from: $0.fields, in: reference.firestore) }
  }

  /// The document as a value of `type`. An absent document is nil for an optional type, else an error.
  public func data<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws -> T {
    guard let document else { return try decoder.decode(type, from: NSNull()) }
    return try decoder.decodeFields(type, from: document.fields, reference: reference)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentSnapshot else { return false }
    return reference == other.reference && document?.fields == other.document?.fields
      && metadata == other.metadata
  }

  public override var hash: Int { reference.hash }
}

extension FirestoreSource {
  var readSource: ReadSource {
    switch self {
    case .default: .default
    case .server: .server
    case .cache: .cache
    }
  }
}
