// Times that the remote has still to set, as items have them.

import FirebaseFirestore

/// For it, the item has the time of the write on this machine, whose clock may be wrong. It is not what is
/// stored, and not where the query has the record, which is behind all times.
struct PendingTime {
  /// What the item made of this machine's time, as bytes that sort; those of null if it keeps none.
  let estimate: [UInt8]
  /// Bytes that sort as the query does.
  let place: [UInt8]
}

extension BaseItem {
  /// Takes the fields of a document.
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

  /// The time that stands for a field which has `bytes`; nil if there is none, or it has something else by
  /// now.
  func kitPendingTime(_ field: String, _ bytes: [UInt8]) -> PendingTime? {
    kitPendingTimes[field].flatMap { $0.estimate == bytes ? $0 : nil }
  }

  /// The fields of `dict` that have nothing but this machine's time.
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
