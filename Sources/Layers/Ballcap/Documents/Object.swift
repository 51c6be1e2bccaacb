// The base of everything that stands for a document.
//
// Internal members begin with `ballcap`: `@testable import` shows them to an app's subclasses.

public import FirebaseFirestore
public import FirebaseStorage
import Foundation
import LayerKit

/// A document's place, and when it was made and changed. Meant for one thread at a time, that of the
/// callbacks.
open class Object: Documentable {
  open class var name: String { TypeName.lowercased(of: self) }

  /// The enumeration, also in a file that imports Firestore alone, where the bare name is its property
  /// wrapper.
  public typealias ServerTimestamp = Ballcap.ServerTimestamp

  public internal(set) var documentReference: DocumentReference! {
    get { reference }
    set { reference = newValue }
  }
  private var reference: DocumentReference
  // Not `DocumentSnapshot?`, which would be nil first and then assigned to.
  /// What was read last; nil before the first read.
  public internal(set) var snapshot: Optional<DocumentSnapshot>
  var ballcapTimes: DocumentTimes

  /// The time of construction, until more is known: from reading, or from saving this instance.
  public internal(set) var createdAt: Timestamp {
    get { ballcapTimes.createdAt }
    set { ballcapTimes.createdAt = newValue }
  }

  public internal(set) var updatedAt: Timestamp {
    get { ballcapTimes.updatedAt }
    set { ballcapTimes.updatedAt = newValue }
  }

  /// In the storage of the default app, at the path of the document.
  open var storageReference: StorageReference {
    Storage.storage().reference(withPath: documentReference.path)
  }

  public required init(_ documentReference: DocumentReference) {
    reference = documentReference
    snapshot = nil
    ballcapTimes = DocumentTimes()
  }

  /// The object of a document that was read at `moment`.
  init(ballcapRead snapshot: DocumentSnapshot, at moment: Date) {
    reference = snapshot.reference
    self.snapshot = snapshot
    ballcapTimes = DocumentTimes(read: snapshot, at: moment)
  }

  /// The object of a document that was found, if the class can make it with all that it holds at once. Nil if
  /// it is to be made empty and then filled: classes outside of this module know but that way.
  class func ballcapWhole(
    of snapshot: DocumentSnapshot, at moment: Date, _ decoder: Firestore.Decoder
  ) throws -> Object? { nil }

  /// Points this instance at another document; its data stays.
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
