// A stream of items that are not stored.

import LayerKit

/// A stream of items that the app supplies, ordered by key. Use it for rows that represent no records. Each
/// call of `reset`, `add` or `remove` is one batch, which is delivered before the call returns.
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
    kitScheduleBatch()
  }

  /// Adds items. Traps if an item has no key, or has a key that is already in the stream.
  open func add(_ items: BaseItem...) {
    for item in items {
      guard let key = item.key else {
        preconditionFailure("An item of a stream needs a key, and this \(Swift.type(of: item)) has none.")
      }
      precondition(kitRecords[ExactKey(key)] == nil, "There is an item with the key \(key) already.")
      kitPut(item)
    }
    kitScheduleBatch()
  }

  /// Removes the items that have the keys of these items. Keys that are not in the stream are ignored.
  open func remove(_ items: BaseItem...) {
    for item in items { item.key.map { kitDrop(ExactKey($0)) } }
    kitScheduleBatch()
  }
}
