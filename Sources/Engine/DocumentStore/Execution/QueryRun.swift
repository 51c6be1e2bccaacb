// Executes a plan on one snapshot.
//
//   - An ordered plan merges the branches and reads documents in the merged order, up to the limit.
//   - A gathered plan reads all branches, keeps the first matches by sort key (TopMatches), and reads these
//     documents again.
//
// If the plan is one index and nothing has to be checked, ordinals are processed in batches.

import ByteStore

final class QueryRun {
  private static let ordinalsPerBatch = 256

  let plan: QueryPlan
  let snapshot: Snapshot
  let view: IndexView
  /// The number of commits since the store was opened that the result includes.
  let position: UInt64
  /// The indexes that were built for this query.
  let built: [IndexDefinition]
  private let shapeSnapshot: ShapeSnapshot
  private let storePath: String
  /// The memory of the results and sort keys that the run holds; nil without a memory budget.
  private let memory: MemoryReservation?
  var work = QueryWork()
  private var streams: [IndexStream] = []
  private let pooled: PooledBuffer
  private lazy var matcher = EntryMatcher(plan.query)
  /// If true, candidates with undecodable records are skipped. Otherwise, the query fails if it needs a field
  /// of such a record.
  private var skipsUndecodable = false
  private var skipped: [DocumentPath] = []
  /// The number of results that were skipped because of the query's offset.
  var offsetSkipped = 0
  /// The skipped paths as a set, so that each path is listed once.
  private var skippedPaths: Set<DocumentPath> = []

  /// Creates a run of the plan. The state's snapshot has no shapes that are not in `shapes` by now.
  init(
    _ plan: QueryPlan, _ state: QueryState, built: [IndexDefinition] = [], shapes: ShapeDictionary,
    storePath: String, memory: MemoryReservation?
  ) {
    self.plan = plan
    snapshot = state.snapshot
    pooled = state.snapshot.takeBuffer()
    view = state.view
    position = state.position
    self.built = built
    shapeSnapshot = shapes.snapshot(keptBy: pooled)
    self.storePath = storePath
    self.memory = memory
  }

  deinit { snapshot.recycle(pooled) }

  private var shapes: ShapeTable { shapeSnapshot.table }

  /// The memory of a decoded document per byte of its record, roughly.
  private static let decodedBytesPerByte = 6
  /// The memory of an encoded document in addition to its record, roughly.
  private static let bytesPerDocument = 256

  private func resultTooLarge(_ memory: MemoryReservation) -> DocumentStoreError {
    .memoryExceeded(
      "The result of a query of \(collectionID) does not fit into memory: \(memory.spareText). Limit the query, "
        + "read its documents in pages, or raise the memory budget.")
  }

  /// Throws if the memory budget does not allow more results.
  private func reserve(_ bytes: @autoclosure () -> Int) throws(DocumentStoreError) {
    if let memory, !memory.add(bytes()) { throw resultTooLarge(memory) }
  }

  var isOrdered: Bool { plan.isOrdered }

  // MARK: Answers

  func documents() throws(DocumentStoreError) -> [StoredDocument] {
    var found: [StoredDocument] = []
    try forEachMatch { entry throws(DocumentStoreError) in
      try self.reserve(entry.record.byteCount * Self.decodedBytesPerByte + Self.bytesPerDocument)
      found.append(try self.decoded(entry))
      return true
    }
    return found
  }

  /// The documents of the result, whose fields stay encoded.
  func encodedDocuments() throws(DocumentStoreError) -> [StoredDocument] {
    var found: [StoredDocument] = []
    try forEachMatch { entry throws(DocumentStoreError) in
      try self.reserve(entry.record.byteCount + Self.bytesPerDocument)
      found.append(try self.encoded(entry))
      return true
    }
    return found
  }

  /// The keys and update times of the documents of the result, and its last document if the limit cuts the
  /// result off.
  func versions() throws(DocumentStoreError) -> QueryVersions {
    var found = QueryVersions()
    try forEachMatch { entry throws(DocumentStoreError) in
      try self.reserve(entry.key.byteCount + Self.bytesPerDocument)
      let key = [UInt8](copying: entry.key)
      found.times[key] = try self.updateTime(of: entry)
      if found.times.count == self.limit { found.last = try self.encoded(entry) }
      return true
    }
    return found
  }

  private func updateTime(of entry: borrowing Entry) throws(DocumentStoreError) -> StoredTimestamp {
    do throws(RecordError) { return try RecordCodec.decodeHead(entry.record).updateTime } catch {
      throw DocumentStoreError(error, at: try path(of: entry), in: storePath)
    }
  }

  /// The document at a path, whose fields stay encoded; nil if it does not exist.
  func encodedDocument(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    guard let ordinal = try ordinal(of: path), try read(ordinal) else { return nil }
    return try pooled.buffer.withEntry { key, record throws(DocumentStoreError) in
      try self.encoded(Entry(key, record))
    }
  }

  /// Returns the decodable documents of the result, and the paths of the skipped candidates, whose records
  /// cannot be decoded. The result is cut off once its records have `bytesMax` bytes.
  func decodableDocuments(bytesMax: Int = .max) throws(DocumentStoreError) -> (
    documents: [StoredDocument], skipped: [DocumentPath], isCutOff: Bool
  ) {
    skipsUndecodable = true
    var found: [StoredDocument] = []
    var bytes = 0
    try forEachMatch { entry throws(DocumentStoreError) in
      let count = entry.record.byteCount
      try self.reserve(count * Self.decodedBytesPerByte + Self.bytesPerDocument)
      found.append(try self.decoded(entry))
      bytes += count
      return bytes < bytesMax
    }
    return (found, skipped, bytes >= bytesMax)
  }

  /// The first documents of the result. The page ends at the limit of the query, or once its records have
  /// `bytesMax` bytes. It has at least one document if there is one.
  func page(bytesMax: Int) throws(DocumentStoreError) -> [PagedDocument] {
    var found: [PagedDocument] = []
    var bytes = 0
    try forEachMatch { entry throws(DocumentStoreError) in
      let count = entry.record.byteCount
      try self.reserve(count * Self.decodedBytesPerByte + Self.bytesPerDocument)
      let path = try self.path(of: entry)
      let document = try? StoredDocument(path: path, record: entry.record, shapes: self.shapes)
      found.append(PagedDocument(path: path, document: document, key: [UInt8](copying: entry.key)))
      bytes += count
      return bytes < bytesMax
    }
    return found
  }

  /// The documents of the result as encoded records.
  func records() throws(DocumentStoreError) -> [DocumentRecord] { try records(bytesMax: .max).records }

  /// The first documents of the result as encoded records, until they take `bytesMax` bytes. At least one, if
  /// there is one. `isCutOff` says that there may be more.
  func records(
    bytesMax: Int
  ) throws(DocumentStoreError) -> (records: [DocumentRecord], isCutOff: Bool) {
    var page = RecordPage(bytesMax: bytesMax)
    try forEachMatch { entry throws(DocumentStoreError) in try self.add(entry, to: &page) }
    return (page.records, page.isFull)
  }

  /// The ordinals of the documents of the result, in query order. Only for plans without an order, which find
  /// all of them before the first document can be returned.
  func gatheredOrdinals() throws(DocumentStoreError) -> [UInt32] {
    guard limit > 0 else { return [] }
    defer { closeStreams() }
    return try sortedMatches()
  }

  /// The documents with the first of these ordinals as encoded records, until they take `bytesMax` bytes. At
  /// least one, if there is one.
  func records(
    of ordinals: ArraySlice<UInt32>, bytesMax: Int
  ) throws(DocumentStoreError) -> [DocumentRecord] {
    var page = RecordPage(bytesMax: bytesMax)
    _ = try forEachEntry(of: Array(ordinals.prefix(Self.ordinalsPerBatch))) {
      _, entry throws(DocumentStoreError) in try self.add(entry, to: &page)
    }
    return page.records
  }

  private struct RecordPage {
    let bytesMax: Int
    var records: [DocumentRecord] = []
    var bytes = 0
    var isFull: Bool { bytes >= bytesMax }
  }

  /// Adds a document to a page. Returns false if the page is full.
  private func add(_ entry: borrowing Entry, to page: inout RecordPage) throws(DocumentStoreError) -> Bool {
    let bytes = entry.record.byteCount + Self.bytesPerDocument
    try reserve(bytes)
    page.records.append(try record(entry))
    page.bytes += bytes
    return !page.isFull
  }

  /// Calls `body` with each document of the result in encoded form, until `body` returns false.
  func forEach(_ body: (borrowing DocumentView) -> Bool) throws(DocumentStoreError) {
    let shapeBytes = shapeSnapshot.table.bytes
    guard plan.isOrdered, plan.isExact, limit > 0, let tree = onlyTree() else {
      try forEachMatch { entry throws(DocumentStoreError) in
        body(DocumentView(key: entry.key, record: entry.record, shapes: shapeBytes.rawSpan))
      }
      return
    }
    // Every candidate matches, so that one closure takes the documents from the snapshot to the caller.
    var left = limit
    try forEachBatch(in: tree, skipping: plan.offset) { ordinals throws(DocumentStoreError) in
      let before = left
      defer { work.documentsRead += before - left }
      return try translatingErrors { () throws(ByteStoreError) in
        try snapshot.forEach(ordinals, using: &pooled.buffer) { _, key, record in
          left -= 1
          return body(DocumentView(key: key, record: record, shapes: shapeBytes.rawSpan)) && left > 0
        }
      }
    }
  }

  /// The number of documents in the result. Reads no documents if keys suffice.
  func count() throws(DocumentStoreError) -> Int {
    guard limit > 0 else { return 0 }
    defer { closeStreams() }
    if plan.isExact, let tree = onlyTree(inOrder: false) {
      return countWithinLimit(of: try tree.count(in: plan.onlyRanges))
    }
    let reach = plan.reach
    var count = 0
    // If branches are not merged, several of them can contain the same document.
    let mayHaveDuplicates = !plan.isOrdered && plan.branches.count > 1
    var seen = Set<UInt32>()
    if plan.isExact {
      try forEachCandidate { ordinal throws(DocumentStoreError) in
        if mayHaveDuplicates, !seen.insert(ordinal).inserted { return true }
        count += 1
        return !self.plan.isOrdered || count < reach
      }
    } else {
      try forEachCandidateEntry { ordinal, entry throws(DocumentStoreError) in
        guard try self.matches(entry) else { return true }
        if mayHaveDuplicates, !seen.insert(ordinal).inserted { return true }
        count += 1
        return !self.plan.isOrdered || count < reach
      }
    }
    return countWithinLimit(of: count)
  }

  /// The number of results among the first matches.
  private func countWithinLimit(of matches: Int) -> Int {
    offsetSkipped = min(plan.offset, matches)
    return min(matches - offsetSkipped, limit)
  }

  // MARK: Matches

  /// A borrowed, encoded document.
  struct Entry: ~Escapable {
    let key: RawSpan
    let record: RawSpan

    @_lifetime(copy key, copy record)
    init(_ key: RawSpan, _ record: RawSpan) {
      self.key = key
      self.record = record
    }
  }

  /// Calls `body` with each document of the result, until `body` returns false.
  func forEachMatch(
    _ body: (borrowing Entry) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    guard limit > 0 else { return }
    defer { closeStreams() }
    guard plan.isOrdered else {
      let sorted = try sortedMatches()
      // The second read of these documents is not counted, because the scan has already counted them.
      let read = work.documentsRead
      _ = try forEachEntry(of: sorted) { _, entry throws(DocumentStoreError) in try body(entry) }
      work.documentsRead = read
      return
    }
    let isExact = plan.isExact
    let limit = limit
    // If every candidate matches, skipped ones are not read.
    var skipsLeft = isExact ? 0 : plan.offset
    var count = 0
    try forEachCandidateEntry(skipping: isExact ? plan.offset : 0) { _, entry throws(DocumentStoreError) in
      if try self.isSkipped(entry) { return true }
      if !isExact {
        guard try self.matches(entry) else { return true }
        if skipsLeft > 0 {
          skipsLeft -= 1
          self.offsetSkipped += 1
          return true
        }
      }
      count += 1
      return try body(entry) && count < limit
    }
  }

  /// Returns the ordinals of the first documents of the result, in query order.
  private func sortedMatches() throws(DocumentStoreError) -> [UInt32] {
    var found = TopMatches(limit: plan.reach)
    try forEachCandidateEntry { ordinal, entry throws(DocumentStoreError) in
      if try self.isSkipped(entry) { return true }
      guard try self.verdict(entry) != .no, let position = try self.position(of: entry) else { return true }
      var key: [UInt8] = []
      for (order, value) in zip(self.plan.query.orders, position) {
        IndexKey.append(value, order.direction, to: &key)
      }
      found.add(key, ordinal)
      if let memory = self.memory, !memory.set(found.bytes) { throw self.resultTooLarge(memory) }
      return true
    }
    work.matchesKeptPeak = max(work.matchesKeptPeak, found.keptPeak)
    let ordinals = found.ordinals()
    offsetSkipped = min(plan.offset, ordinals.count)
    return Array(ordinals.dropFirst(offsetSkipped))
  }

  private func isSkipped(_ entry: borrowing Entry) throws(DocumentStoreError) -> Bool {
    guard skipsUndecodable else { return false }
    do throws(RecordError) {
      try RecordCodec.check(entry.record, shapes)
      return false
    } catch {
      let path = try path(of: entry)
      if plan.query.scope.contains(path), skippedPaths.insert(path).inserted { skipped.append(path) }
      return true
    }
  }

  /// Returns whether the document matches, regardless of the limit.
  private func matches(_ entry: borrowing Entry) throws(DocumentStoreError) -> Bool {
    switch try verdict(entry) {
    case .yes: true
    case .no: false
    case .undecided: try position(of: entry) != nil
    }
  }

  private func verdict(_ entry: borrowing Entry) throws(DocumentStoreError) -> FilterVerdict {
    do throws(RecordError) { return try matcher.verdict(entry, shapes) } catch {
      throw DocumentStoreError(error, at: try path(of: entry), in: storePath)
    }
  }

  /// Returns the document's values for the query's orders, or nil if the document does not match. Decodes
  /// only the fields that the query uses.
  private func position(of entry: borrowing Entry) throws(DocumentStoreError) -> [StoredValue]? {
    let path = try path(of: entry)
    guard plan.query.scope.contains(path) else { return nil }
    var problem: RecordError?
    let record = entry.record
    let position = plan.query.position(ifMatching: { field in
      if field == .documentID { return .documentName(path) }
      do throws(RecordError) { return try RecordCodec.value(at: field, in: record, shapes: shapes) } catch {
        problem = error
        return nil
      }
    })
    if let problem { throw DocumentStoreError(problem, at: path, in: storePath) }
    return position
  }

  /// Returns the value of a field in a document.
  func value(
    of field: StoredFieldPath, in entry: borrowing Entry
  ) throws(DocumentStoreError) -> StoredValue? {
    if field == .documentID { return .documentName(try path(of: entry)) }
    do throws(RecordError) { return try RecordCodec.value(at: field, in: entry.record, shapes: shapes) } catch
    {
      throw DocumentStoreError(error, at: try path(of: entry), in: storePath)
    }
  }

  var limit: Int { plan.limit }

  // MARK: Candidates

  /// Calls `body` with the stored entry of each candidate behind the first ones, which are not read, until
  /// `body` returns false.
  private func forEachCandidateEntry(
    skipping skips: Int = 0, _ body: (UInt32, borrowing Entry) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    if let tree = onlyTree() {
      try forEachBatch(in: tree, skipping: skips) { ordinals throws(DocumentStoreError) in
        try self.forEachEntry(of: ordinals, body)
      }
      return
    }
    var skipsLeft = skips
    try forEachCandidate { ordinal throws(DocumentStoreError) in
      if skipsLeft > 0 {
        skipsLeft -= 1
        self.offsetSkipped += 1
        return true
      }
      guard try self.read(ordinal) else { return true }
      return try self.pooled.buffer.withEntry { key, record throws(DocumentStoreError) in
        try body(ordinal, Entry(key, record))
      }
    }
  }

  /// Calls `body` with the ordinal of each candidate, until `body` returns false.
  func forEachCandidate(
    _ body: (UInt32) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    if let tree = onlyTree() {
      try forEachBatch(in: tree) { ordinals throws(DocumentStoreError) in
        for ordinal in ordinals {
          guard try body(ordinal) else { return false }
        }
        return true
      }
      return
    }
    if plan.isOrdered {
      let streams = try plan.branches.map { branch throws(DocumentStoreError) in try stream(branch.accesses) }
      let all: any EntryStream = streams.count == 1 ? streams[0] : MergedStream(streams, context)
      while try all.next() {
        guard try body(all.ordinal) else { return }
      }
      return
    }
    for branch in plan.branches {
      switch branch {
      case .document(let path):
        guard let ordinal = try ordinal(of: path) else { continue }
        guard try body(ordinal) else { return }
      case .keys(let accesses):
        let stream = try stream(accesses)
        while try stream.next() {
          guard try body(stream.ordinal) else { return }
        }
      }
    }
  }

  /// Returns the tree of the only access of the plan. Returns nil if the plan has no such access, or if its
  /// ranges would contain entries that are not candidates. In the tree, truncated keys with a common prefix
  /// are not in key order. If `inOrder` is false, such keys are accepted, because the tree can still
  /// determine which of them are in a range. This fails only if a bound of the range is truncated, too.
  func onlyTree(inOrder: Bool = true) -> OrderedIndex? {
    guard plan.hasOnlyAccess else { return nil }
    let tree: OrderedIndex
    let longKeys: Int
    if let place = plan.onlyIndex(in: view) {
      (tree, longKeys) = (view.indexes[place].tree, view.indexes[place].longKeys)
    } else {
      guard plan.isOfNames, !isCollection || !view.hasNested(collectionID) else { return nil }
      (tree, longKeys) = (view.names, view.longNames)
    }
    guard longKeys == 0 || !inOrder && !plan.onlyRanges.contains(where: \.hasLongBound) else { return nil }
    return tree
  }

  /// The ranges of the plan's only access, in the direction of the plan.
  var onlyRanges: [ByteRange] {
    let ranges = plan.onlyRanges
    return plan.isBackward && ranges.count > 1 ? ranges.reversed() : ranges
  }

  /// Calls `body` with the ordinals in the ranges of the plan's only access, in batches, until `body` returns
  /// false. Skips the first ones, which takes no time for each of them.
  private func forEachBatch(
    in tree: OrderedIndex, skipping skips: Int = 0, _ body: ([UInt32]) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    let isBackward = plan.isBackward
    var skipsLeft = skips
    var ordinals: [UInt32] = []
    for range in onlyRanges {
      var cursor = try tree.cursor(over: range.inTree, fromEnd: isBackward)
      skip(&skipsLeft, in: &cursor)
      var batchSize = min(limit, Self.ordinalsPerBatch)
      while true {
        ordinals.removeAll(keepingCapacity: true)
        let count =
          try isBackward
          ? cursor.previous(batchSize, into: &ordinals) : cursor.next(batchSize, into: &ordinals)
        guard count > 0 else { break }
        work.entriesRead += count
        guard try body(ordinals) else { return }
        batchSize = Self.ordinalsPerBatch
      }
    }
  }

  /// Moves the cursor past the results that have to be skipped, as far as it has them.
  func skip(_ left: inout Int, in cursor: inout OrderedIndexCursor) {
    guard left > 0 else { return }
    let count = min(left, cursor.ranks.count)
    cursor.seek(toRank: plan.isBackward ? cursor.position - count : cursor.position + count)
    left -= count
    offsetSkipped += count
  }

  private var isCollection: Bool {
    if case .collection = plan.query.scope { true } else { false }
  }

  private var collectionID: String { plan.query.scope.collectionID }

  private var context: StreamContext { StreamContext(isBackward: plan.isBackward) }

  private func stream(_ accesses: [QueryPlan.Access]) throws(DocumentStoreError) -> any EntryStream {
    let streams = accesses.map(indexStream)
    self.streams += streams
    return streams.count == 1 ? streams[0] : JoinedStream(streams, context)
  }

  private func indexStream(_ access: QueryPlan.Access) -> IndexStream {
    switch access.source {
    case .names:
      return IndexStream(view.names, access, isCollectionOfNames: isCollection, context: context) {
        ordinal throws(DocumentStoreError) in
        // Compute the key from the path, because the record may be unreadable.
        guard let path = try self.path(ordinal) else { return nil }
        return [NameKey.encode(path)]
      }
    case .index(let definition):
      // The plan was created from this view, so the index exists.
      let tree = view.index(definition)?.tree ?? OrderedIndex()
      return IndexStream(tree, access, isCollectionOfNames: false, context: context) {
        ordinal throws(DocumentStoreError) in
        guard let document = try self.document(ordinal) else { return nil }
        return definition.keys(of: document)
      }
    }
  }

  /// Adds the streams' counters to the run's counters and releases the streams. They retain this run in order
  /// to read documents.
  func closeStreams() {
    guard !streams.isEmpty else { return }
    for stream in streams {
      work.entriesRead += stream.entriesRead
      work.longKeysRead += stream.longKeysRead
      work.nestedSkips += stream.nestedSkips
    }
    streams = []
  }

  // MARK: Documents

  private func ordinal(of path: DocumentPath) throws(DocumentStoreError) -> UInt32? {
    let key = NameKey.encode(path)
    return try view.names.ordinal(of: StoredKey.of(key).rawSpan)
  }

  /// Reads and decodes a document. Returns nil if the document does not exist, or if it is skipped as
  /// undecodable.
  func document(_ ordinal: UInt32) throws(DocumentStoreError) -> StoredDocument? {
    guard try read(ordinal) else { return nil }
    return try pooled.buffer.withEntry { key, record throws(DocumentStoreError) in
      let entry = Entry(key, record)
      if try self.isSkipped(entry) { return nil }
      return try self.decoded(entry)
    }
  }

  private func path(_ ordinal: UInt32) throws(DocumentStoreError) -> DocumentPath? {
    guard try read(ordinal) else { return nil }
    return try pooled.buffer.withEntry { key, record throws(DocumentStoreError) in
      try self.path(of: Entry(key, record))
    }
  }

  /// Reads the document's record into the buffer. Returns false if the document does not exist.
  private func read(_ ordinal: UInt32) throws(DocumentStoreError) -> Bool {
    let exists = try translatingErrors { () throws(ByteStoreError) in
      try snapshot.read(ordinal, into: &pooled.buffer)
    }
    guard exists else { return false }
    work.documentsRead += 1
    return true
  }

  /// Calls `body` with the stored entry of each ordinal, until `body` returns false. Returns false in that
  /// case.
  private func forEachEntry(
    of ordinals: [UInt32], _ body: (UInt32, borrowing Entry) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    var problem: DocumentStoreError?
    var read = 0
    defer { work.documentsRead += read }
    let isComplete = try translatingErrors { () throws(ByteStoreError) in
      try snapshot.forEach(ordinals, using: &pooled.buffer) { ordinal, key, record in
        read += 1
        do throws(DocumentStoreError) { return try body(ordinal, Entry(key, record)) } catch {
          problem = error
          return false
        }
      }
    }
    if let problem { throw problem }
    return isComplete
  }

  private func decoded(_ entry: borrowing Entry) throws(DocumentStoreError) -> StoredDocument {
    let path = try path(of: entry)
    do throws(RecordError) {
      return try StoredDocument(path: path, record: entry.record, shapes: shapes)
    } catch {
      throw DocumentStoreError(error, at: path, in: storePath)
    }
  }

  private func encoded(_ entry: borrowing Entry) throws(DocumentStoreError) -> StoredDocument {
    let path = try path(of: entry)
    do throws(RecordError) {
      return try StoredDocument(path: path, encoded: [UInt8](copying: entry.record), shapes: shapes)
    } catch {
      throw DocumentStoreError(error, at: path, in: storePath)
    }
  }

  private func record(_ entry: borrowing Entry) throws(DocumentStoreError) -> DocumentRecord {
    let path = try path(of: entry)
    do throws(RecordError) {
      return try DocumentRecord(path: path, record: [UInt8](copying: entry.record), shapes: shapes)
    } catch {
      throw DocumentStoreError(error, at: path, in: storePath)
    }
  }

  private func path(of entry: borrowing Entry) throws(DocumentStoreError) -> DocumentPath {
    guard let path = DocumentKey.decode(entry.key) else {
      throw DocumentStoreError(
        .corrupted(Damage(file: storePath, offset: 0, expected: "the key of a document", found: "another")))
    }
    return path
  }
}

extension QueryRun {
  /// Returns up to `max` documents of the result, in the order in which they are found. Also returns the
  /// number of documents that were skipped as unreadable. Ignores the query's limit. For callers that must
  /// tolerate damaged documents.
  func readableDocuments(
    max: Int
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], unreadable: Int) {
    var found: [StoredDocument] = []
    var seen = Set<UInt32>()
    var unreadable = 0
    defer { closeStreams() }
    try forEachCandidate { ordinal throws(DocumentStoreError) in
      guard seen.insert(ordinal).inserted else { return true }
      do throws(DocumentStoreError) {
        if let document = try document(ordinal), plan.query.matches(document) {
          found.append(document)
          // At least one document is returned.
          let bytes = pooled.buffer.withEntry { _, record in record.byteCount }
          if let memory, !memory.add(bytes * Self.decodedBytesPerByte) { return false }
        }
      } catch {
        guard case .corrupted = error else { throw error }
        unreadable += 1
      }
      return found.count < max
    }
    return (found, unreadable)
  }
}
