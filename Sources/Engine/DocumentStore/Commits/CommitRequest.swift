// A request for one commit, with all checks that need no stored document.

/// Mutations within the limits, grouped by document in the order of first mention.
struct CommitRequest: Sendable {
  struct Target: Sendable {
    let path: DocumentPath
    let key: [UInt8]
    /// Index of the first mutation; it decides how much of the stored document is needed.
    let first: Int
    var isWrittenAgain = false
  }

  let mutations: [Mutation]
  /// The reads of a transaction, which must still hold when it commits.
  let reads: TransactionReads?
  /// Nil means the store's default durability.
  let durability: StoreDurability?
  private(set) var targets: [Target] = []
  /// For each mutation, the index of its target.
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
    var requestBytes = 0
    for (number, mutation) in mutations.enumerated() {
      let size = try DocumentLimits.check(mutation)
      bytes += size
      if !mutation.isPlacement { requestBytes += size }
      try DocumentLimits.checkRequest(bytes: requestBytes)
      let key = DocumentKey.encode(mutation.path)
      // One dictionary lookup both finds an existing target and inserts a new one.
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
  /// True if the document is deleted without being read. False if the same commit writes it again, because
  /// the new document must get a later time than the deleted one.
  func isBlindRemoval(_ target: Target) -> Bool {
    guard !target.isWrittenAgain, case .delete = mutations[target.first].change else { return false }
    return mutations[target.first].precondition == .none
  }

  /// Decodes only the part of the stored document that the first mutation needs, so that a damaged document
  /// can still be replaced or deleted.
  func document(
    _ target: Target, _ record: RawSpan, shapes: ShapeTable
  ) throws(RecordError) -> StoredDocument {
    switch mutations[target.first].change {
    case .patch, .verify: return try StoredDocument(path: target.path, record: record, shapes: shapes)
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
