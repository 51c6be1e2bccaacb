// One program of the record campaign.

internal import DocumentStore

struct RecordRun {
  /// A document with its fields as entries, and as a record.
  private struct Pair {
    var entries: StoredDocument
    var record: StoredDocument
  }

  private static let pairsMax = 8

  private var generator: RecordGenerator
  /// The shapes of the records.
  private let shapes = ShapedRecords()
  /// The shapes of the encoded entries.
  private let expectedShapes = ShapedRecords()
  /// A database in which the same names have other ids.
  private let otherShapes = ShapedRecords()
  private let damagedShapes = ShapedRecords()
  private var pairs: [Pair] = []
  private var time: Int64 = 1_700_000_000_000_000

  init(seed: UInt64) { generator = RecordGenerator(seed: seed) }

  mutating func step(_ summary: inout RecordCampaign.Summary) throws(RecordFailure) {
    time += Int64(generator.random.below(1000))
    if pairs.count < 2 || generator.random.oneIn(6) {
      let pair = try encode(generator.document(at: now))
      if pairs.count < Self.pairsMax {
        pairs.append(pair)
      } else {
        pairs[generator.random.below(pairs.count)] = pair
      }
      summary.count(.creations)
    }
    let place = generator.random.below(pairs.count)
    try mutate(place, &summary)
    try compareReads(pairs[place], &summary)
    try compareSizes(pairs[place], &summary)
    try compareEquality(pairs[place], pairs[generator.random.below(pairs.count)], &summary)
    try compareVariants(pairs[place], &summary)
    try damage(pairs[place], &summary)
  }

  private var now: StoredTimestamp {
    guard let now = StoredTimestamp(microseconds: time) else { preconditionFailure("a valid time") }
    return now
  }

  /// Encodes a document with both dictionaries.
  private func encode(_ document: StoredDocument) throws(RecordFailure) -> Pair {
    let (record, used) = shapes.encode(document)
    let expected = expectedShapes.encode(document)
    try require(ShapedRecords.bytes(of: record) == ShapedRecords.bytes(of: expected.document)) {
      "two dictionaries give different bytes to \(document)"
    }
    try require(ShapedRecords.shapes(of: record) == used) { "the walk finds other shapes in \(document)" }
    return Pair(entries: document, record: record)
  }

  // MARK: Mutations

  private mutating func mutate(
    _ place: Int, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    let old = pairs[place]
    let mutation = generator.mutation(of: old.entries)
    // A commit refuses other mutations before it applies any.
    guard (try? DocumentLimits.check(mutation)) != nil else { return }
    var recorded = mutation
    if let fields = mutation.newFields, generator.random.oneIn(2) {
      let document = StoredDocument(path: mutation.path, createTime: now, updateTime: now, fields: fields)
      recorded = mutation.with(try encode(document).record.fields)
      summary.count(.patchesFromRecords)
    }
    let isNew = generator.random.oneIn(10)
    let (expected, found) = (
      Result { try mutation.outcome(on: isNew ? nil : old.entries, at: now) },
      Result { try shapes.outcome(of: recorded, on: isNew ? nil : old.record, at: now) }
    )
    let text = { "\(mutation) of \(isNew ? "no document" : "\(old.entries)")" }
    switch (expected, found) {
    case (.failure(let expected), .failure(let found)):
      try require("\(expected)" == "\(found)") { "\(found) instead of \(expected): \(text())" }
      summary.count(.refusals)
    case (.success(let expected), .success(let found)):
      summary.note(mutation)
      if case .patch = mutation.change, let document = found.document {
        summary.count(.scalarPatches, if: ShapedRecords.hasKnownSize(document))
      }
      try require(found.transformResults == expected.transformResults) {
        "transforms give \(found.transformResults): \(text())"
      }
      try require(found.document == expected.document, expected.document == found.document) {
        "the document becomes \(found.document.map { "\($0.decoded)" } ?? "none"): \(text())"
      }
      guard let entries = expected.document, var record = found.document else { return }
      if mutation.newFields != nil, !recorded.keepsRecord {
        if ShapedRecords.bytes(of: record) == nil {
          record = try encode(entries).record
        } else {
          try compareBytes(record, entries, text)
        }
      }
      let new = Pair(entries: entries, record: record)
      pairs[place] = new
      guard !isNew else { return }
      summary.count(.unchanged, if: entries == old.entries)
      summary.count(
        .otherNames, if: entries.fields.entries.map(\.name) != old.entries.fields.entries.map(\.name))
      try compareKeys(old, new, &summary)
    default:
      throw RecordFailure("\(found) instead of \(expected): \(text())")
    }
  }

  private func compareBytes(
    _ record: StoredDocument, _ entries: StoredDocument, _ text: () -> String
  ) throws(RecordFailure) {
    let expected = expectedShapes.encode(entries)
    try require(ShapedRecords.fieldBytes(of: record) == ShapedRecords.fieldBytes(of: expected.document)) {
      "other bytes: \(text())"
    }
    try require(ShapedRecords.shapes(of: record) == expected.shapes) { "other shapes: \(text())" }
  }

  private mutating func compareKeys(
    _ old: Pair, _ new: Pair, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    guard let definition = generator.index(on: old.entries) else { return }
    let expected = ShapedRecords.keys(from: old.entries, to: new.entries, in: definition)
    let found = ShapedRecords.keys(from: old.record, to: new.record, in: definition)
    try require(
      found.map(\.key) == expected.map(\.key), found.map(\.isAdded) == expected.map(\.isAdded)
    ) { "other keys of \(definition): \(old.entries), then \(new.entries)" }
    summary.count(.indexKeys, if: !expected.isEmpty)
  }

  // MARK: Reads

  private mutating func compareReads(
    _ pair: Pair, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    let (entries, record) = (pair.entries.fields, pair.record.fields)
    try require(entries.count == record.count) { "\(record.count) fields of \(entries)" }
    for path in generator.paths(in: pair.entries) {
      try require(entries[path] == record[path]) { "another value at \(path) of \(entries)" }
      let name = path.names[0]
      try require(entries[name] == record[name]) { "another value of \(name) of \(entries)" }
    }
    let bytes = ShapedRecords.fieldBytes(of: pair.record) ?? []
    summary.count(.fieldsWithShape, if: bytes.first.map { $0 > 3 } ?? false)
    summary.count(.fieldsWithNames, if: bytes.first.map { $0 < 3 } ?? false && entries.count > 0)
    summary.count(.wideTables, if: bytes.first.map { $0 & 3 == 1 } ?? false)
    summary.count(.widestTables, if: bytes.first.map { $0 & 3 == 2 } ?? false)
  }

  private func compareSizes(
    _ pair: Pair, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    let (expected, found) = (
      Result { try DocumentLimits.check(pair.entries) }, Result { try DocumentLimits.check(pair.record) }
    )
    switch (expected, found) {
    case (.success(let expected), .success(let found)):
      try require(expected == found) { "\(found) bytes instead of \(expected): \(pair.entries)" }
      summary.count(.documentsWithinLimits)
    case (.failure(let expected), .failure(let found)):
      try require("\(expected)" == "\(found)") { "\(found) instead of \(expected): \(pair.entries)" }
      summary.count(.documentsBeyondLimits)
    default:
      throw RecordFailure("\(found) instead of \(expected): \(pair.entries)")
    }
  }

  // MARK: Equality

  private func compareEquality(
    _ left: Pair, _ right: Pair, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    let expected = left.entries.fields == right.entries.fields
    let found = [
      left.record.fields == right.record.fields, right.record.fields == left.record.fields,
      left.record.fields == right.entries.fields, left.entries.fields == right.record.fields,
    ]
    try require(found.allSatisfy { $0 == expected }) {
      "equal: \(found) instead of \(expected): \(left.entries.fields) and \(right.entries.fields)"
    }
    summary.count(expected ? .equalDocuments : .differentDocuments)
  }

  /// Compares a record with records of nearly the same fields: of another database, with names instead of
  /// shapes, and with another value in one place.
  private mutating func compareVariants(
    _ pair: Pair, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    _ = otherShapes.encode(generator.document(at: now))
    for document in [pair.entries, generator.variant(of: pair.entries)] {
      let foreign = Pair(entries: document, record: otherShapes.encode(document).document)
      let named = Pair(entries: document, record: try valid(document.record, document.path))
      for other in [foreign, named, try encode(document)] {
        try compareEquality(pair, other, &summary)
        let isSame = pair.record.fields == other.record.fields
        let bytes = ShapedRecords.fieldBytes(of: other.record)
        summary.count(.equalWithOtherBytes, if: isSame && bytes != ShapedRecords.fieldBytes(of: pair.record))
      }
      summary.count(.equalInOtherShapes, if: foreign.record.fields == pair.record.fields)
    }
  }

  private func valid(_ bytes: [UInt8], _ path: DocumentPath) throws(RecordFailure) -> StoredDocument {
    do throws(RecordError) { return try shapes.decode(bytes, at: path) } catch {
      throw RecordFailure("a record is not valid: \(error)")
    }
  }

  // MARK: Damage

  private mutating func damage(
    _ pair: Pair, _ summary: inout RecordCampaign.Summary
  ) throws(RecordFailure) {
    _ = damagedShapes.encode(pair.entries)
    guard let bytes = ShapedRecords.bytes(of: damagedShapes.encode(pair.entries).document), bytes.count < 4096
    else { return }
    for _ in 0..<4 {
      summary.count(.damagedRecords)
      let damaged = generator.damaged(bytes)
      guard let record = try? damagedShapes.decode(damaged, at: pair.entries.path) else { continue }
      let copy = Pair(entries: record.decoded, record: record)
      summary.count(.damagedAndValid)
      try compareReads(copy, &summary)
      try compareSizes(copy, &summary)
      try compareEquality(copy, pair, &summary)
      try compareEquality(copy, copy, &summary)
      let mutation = generator.mutation(of: copy.entries)
      guard (try? DocumentLimits.check(mutation)) != nil else { continue }
      let expected = try? mutation.outcome(on: copy.entries, at: now)
      let found = try? damagedShapes.outcome(of: mutation, on: copy.record, at: now)
      try require(expected == found) { "a damaged record becomes another: \(mutation) of \(copy.entries)" }
    }
  }
}

extension Mutation {
  /// The fields that the mutation writes; nil if it writes none.
  fileprivate var newFields: StoredMap? {
    switch change {
    case .set(let fields, _), .patch(let fields, _, _): fields
    case .delete, .verify, .place: nil
    }
  }

  /// Whether the document's record will be the one with the new fields, as it is.
  fileprivate var keepsRecord: Bool {
    if case .set(let fields, let transforms) = change {
      transforms.isEmpty && ShapedRecords.isRecord(fields)
    } else {
      false
    }
  }

  /// The mutation with other fields.
  fileprivate func with(_ fields: StoredMap) -> Mutation {
    switch change {
    case .set(_, let transforms): .set(path, fields, transforms: transforms, precondition: precondition)
    case .patch(_, let mask, let transforms):
      .patch(path, fields, mask: mask, transforms: transforms, precondition: precondition)
    case .delete, .verify, .place: self
    }
  }
}

extension RecordCampaign.Summary {
  fileprivate mutating func note(_ mutation: Mutation) {
    count(.transforms, if: !mutation.transforms.isEmpty)
    switch mutation.change {
    case .set: count(.replacements)
    case .patch(_, let mask, _):
      count(.patches)
      count(.nestedPatches, if: mask.paths.contains { $0.names.count > 1 })
    case .delete: count(.deletions)
    case .verify, .place: break
    }
  }
}

private func require(
  _ conditions: Bool..., what: () -> String
) throws(RecordFailure) {
  if conditions.contains(false) { throw RecordFailure(what()) }
}
