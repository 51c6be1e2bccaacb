// References to collections, which create document references and add documents.

import DocumentStore
private import Foundation
import OfflineSync

/// A reference to a collection, which may or may not contain documents.
///
/// A reference is also the query for all documents of the collection.
public final class CollectionReference: Query, @unchecked Sendable {
  package let segments: [String]

  init(_ firestore: Firestore, _ segments: [String]) {
    self.segments = segments
    super.init(firestore, StructuredQuery(.collection(CollectionPath(unchecked: segments))))
  }

  /// The last segment of the path.
  public var collectionID: String { segments[segments.count - 1] }

  /// The path from the root of the database.
  public var path: String { segments.joined(separator: "/") }

  /// The document that contains this collection; nil at the root.
  public var parent: DocumentReference? {
    segments.count == 1 ? nil : DocumentReference(firestore, Array(segments.dropLast()))
  }

  /// Returns a reference with a new random ID: 20 characters of A-Z, a-z and 0-9.
  public func document() -> DocumentReference {
    DocumentReference(firestore, segments + [randomID()])
  }

  /// Returns the document at a path relative to this collection.
  public func document(_ documentPath: String) -> DocumentReference {
    DocumentReference(firestore, PathText.document(documentPath, below: segments))
  }

  private func randomID() -> String {
    guard let simulation = firestore.simulation else { return Self.randomID(Int.random) }
    return Self.randomID { range in Int(simulation.random() % UInt64(range.count)) + range.lowerBound }
  }

  private static func randomID(_ random: (Range<Int>) -> Int) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let characters = (0..<20).map { _ in alphabet[random(0..<alphabet.count)] }
    return String(decoding: characters, as: UTF8.self)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CollectionReference else { return false }
    return firestore === other.firestore && segments.areSameUTF8(as: other.segments)
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    segments.hashUTF8(into: &hasher)
    return hasher.finalize()
  }
}

extension DocumentReference {
  /// The collection that contains the document.
  public var parent: CollectionReference { CollectionReference(firestore, Array(segments.dropLast())) }

  /// Returns the collection at a path relative to this document.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(firestore, PathText.collection(collectionPath, below: segments))
  }
}

extension Firestore {
  /// The collection at a path such as `rooms` or `rooms/eros/messages`.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(self, PathText.collection(collectionPath))
  }

  /// All documents of all collections with this ID, at any depth.
  public func collectionGroup(_ collectionID: String) -> Query {
    Query(self, StructuredQuery(.collectionGroup(PathText.collectionID(collectionID))))
  }
}
