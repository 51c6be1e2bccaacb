// The order of the items of a stream.

import FirebaseFirestore
import LayerKit

/// An order by key, or by the value of a child and then by key, as in the database. A descending order
/// reverses both the values and the keys.
struct StreamOrder {
  var child: String?
  var isAscending = true
  var firestore: Firestore?

  /// The sort position of an item, computed once and then stored. Items change in place. If a search compared
  /// their present values, the order could change during the search.
  struct Place: Equatable {
    let value: [UInt8]
    let key: String

    static func == (left: Self, right: Self) -> Bool {
      left.value == right.value && ExactKey(left.key) == ExactKey(right.key)
    }

    fileprivate func precedes(_ other: Place) -> Bool {
      if value != other.value { return value.lexicographicallyPrecedes(other.value) }
      return ExactKey.areInOrder(key, other.key)
    }
  }

  /// An item without a key sorts before all other items with the same value.
  func place(of item: BaseItem) -> Place {
    guard let child else { return Place(value: [], key: item.key ?? "") }
    let bytes = SortBytes.of(item.dict[child], in: firestore)
    return Place(value: item.kitPendingTime(child, bytes)?.place ?? bytes, key: item.key ?? "")
  }

  func areInOrder(_ left: Place, _ right: Place) -> Bool {
    isAscending ? left.precedes(right) : right.precedes(left)
  }

  var comparator: (BaseItem, BaseItem) -> Bool {
    { areInOrder(place(of: $0), place(of: $1)) }
  }
}
