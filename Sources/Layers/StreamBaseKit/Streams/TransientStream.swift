// Items that are stored nowhere.

import LayerKit

/// A stream of what it is given, by key: for rows that stand for something else. Each call is one batch, and
/// over when it returns.
open class TransientStream: StreamBase {
  public override init() {
    super.init()
    batchDelay = nil
  }

  /// Nil is nothing.
  open func reset(_ items: [BaseItem]?) {
    let items = KeyedArray(rawArray: items ?? [])
    for key in kitRecords.keys where !items.has(key.text) { kitDrop(key) }
    for item in items { kitPut(item) }
    kitBatchIsDue()
  }

  /// Items with keys that are not there yet.
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

  /// By their keys. Those that are not there are ignored.
  open func remove(_ items: BaseItem...) {
    for item in items { item.key.map { kitDrop(ExactKey($0)) } }
    kitBatchIsDue()
  }
}
