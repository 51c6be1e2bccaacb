// A request for one commit, with all checks that need no stored document.
//
// The fields that the mutations write are encoded here, before the commit has a place in the order. No commit
// waits for the encoding of another one.

import ByteStore

/// Mutations within the limits, grouped by document in the order of first mention.
struct CommitRequest: Sendable {
  struct Target: Sendable {
    let path: DocumentPath
    let key: [UInt8]
    /// The hash of the key, with the hash function of the request.
    let hash: UInt64
    /// Index of the first mutation; it decides how much of the stored document is needed.
    let first: Int
    var isWrittenAgain = false
  }

  /// The mutations. Their new fields are encoded.
  private(set) var mutations: [Mutation] = []
  /// The reads of a transaction, which must still hold when it commits.
  let reads: TransactionReads?
  /// Nil means the store's default durability.
  let durability: StoreDurability?
  private(set) var targets: [Target] = []
  /// For each mutation, the index of its target.
  private(set) var places: [Int] = []
  private(set) var bytes = 0

  /// Checks the mutations and encodes their fields. Without shapes, the fields stay as they are. `hash` is
  /// the store's hash function.
  init(
    _ mutations: [Mutation], reads: TransactionReads? = nil, durability: StoreDurability? = nil,
    hash: KeyHash = Self.hashForChecks, shapes: ShapeDictionary? = nil
  ) throws(DocumentStoreError) {
    self.durability = durability
    self.reads = reads
    self.mutations.reserveCapacity(mutations.count)
    places.reserveCapacity(mutations.count)
    targets.reserveCapacity(mutations.count)
    var known = TargetTable(mutations.count)
    var transformCounts: [Int] = []
    var requestBytes = 0
    for (number, original) in mutations.enumerated() {
      let mutation = shapes.map { original.encoded($0) } ?? original
      // If the fields are encoded, the encoder has counted their size.
      let size = try DocumentLimits.check(mutation)
      bytes += size
      if !mutation.isPlacement { requestBytes += size }
      try DocumentLimits.checkRequest(bytes: requestBytes)
      let key = DocumentKey.encode(mutation.path)
      let keyHash = hash.hash(key.rawSpan)
      let place = known.place(of: key, keyHash, in: targets)
      if place < targets.count {
        targets[place].isWrittenAgain = true
      } else {
        targets.append(Target(path: mutation.path, key: key, hash: keyHash, first: number))
      }
      let transforms = mutation.transforms.count
      if transforms > 0 {
        while transformCounts.count < targets.count { transformCounts.append(0) }
        transformCounts[place] += transforms
        try DocumentLimits.check(transforms: transformCounts[place], of: mutation.path)
      }
      places.append(place)
      self.mutations.append(mutation)
    }
  }
}

extension CommitRequest {
  /// A hash function for requests without a store. Its seed is secret, too.
  static let hashForChecks = KeyHash(
    seed: RandomID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)))

  /// True if the document is deleted without being read. False if the same commit writes it again, because
  /// the new document must get a later time than the deleted one.
  func isBlindRemoval(_ target: Target) -> Bool {
    guard !target.isWrittenAgain, case .delete = mutations[target.first].change else { return false }
    return mutations[target.first].precondition == .none
  }

  /// Whether the first mutation of this document replaces it without reading any of its existing fields.
  func replaces(_ target: Target) -> Bool {
    switch mutations[target.first].change {
    case .patch, .verify: false
    case .set, .delete, .place: true
    }
  }

  /// The stored document, whose fields stay encoded. If the first mutation replaces the document, its fields
  /// may be unreadable, so that a damaged document can still be replaced or deleted.
  func document(
    _ target: Target, _ record: [UInt8], shapes: ShapeTable
  ) throws(RecordError) -> StoredDocument {
    let head = try RecordCodec.decodeHead(record.rawSpan)
    let fields: StoredMap
    do throws(RecordError) {
      fields = StoredMap(try CheckedRecord(record, shapes))
    } catch {
      guard replaces(target) else {
        // Decoding finds the error that is reported for such a record.
        return try StoredDocument(path: target.path, record: record.rawSpan, shapes: shapes)
      }
      fields = StoredDocument.damagedFields
    }
    return StoredDocument(
      path: target.path, createTime: head.createTime, updateTime: head.updateTime, fields: fields)
  }
}

/// The targets of a request, found by the hashes of their keys.
private struct TargetTable {
  /// The indexes of targets; linear probing from the slot given by the hash. Empty if there is one target.
  private var slots: [Int32] = []

  init(_ count: Int) {
    guard count > 1 else { return }
    var size = 4
    while size < 2 * count { size *= 2 }
    slots = Array(repeating: -1, count: size)
  }

  /// The index of the target with this key. For a new key, the index that the target will get.
  mutating func place(of key: [UInt8], _ hash: UInt64, in targets: [CommitRequest.Target]) -> Int {
    guard !slots.isEmpty else { return 0 }
    var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[slot] >= 0 {
      let place = Int(slots[slot])
      if targets[place].hash == hash, targets[place].key == key { return place }
      slot = (slot + 1) & (slots.count - 1)
    }
    slots[slot] = Int32(targets.count)
    return targets.count
  }
}
