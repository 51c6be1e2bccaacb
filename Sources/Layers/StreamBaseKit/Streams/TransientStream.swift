// A stream of items that are not stored.

import LayerKit

/// A stream of given items, ordered by key, for rows that represent no records. Each call is one batch, which
/// is delivered before the call returns.
open class TransientStream: StreamBase {
  public override init() {
    super.init()
    batchDelay = nil
  }

  /// Replaces all items. Nil removes all items.
  open func reset(_ items: [BaseItem]?) {
    let items = KeyedArray(rawArray: items ?? [])
    for key in kitRecords.keys where !items.has(key.text) { kitDrop(key) }
    for item in items { kitPut(item) }
    kitBatchIsDue()
  }

  /// Adds items. Traps if an item has no key, or a key that is already in the stream.
  open func add(_ items: BaseItem...) {
    for item in items {
      guard let key = item.key else {
        preconditionFailure("An item of a stream needs a key, and this \(Swift.type(of: item)) has none.")
      }
      precondition(kitRecords[ExactKey(key)] == nil, "There is an item with the key \(key) already.")
      kitPut(item)
    }
    kitBatchIsDue()
  }

  /// Removes the items with the keys of these items. Unknown keys are ignored.
  open func remove(_ items: BaseItem...) {
    for item in items { item.key.map { kitDrop(ExactKey($0)) } }
    kitBatchIsDue()
  }
}
