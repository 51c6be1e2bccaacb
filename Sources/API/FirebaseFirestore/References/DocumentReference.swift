// References to documents.

package import DocumentStore
private import FirebaseCore
public import Foundation
private import Synchronization

/// A reference to a document, which may or may not exist. References are equal if their databases and paths
/// are equal.
public final class DocumentReference: NSObject, Codable, Sendable {
  /// The database of the document.
  public let firestore: Firestore
  package let segments: [String]
  /// Whether the path was checked and is valid. A check of every read would cost as much as a lock.
  private let isValid = Atomic<Bool>(false)

  package init(_ firestore: Firestore, _ segments: [String]) {
    self.firestore = firestore
    self.segments = segments
  }

  /// The last segment of the path.
  public var documentID: String { segments[segments.count - 1] }

  /// The path from the root of the database.
  public var path: String { segments.joined(separator: "/") }

  // MARK: The engine's names

  /// The path in the form that the engine uses. Throws if a name in the path violates a rule.
  package var storedPath: DocumentPath {
    get throws {
      if isValid.load(ordering: .relaxed) { return DocumentPath(unchecked: segments) }
      do throws(PathError) {
        let path = try DocumentPath(segments)
        isValid.store(true, ordering: .relaxed)
        return path
      } catch {
        throw FirestoreErrors.translate(error)
      }
    }
  }

  /// This reference as a field value. The names in its path are checked when the value is written.
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

extension DocumentReference: Validatable {
  func validate() throws { _ = try storedPath }
}

extension Firestore {
  /// The document at a path such as `rooms/eros`.
  public func document(_ documentPath: String) -> DocumentReference {
    DocumentReference(self, PathText.document(documentPath))
  }
}

extension StoredReference {
  /// Creates a reference that equals those that an app without a project ID writes, and those written through
  /// `Firestore.open(at:)`. Tools that work on an app's database need such references. Equality includes the
  /// project and the database. `StoredReference(projectID: "", databaseID: "", …)` therefore equals no
  /// reference that an app has written.
  package init(inDefaultDatabase path: DocumentPath) {
    self.init(projectID: Self.defaultProject, databaseID: Firestore.defaultDatabase, path: path)
  }

  private static let defaultProject = FirebaseApp.unregistered(name: "default").projectID
}
