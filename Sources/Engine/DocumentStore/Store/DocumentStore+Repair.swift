// Checks a document store for damage, and salvages the readable data of a damaged one.

package import ByteStore
package import StoreTools

extension DocumentStore {
  /// Verifies all bytes of a store that is not open, and checks that every record can be decoded. Changes
  /// nothing.
  package static func check(
    _ path: String, platform: Platform = .real, progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> CheckReport {
    try translatingErrors { () throws(ByteStoreError) in
      try RecordInspector(ShapeDictionary()).report { inspector throws(ByteStoreError) in
        try ByteStore.check(
          path, platform: platform,
          upperLayer: UpperLayerCheck(
            inspect: inspector.problem(of:_:), findBlobs: inspector.blobs,
            restore: IndexSet.definitions(in:)), progress: progress)
      }
    }
  }

  /// Verifies all bytes and records of this store while it is in use. Throws `closed` soon after
  /// `isCancelled` returns true.
  package func check(
    progress: ((CheckProgress) -> Void)? = nil, isCancelled: @escaping () -> Bool = { false }
  ) throws(DocumentStoreError) -> CheckReport {
    // A reader checks files that are newer than the state that it shows, and may have other shapes.
    let isReader = bytes.isReader
    let shapes = isReader ? ShapeDictionary() : indexes.shapes
    return try translatingErrors { () throws(ByteStoreError) in
      try RecordInspector(shapes).report { inspector throws(ByteStoreError) in
        try bytes.check(
          upperLayer: UpperLayerCheck(
            inspect: inspector.problem(of:_:), findBlobs: inspector.blobs,
            restore: { isReader ? IndexSet.definitions(in: $0) : [] }),
          progress: progress, isCancelled: isCancelled)
      }
    }
  }

  /// Rebuilds a damaged store from all readable data. The original files stay under other names. A healthy
  /// store is left unchanged. A rebuilt store has no indexes; the report lists the indexes to declare again.
  ///
  /// Undecodable records are left out of the rebuilt store and listed in the report, even if their checksums
  /// are valid. Afterwards, these records exist only in the original files. `observer` learns what is lost
  /// before a file of the store is changed; keys of documents have paths, which `path(of:)` returns.
  package static func salvage(
    _ path: String, platform: Platform = .real, progress: ((CheckProgress) -> Void)? = nil,
    observer: SalvageObserver? = nil
  ) throws(DocumentStoreError) -> DocumentSalvageReport {
    var declared: [IndexDefinition]?
    let report = try translatingErrors { () throws(ByteStoreError) in
      try ByteStore.salvage(
        path, platform: platform,
        upperLayer: SalvageUpperLayer(
          restore: { pages in
            if let found = IndexSet.declaredIndexes(in: pages) {
              declared = (declared ?? []) + found.filter { declared?.contains($0) != true }
            }
            return IndexSet.definitions(in: pages)
          }, judge: RecordInspector(ShapeDictionary())), progress: progress, observer: observer)
    }
    // A store that never needed a checkpoint has no indexes on disk.
    if declared == nil, report.checkpoint == .whole { declared = [] }
    return DocumentSalvageReport(bytes: report, declaredIndexes: declared)
  }
}

extension SalvageLoss {
  /// The path of a document by its key; nil for the key of another record.
  package static func path(of key: [UInt8]) -> DocumentPath? { DocumentKey.decode(key) }
}

/// The result of salvaging a document store.
package struct DocumentSalvageReport: Sendable {
  package var bytes: SalvageReport
  /// The declared indexes, which the store has lost; nil if no readable page lists them.
  package var declaredIndexes: [IndexDefinition]?
}

/// Inspects keys and values for a check or a salvage.
private final class RecordInspector: EntryJudge {
  private let shapes: ShapeDictionary
  private var table: ShapeTable
  /// True if a record of an unknown shape came before the shape's definition.
  private var hasMissedShape = false
  private var blobIDs: Set<BlobID> = []
  private var hasProblem = false
  private var undecodable = UndecodableEntries()
  /// Number of records per undefined shape id.
  private var recordsPerMissingShape: [Int: Int] = [:]
  /// The counts of the first pass. In the second pass, only the first record of each missing shape is
  /// reported, on behalf of all records with that shape.
  private var earlierCounts: [Int: Int] = [:]

  init(_ shapes: ShapeDictionary) {
    self.shapes = shapes
    table = shapes.table
  }

  /// Runs `check` with this inspector. Runs it a second time if a record came before its shape's definition,
  /// or if several records need a lost shape. In the second pass, all definitions and the number of records
  /// per lost shape are known.
  func report(
    _ check: (RecordInspector) throws(ByteStoreError) -> CheckReport
  ) throws(ByteStoreError) -> CheckReport {
    var report = try check(self)
    if hasMissedShape || recordsPerMissingShape.values.contains(where: { $0 > 1 }) {
      hasMissedShape = false
      earlierCounts = recordsPerMissingShape
      recordsPerMissingShape = [:]
      undecodable = UndecodableEntries()
      report = try check(self)
    }
    report.undecodable = undecodable
    return report
  }

  /// The problem with a key and its value, or nil.
  func problem(of key: RawSpan, _ value: RawSpan) -> String? {
    if let id = Shape.id(of: key) { return problem(ofShape: id, value) }
    // Other keyspaces have other kinds of values.
    guard DocumentKey.isOfDocument(key) else { return nil }
    guard let path = DocumentKey.decode(key) else {
      undecodable.add(UndecodableEntry.name(ofNoPath: key))
      return "a key that is not a path"
    }
    if let id = BlobRecord.id(path) { blobIDs.insert(id) }
    do throws(RecordError) {
      try check(value)
      return nil
    } catch {
      return problem(of: path, value, error: error)
    }
  }

  private func check(_ record: RawSpan) throws(RecordError) {
    do throws(RecordError) { try RecordCodec.check(record, table) } catch {
      // Commits that came after this inspector was created may have added the shape to the open store.
      guard RecordCodec.missingShape(error, in: record, shapes: table) != nil else { throw error }
      table = shapes.table
      try RecordCodec.check(record, table)
    }
  }

  private func problem(of path: DocumentPath, _ record: RawSpan, error: RecordError) -> String? {
    hasProblem = true
    undecodable.add(UndecodableEntry.name(of: path))
    let text =
      "an invalid record of \(path): at its byte \(error.offset), \(error.expected) was expected"
    guard let shape = RecordCodec.missingShape(error, in: record, shapes: table) else { return text }
    recordsPerMissingShape[shape, default: 0] += 1
    guard let count = earlierCounts[shape] else { return text }
    guard recordsPerMissingShape[shape] == 1 else { return nil }
    return count == 1 ? text : "\(text), as in all \(count) records with that shape"
  }

  /// The contents that have a record, and where each content is stored as of the last commit. Empty while
  /// shape definitions are missing.
  func blobs(
    _ value: ([UInt8]) throws(ByteStoreError) -> [UInt8]?
  ) throws(ByteStoreError) -> [(id: BlobID, place: BlobLocation)] {
    guard !hasMissedShape else { return [] }
    table = shapes.table
    var blobs: [(id: BlobID, place: BlobLocation)] = []
    for id in blobIDs.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      guard let record = try value(DocumentKey.encode(BlobRecord.path(id))),
        let fields = try? RecordCodec.decodeFields(record.rawSpan, table),
        let place = BlobRecord.place(fields)
      else { continue }
      blobs.append((id, place))
    }
    return blobs
  }

  private func problem(ofShape id: Int, _ definition: RawSpan) -> String? {
    if let name = UndecodableEntry.name(ofShape: id, definition) { undecodable.add(name) }
    guard let shape = Shape(id: id, definition: definition) else { return "an invalid shape" }
    // Commits that came after this inspector was created may have added the shape to the open store.
    if !table.shapes.indices.contains(id) || table.shapes[id] == nil { table = shapes.table }
    if table.shapes.indices.contains(id), let known = table.shapes[id] {
      return known.names.areSameUTF8(as: shape.names) ? nil : "a shape that the store defines differently"
    }
    shapes.add(shape)
    table = shapes.table
    hasMissedShape = hasMissedShape || hasProblem
    return nil
  }

  // MARK: Salvage

  func report(
    _ check: (@escaping EntryInspector) throws(ByteStoreError) -> CheckReport
  ) throws(ByteStoreError) -> CheckReport {
    try report { inspector throws(ByteStoreError) in
      try check { key, value in inspector.problem(of: key, value) }
    }
  }

  func forEachKey(
    in pages: SalvagePages, _ body: (_ key: [UInt8], _ ordinal: UInt32) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> [UnreadableKeys] {
    var names = CheckpointNames(pages)
    return try names.forEach(body)
  }

  func brokenDefinition(_ key: RawSpan, _ value: RawSpan) -> String? {
    guard let id = Shape.id(of: key) else { return nil }
    return UndecodableEntry.name(ofShape: id, value)
  }

  /// Reads all shape definitions first, because a record can come before the definition of its shape.
  func undecodable(
    _ forEach: (_ body: (_ key: RawSpan, _ value: RawSpan) -> Void) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> [(key: [UInt8], name: String)] {
    let found = ShapeDictionary()
    try forEach { key, value in
      guard let id = Shape.id(of: key), let shape = Shape(id: id, definition: value) else { return }
      found.add(shape)
    }
    let table = found.table
    var entries: [(key: [UInt8], name: String)] = []
    try forEach { key, value in
      guard let name = UndecodableEntry.name(of: key, value, shapes: table) else { return }
      entries.append(([UInt8](copying: key), name))
    }
    return entries
  }
}
