// The base of everything that stands for a document.

public import FirebaseFirestore
import Foundation

/// A document's place, and when it was made and changed.
open class Object: Documentable {
  open class var name: String { defaultName(of: self) }

  public internal(set) var documentReference: DocumentReference!
  public internal(set) var snapshot: DocumentSnapshot?
  /// The time of construction, until the document has been read.
  public internal(set) var createdAt: Timestamp
  public internal(set) var updatedAt: Timestamp

  public required init(_ documentReference: DocumentReference) {
    self.documentReference = documentReference
    createdAt = Timestamp(date: Date())
    updatedAt = createdAt
  }

  /// Points this instance at another document; its data stays.
  public func set(documentReference: DocumentReference) {
    self.documentReference = documentReference
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

// With a model, the data counts as well. Not in the hash: an object in a set stays where it is when its
// data changes.
extension Equatable where Self: Object, Self: DataRepresentable {
  public static func == (left: Self, right: Self) -> Bool {
    left.documentReference == right.documentReference && left.data == right.data
  }
}
