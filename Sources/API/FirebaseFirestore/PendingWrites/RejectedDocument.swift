// The writes of a rejected batch, to be shown or made again.

import DocumentStore
private import FirebaseCore
private import Foundation
import OfflineSync

/// One write of a rejected batch.
public struct RejectedDocument: Hashable, Sendable {
  /// The kinds of writes.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// The write replaced the whole document, like `setData`.
    case set
    /// The write changed fields, and created the document if necessary, like `setData` with `merge`.
    case merge
    /// The write changed fields of an existing document, like `updateData`.
    case update
    /// The write deleted the document.
    case delete
    /// A transaction read the document and did not write it.
    case verify
  }

  /// The document.
  public let reference: DocumentReference
  /// The kind of the write.
  public let kind: Kind
  let mutation: PendingMutation

  /// The path of the document.
  public var path: String { reference.path }

  init(_ mutation: PendingMutation, in firestore: Firestore) {
    reference = DocumentReference(firestore, mutation.path.segments)
    kind =
      switch mutation.change {
      case .set: .set
      case .patch: mutation.precondition == .none ? .merge : .update
      case .delete: .delete
      case .verify, .place: .verify
      }
    self.mutation = mutation
  }

  /// The fields that the write set, as `updateData` takes them: by field, a string with dots if the field is
  /// inside a map. Fields that the commit computes or deletes have a `FieldValue`.
  public var data: [String: Any] {
    let firestore = reference.firestore
    var data: [String: Any] = [:]
    switch mutation.change {
    case .set(let fields, _): data = UserData.dictionary(from: fields, in: firestore)
    case .patch(let fields, let mask, _):
      for field in mask.paths {
        data[field.canonical] =
          fields[field].map { UserData.any(from: $0, in: firestore) } ?? FieldValue.delete()
      }
    case .delete, .verify, .place: break
    }
    for transform in mutation.transforms {
      data[transform.field.canonical] = FieldValue(transform.operation, in: firestore)
    }
    return data
  }

  /// The write without preconditions that belong to the documents of that time.
  fileprivate var renewed: Mutation? {
    guard kind != .verify else { return nil }
    return Mutation(mutation.path, mutation.change, precondition: kind == .update ? .exists(true) : .none)
  }

  /// Two writes are equal if they have the same document and the same contents.
  public static func == (left: Self, right: Self) -> Bool {
    left.reference == right.reference && left.mutation == right.mutation
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(reference)
    hasher.combine(kind)
  }
}

extension WriteBatch {
  /// Adds the writes of a rejected batch, to make them again. Adds those in `documents`, and no conditions
  /// that a transaction set.
  @discardableResult
  public func addWrites(of rejected: RejectedWrite) -> WriteBatch {
    for document in rejected.documents {
      guard let mutation = document.renewed else { continue }
      _ = add(document.reference) { _ in mutation }
    }
    return self
  }
}

extension FieldValue {
  fileprivate convenience init(_ operation: FieldTransform.Operation, in firestore: Firestore) {
    func list(_ values: [StoredValue]) -> [Any] { values.map { UserData.any(from: $0, in: firestore) } }
    switch operation {
    case .serverTimestamp: self.init(.serverTimestamp)
    case .increment(let number): self.init(.increment(number))
    case .minimum(let number): self.init(.minimum(number))
    case .maximum(let number): self.init(.maximum(number))
    case .arrayUnion(let elements): self.init(.arrayUnion(list(elements)))
    case .arrayRemove(let elements): self.init(.arrayRemove(list(elements)))
    }
  }
}
