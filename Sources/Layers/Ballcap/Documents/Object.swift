// The base class of all objects that represent a document.
//
// Internal members begin with `ballcap`, because `@testable import` makes them visible to an app's
// subclasses.

public import FirebaseFirestore
public import FirebaseStorage
import Foundation
import LayerKit

/// A document's reference, and its creation and update times. An object is not thread-safe, and callbacks
/// change it on the callback queue.
open class Object: Documentable {
  open class var name: String { TypeName.lowercased(of: self) }

  /// Ballcap's enumeration. Without this alias, the bare name would be Firestore's property wrapper in a file
  /// that imports only Firestore.
  public typealias ServerTimestamp = Ballcap.ServerTimestamp

  public internal(set) var documentReference: DocumentReference! {
    get { reference }
    set { reference = newValue }
  }
  private var reference: DocumentReference
  // Not `DocumentSnapshot?`, which would be initialized to nil and then assigned again.
  /// The snapshot that was read last; nil before the first read.
  public internal(set) var snapshot: Optional<DocumentSnapshot>
  var ballcapTimes: DocumentTimes

  /// The creation time. Until a read or a save of this object sets it, this is the time when the object was
  /// constructed.
  public internal(set) var createdAt: Timestamp {
    get { ballcapTimes.createdAt }
    set { ballcapTimes.createdAt = newValue }
  }

  public internal(set) var updatedAt: Timestamp {
    get { ballcapTimes.updatedAt }
    set { ballcapTimes.updatedAt = newValue }
  }

  /// The reference at the document's path, in the storage of the default app.
  open var storageReference: StorageReference {
    Storage.storage().reference(withPath: documentReference.path)
  }

  public required init(_ documentReference: DocumentReference) {
    reference = documentReference
    snapshot = nil
    ballcapTimes = DocumentTimes()
  }

  /// Creates the object of a document that was read at `readTime`.
  init(ballcapRead snapshot: DocumentSnapshot, at readTime: Date) {
    reference = snapshot.reference
    self.snapshot = snapshot
    ballcapTimes = DocumentTimes(read: snapshot, at: readTime)
  }

  /// Returns a complete object for a document that was found. Returns nil if the class can only create an
  /// empty object and then fill it, as all classes outside this module must.
  class func ballcapWhole(
    of snapshot: DocumentSnapshot, at readTime: Date, decoder: Firestore.Decoder
  ) throws -> Object? { nil }

  /// Assigns another document to this object. The object keeps its data.
  public func set(documentReference: DocumentReference) {
    reference = documentReference
  }
}

extension Equatable where Self: Object {
  public static func == (left: Self, right: Self) -> Bool {
    left.documentReference == right.documentReference
  }
}

extension Hashable where Self: Object {
  public func hash(into hasher: inout Hasher) { hasher.combine(documentReference) }
}
