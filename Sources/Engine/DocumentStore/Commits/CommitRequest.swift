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

  /// The target of a mutation, and what else the request knows of it.
  struct Write: Sendable {
    /// The index of the target.
    let place: Int
    /// The new fields of the whole document; nil if the mutation has none.
    let record: CheckedRecord?
  }

  /// The mutations as they were given. If the commit writes a record about itself, a mutation without fields
  /// reserves its document at the end.
  let mutations: [Mutation]
  private(set) var writes: [Write] = []
  let terms: CommitTerms
  private(set) var targets: [Target] = []
  private(set) var bytes = 0

  /// Checks the mutations and encodes their fields. Without shapes, the fields stay as they are. `hash` is
  /// the store's hash function.
  init(
    _ mutations: [Mutation], _ terms: CommitTerms = CommitTerms(),
    hash: KeyHash = Self.hashForChecks, shapes: ShapeDictionary? = nil
  ) throws(DocumentStoreError) {
    var mutations = mutations
    if let record = terms.record { mutations.append(.set(record.path, StoredMap())) }
    self.mutations = mutations
    self.terms = terms
    writes.reserveCapacity(mutations.count)
    targets.reserveCapacity(mutations.count)
    var known = TargetTable(mutations.count)
    var transformCounts: [Int] = []
    var requestBytes = 0
    // Use a pointer, because each access to an array element would retain all parts of the mutation.
    try unsafe mutations.withUnsafeBufferPointer { mutations throws(DocumentStoreError) in
      guard let first = mutations.baseAddress else { return }
      for number in mutations.indices {
        let mutation = unsafe first + number
        var record: CheckedRecord?
        if let shapes { record = unsafe Self.record(mutation, shapes) }
        let size: Int
        if let record, unsafe mutation.pointee.isReplacement {
          size = try unsafe DocumentLimits.check(record, in: mutation.pointee.path)
        } else {
          size = try unsafe DocumentLimits.check(mutation.pointee.encoded(as: record))
        }
        bytes += size
        if unsafe !mutation.pointee.isPlacement { requestBytes += size }
        try DocumentLimits.checkRequest(bytes: requestBytes)
        let key = unsafe DocumentKey.encode(mutation.pointee.path)
        let keyHash = hash.hash(key.rawSpan)
        let place = known.place(of: key, keyHash, in: targets)
        if place < targets.count {
          targets[place].isWrittenAgain = true
        } else {
          unsafe targets.append(Target(path: mutation.pointee.path, key: key, hash: keyHash, first: number))
        }
        let transforms = unsafe Self.transformCount(mutation)
        if transforms > 0 {
          while transformCounts.count < targets.count { transformCounts.append(0) }
          transformCounts[place] += transforms
          try unsafe DocumentLimits.check(transforms: transformCounts[place], of: mutation.pointee.path)
        }
        writes.append(Write(place: place, record: record))
      }
    }
  }

  /// The new fields of the whole document as a record with these shapes. Nil if the mutation has no such
  /// fields, or if they exceed a limit of documents.
  private static func record(
    _ mutation: UnsafePointer<Mutation>, _ shapes: ShapeDictionary
  ) -> CheckedRecord? {
    switch unsafe mutation.pointee.change {
    case .set(let fields, _): fields.recordWithinLimits(shapes)
    case .place(let fields, _, _): fields.recordWithinLimits(shapes)
    case .patch, .delete, .verify: nil
    }
  }

  private static func transformCount(_ mutation: UnsafePointer<Mutation>) -> Int {
    switch unsafe mutation.pointee.change {
    // Cases that share a binding would copy their contents.
    case .set(_, let transforms): transforms.count
    case .patch(_, _, let transforms): transforms.count
    case .delete, .verify, .place: 0
    }
  }
}

extension CommitRequest {
  /// Applies a mutation to `base`, and returns the document after it, which is within the limits.
  func document(
    after number: Int, on base: StoredDocument?, at time: StoredTimestamp, updated: StoredTimestamp,
    shapes: ShapeDictionary
  ) throws(DocumentStoreError) -> StoredDocument? {
    let record = writes[number].record
    return try unsafe mutations.withUnsafeBufferPointer { mutations throws(DocumentStoreError) in
      let mutation = unsafe mutations.baseAddress! + number
      if let record, unsafe mutation.pointee.isReplacement {
        // Most mutations need no more than this.
        try unsafe mutation.pointee.precondition.check(base, at: mutation.pointee.path, for: "update")
        return unsafe StoredDocument(
          mutation.pointee.path, StoredMap(record), replacing: base, at: time, updated: updated)
      }
      let encoded = unsafe mutation.pointee.encoded(as: record)
      let after = try encoded.outcome(on: base, at: time, updated: updated, shapes: shapes).document
      if let after, encoded.dependsOnStoredFields { try DocumentLimits.check(after) }
      return after
    }
  }

  /// A hash function for requests without a store. Its seed is secret, too.
  static let hashForChecks = KeyHash(
    seed: RandomID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)))

  /// True if the document is deleted without being read. False if the same commit writes it again, because
  /// the new document must get a later time than the deleted one. False as well if the outcome is collected,
  /// because it has the time of the deleted document.
  func isBlindRemoval(_ target: Target) -> Bool {
    guard terms.outcome == nil, !target.isWrittenAgain, case .delete = mutations[target.first].change else {
      return false
    }
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
