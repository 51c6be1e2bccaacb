// Pending server timestamps in items.

import FirebaseFirestore

/// A pending server timestamp. The item has the local time of the write instead, and the local clock may be
/// wrong. That time is not stored. It also does not give the record's position in the query, which is after
/// all other times.
struct PendingTime {
  /// The sort bytes of the value that the item has for the local time; the bytes of null if it keeps none.
  let estimate: [UInt8]
  /// Bytes that compare in the order of the query.
  let place: [UInt8]
}

extension BaseItem {
  /// Sets the fields of the item from a document.
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

  /// Returns the pending timestamp of a field whose present value has these sort bytes. Nil if there is none,
  /// or if the value has changed.
  func kitPendingTime(_ field: String, _ bytes: [UInt8]) -> PendingTime? {
    kitPendingTimes[field].flatMap { $0.estimate == bytes ? $0 : nil }
  }

  /// Returns the fields of `dict` that contain only the local time of a pending timestamp.
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
