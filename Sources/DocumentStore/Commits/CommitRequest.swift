// What a caller asks one commit for, checked as far as no document is needed for it.

/// Mutations within the limits, grouped by document in the order of their first mention.
struct CommitRequest: Sendable {
  struct Target: Sendable {
    let path: DocumentPath
    let key: [UInt8]
    /// The first mutation: it decides what has to be known of the document.
    let first: Mutation
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
    for mutation in mutations {
      bytes += try DocumentLimits.check(mutation)
      try DocumentLimits.checkRequest(bytes: bytes)
      let key = DocumentKey.encode(mutation.path)
      let place: Int
      if let earlier = mutations.count == 1 ? nil : known[RecordKey(key)] {
        place = earlier
        targets[place].isWrittenAgain = true
      } else {
        place = targets.count
        targets.append(Target(path: mutation.path, key: key, first: mutation))
        transformCounts.append(0)
        if mutations.count > 1 { known[RecordKey(key)] = place }
      }
      transformCounts[place] += mutation.transforms.count
      try DocumentLimits.check(transforms: transformCounts[place], of: mutation.path)
      places.append(place)
    }
  }
}

extension CommitRequest.Target {
  /// Whatever the document is, it is gone afterwards: it need not be read for that. What the same commit sets in its
  /// place has to be later than it.
  var isBlindRemoval: Bool {
    guard !isWrittenAgain, case .delete = first.change else { return false }
    return first.precondition == .none
  }

  /// What the first mutation builds on, and no more: a damaged document can still be replaced or deleted.
  func document(_ record: RawSpan, _ shapes: ShapeTable) throws(RecordError) -> StoredDocument {
    switch first.change {
    case .patch, .verify: return try StoredDocument(path: path, record: record, shapes)
    case .set, .delete, .place:
      let head = try RecordCodec.decodeHead(record)
      let fields = (try? RecordCodec.decodeFields(record, shapes)) ?? CommitChange.damagedFields
      return StoredDocument(
        path: path, createTime: head.createTime, updateTime: head.updateTime, fields: fields)
    }
  }
}
