// Objects that all users of one database share.

private import ByteStore
import FirebaseFirestore

/// Creates one value per database and holds it weakly. A value lives as long as other objects hold it.
final class PerDatabase<Value: AnyObject & Sendable>: Sendable {
  private struct Known {
    weak var value: Value?
  }

  private let known = Locked<[ObjectIdentifier: Known]>([:])
  private let make: @Sendable () -> Value

  init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  subscript(firestore: Firestore) -> Value {
    known.withLock { known in
      if let value = known[ObjectIdentifier(firestore)]?.value { return value }
      let value = make()
      known = known.filter { $0.value.value != nil }
      known[ObjectIdentifier(firestore)] = Known(value: value)
      return value
    }
  }
}
