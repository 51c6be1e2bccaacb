// Pending server timestamps in items.

import FirebaseFirestore

/// A pending server timestamp. Until the remote sets the time, the item contains the local time of the write
/// as an estimate. The local clock may be wrong, so the estimate is not stored. The estimate does not
/// determine the record's position in the query either: pending timestamps sort after all other times.
struct PendingTime {
  /// The sort bytes of the field's value while the item contains the estimate. If the item does not keep the
  /// field, these are the sort bytes of null.
  let estimate: [UInt8]
  /// The sort bytes that determine the record's position in the query.
  let place: [UInt8]
}

extension BaseItem {
  /// Sets the fields of the item from a document, and records its pending server timestamps.
  func kitTake(_ document: DocumentSnapshot) {
    update(document.data(with: .estimate))
    kitPendingTimes = [:]
    let names = document.pendingTimes
    guard !names.isEmpty else { return }
    let fields = self.dict
    let firestore = document.reference.firestore
    for name in names {
      kitPendingTimes[name] = PendingTime(
        estimate: SortBytes.of(fields[name], in: firestore), place: document.sortBytes(of: name))
    }
  }

  /// Returns the pending timestamp of a field whose present value has these sort bytes. Returns nil if the
  /// field has no pending timestamp, or if the app has changed its value since.
  func kitPendingTime(_ field: String, _ bytes: [UInt8]) -> PendingTime? {
    kitPendingTimes[field].flatMap { $0.estimate == bytes ? $0 : nil }
  }

  /// Returns the names of the fields of `dict` that contain only the local estimate of a pending server
  /// timestamp.
  func kitEstimates(in dict: [String: Any], _ firestore: Firestore) -> Set<String> {
    guard !kitPendingTimes.isEmpty else { return [] }
    let null = SortBytes.of(nil, in: firestore)
    let names = kitPendingTimes.keys.filter { name in
      let bytes = SortBytes.of(dict[name], in: firestore)
      return bytes != null && kitPendingTime(name, bytes) != nil
    }
    return Set(names)
  }
}
