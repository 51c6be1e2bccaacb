// A document's place: reading and writing it.

package import DocumentStore
public import Foundation

/// Refers to a document, whether it exists or not. Equal if database and path are.
public final class DocumentReference: NSObject, Codable, Sendable {
  /// Where the document is.
  public let firestore: Firestore
  package let segments: [String]

  package init(_ firestore: Firestore, _ segments: [String]) {
    self.firestore = firestore
    self.segments = segments
  }

  /// The last part of the path.
  public var documentID: String { segments[segments.count - 1] }

  /// From the root of the database.
  public var path: String { segments.joined(separator: "/") }

  /// The collection that the document is in.
  public var parent: CollectionReference { CollectionReference(firestore, Array(segments.dropLast())) }

  /// The collection at a path relative to this document.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(firestore, PathText.collection(collectionPath, below: segments))
  }

  // MARK: The engine's names

  /// The path with every rule for names checked.
  package var storedPath: DocumentPath {
    get throws {
      do throws(PathError) {
        return try DocumentPath(segments)
      } catch {
        throw FirestoreErrors.translate(error)
      }
    }
  }

  /// This reference as a value of a document; its names are checked when it is written.
  package var stored: StoredReference {
    StoredReference(
      projectID: firestore.app.projectID, databaseID: firestore.databaseID,
      path: DocumentPath(unchecked: segments))
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentReference else { return false }
    return firestore === other.firestore && segments.areSameUTF8(as: other.segments)
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    segments.hashUTF8(into: &hasher)
    return hasher.finalize()
  }
}
