// What a caller asks one commit for, checked as far as no document is needed for it.

/// Mutations within the limits, grouped by document in the order of their first mention.
struct CommitRequest: Sendable {
  struct Target: Sendable {
    let path: DocumentPath
    let key: [UInt8]
    /// Where the first mutation is: it decides what has to be known of the document.
    let first: Int
    var isWrittenAgain = false
  }

  let mutations: [Mutation]
  /// Of a transaction: the commit needs that they are still so.
  let reads: TransactionReads?
  /// Nil for that of the store.
  let durability: StoreDurability?
  private(set) var targets: [Target] = []
  /// For each mutation, which target it is about.
  private(set) var places: [Int] = []
  private(set) var bytes = 0

  init(
    _ mutations: [Mutation], reads: TransactionReads? = nil, durability: StoreDurability? = nil
  ) throws(DocumentStoreError) {
    self.mutations = mutations
    self.durability = durability
    self.reads = reads
    places.reserveCapacity(mutations.count)
    var known: [RecordKey: Int] = [:]
    var transformCounts: [Int] = []
    targets.reserveCapacity(mutations.count)
    if mutations.count > 1 {
      known.reserveCapacity(mutations.count)
      transformCounts.reserveCapacity(mutations.count)
    }
    var bytesAsked = 0
    for (number, mutation) in mutations.enumerated() {
      let size = try DocumentLimits.check(mutation)
      bytes += size
      if !mutation.isPlacement { bytesAsked += size }
      try DocumentLimits.checkRequest(bytes: bytesAsked)
      let key = DocumentKey.encode(mutation.path)
      // One look says whether it is known, and makes it so.
      let place = mutations.count == 1 ? 0 : known.place(of: key, orNew: targets.count)
      if place < targets.count {
        targets[place].isWrittenAgain = true
      } else {
        targets.append(Target(path: mutation.path, key: key, first: number))
        transformCounts.append(0)
      }
      transformCounts[place] += mutation.transforms.count
      try DocumentLimits.check(transforms: transformCounts[place], of: mutation.path)
      places.append(place)
    }
  }
}

extension CommitRequest {
  /// Whatever the document is, it is gone afterwards: it need not be read for that. What the same commit sets in its
  /// place has to be later than it.
  func isBlindRemoval(_ target: Target) -> Bool {
    guard !target.isWrittenAgain, case .delete = mutations[target.first].change else { return false }
    return mutations[target.first].precondition == .none
  }

  /// What the first mutation builds on, and no more: a damaged document can still be replaced or deleted.
  func document(
    _ target: Target, _ record: RawSpan, _ shapes: ShapeTable
  ) throws(RecordError) -> StoredDocument {
    switch mutations[target.first].change {
    case .patch, .verify: return try StoredDocument(path: target.path, record: record, shapes)
    case .set, .delete, .place:
      let head = try RecordCodec.decodeHead(record)
      let fields = (try? RecordCodec.decodeFields(record, shapes)) ?? StoredDocument.damagedFields
      return StoredDocument(
        path: target.path, createTime: head.createTime, updateTime: head.updateTime, fields: fields)
    }
  }
}

extension [RecordKey: Int] {
  fileprivate mutating func place(of key: [UInt8], orNew place: Int) -> Int {
    func look(_ known: inout Int) -> Int { known }
    return look(&self[RecordKey(key), default: place])
  }
}
