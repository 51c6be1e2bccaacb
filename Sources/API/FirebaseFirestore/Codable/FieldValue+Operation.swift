// What a field value does when it is committed.

import DocumentStore

extension FieldValue {
  /// Returns the operation that the commit performs for this field value; nil for a deletion.
  func operation(in firestore: Firestore?) throws(UserDataError) -> FieldTransform.Operation? {
    switch kind {
    case .delete: nil
    case .serverTimestamp: .serverTimestamp
    case .increment(let number): .increment(number)
    case .minimum(let number): .minimum(number)
    case .maximum(let number): .maximum(number)
    case .arrayUnion(let elements): .arrayUnion(try Self.stored(elements, in: firestore))
    case .arrayRemove(let elements): .arrayRemove(try Self.stored(elements, in: firestore))
    }
  }

  private static func stored(
    _ elements: [Any], in firestore: Firestore?
  ) throws(UserDataError) -> [StoredValue] {
    var stored: [StoredValue] = []
    for element in elements {
      stored.append(try UserData.stored(from: element, place: .inArray, in: firestore))
    }
    return stored
  }

  var isDeletion: Bool { if case .delete = kind { true } else { false } }
}
