// Carrying out a plan at one moment of the store.
//
//   ordered    the branches are merged; documents are read as they come, until the limit
//   gathered   all branches are read, what matches is sorted by keys of what it is ordered by, and read again
//
// Where a plan is of one range of one index and nothing has to be checked, ordinals are taken many at a time.

import ByteStore

/// What the carrying out took.
struct QueryWork: Sendable, Hashable {
  var entriesRead = 0
  var documentsRead = 0
  /// Of the entries, those whose documents had to tell their order.
  var longKeysRead = 0
  /// Documents below those of the collection, and all that lay there with them.
  var nestedPassedOver = 0
}

final class QueryRun {
  private static let ordinalsAtOnce = 256

  let plan: QueryPlan
  private let moment: Moment
  let view: IndexView
  private let shapes: ShapeTable
  private let storePath: String
  var work = QueryWork()
  private var streams: [IndexStream] = []
  private let pooled: PooledBuffer

  /// `shapes` were taken after the moment.
  init(
    _ plan: QueryPlan, _ moment: Moment, _ view: IndexView, _ shapes: ShapeTable, storePath: String
  ) {
    self.plan = plan
    self.moment = moment
    pooled = moment.takeBuffer()
    self.view = view
    self.shapes = shapes
    self.storePath = storePath
  }

  deinit { moment.giveBack(pooled) }

  var isOrdered: Bool { plan.isOrdered }

  // MARK: Answers

  func documents() throws(DocumentStoreError) -> [StoredDocument] {
    var found: [StoredDocument] = []
    try forEachMatch { () throws(DocumentStoreError) in
      found.append(try self.decoded())
      return true
    }
    return found
  }

  /// The same, each as it is stored.
  func records() throws(DocumentStoreError) -> [DocumentRecord] {
    var found: [DocumentRecord] = []
    try forEachMatch { () throws(DocumentStoreError) in
      found.append(try self.record())
      return true
    }
    return found
  }

  /// Hands over the documents of the answer as they are stored.
  func forEach(
    _ body: (borrowing DocumentView) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    let shapeBytes = shapes.bytes
    try forEachMatch { () throws(DocumentStoreError) in
      try self.pooled.buffer.withEntry { key, value throws(DocumentStoreError) in
        try body(DocumentView(key: key, record: value, shapes: shapeBytes.rawSpan))
      }
    }
  }

  /// How many documents the answer has. Reads none of them where keys tell.
  func count() throws(DocumentStoreError) -> Int {
    guard limit > 0 else { return 0 }
    defer { closeStreams() }
    if plan.isExact, let ranges = try ranges() {
      var count = 0
      for range in ranges { count += try range.tree.count(in: range.range.inTree) }
      return min(count, limit)
    }
    var count = 0
    var seen = Set<UInt32>()
    try forEachCandidate { ordinal throws(DocumentStoreError) in
      if !self.plan.isOrdered, !seen.insert(ordinal).inserted { return true }
      if !self.plan.isExact {
        guard try self.read(ordinal), try self.position() != nil else { return true }
      }
      count += 1
      return !self.plan.isOrdered || count < self.limit
    }
    return min(count, limit)
  }

  // MARK: Matches

  /// Calls `body` with each document of the answer in the buffer, until it answers false.
  func forEachMatch(
    _ body: () throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    guard limit > 0 else { return }
    defer { closeStreams() }
    guard plan.isOrdered else {
      for ordinal in try sortedMatches() {
        guard try readAgain(ordinal), try body() else { return }
      }
      return
    }
    var count = 0
    try forEachCandidate { ordinal throws(DocumentStoreError) in
      guard try self.read(ordinal) else { return true }
      if !self.plan.isExact {
        guard try self.position() != nil else { return true }
      }
      count += 1
      return try body() && count < self.limit
    }
  }

  /// The first documents of the answer in its order. Of the others nothing is kept but what they are sorted by.
  private func sortedMatches() throws(DocumentStoreError) -> [UInt32] {
    var found: [(key: [UInt8], ordinal: UInt32)] = []
    var seen = Set<UInt32>()
    try forEachCandidate { ordinal throws(DocumentStoreError) in
      guard seen.insert(ordinal).inserted, try self.read(ordinal), let position = try self.position()
      else { return true }
      var key: [UInt8] = []
      for (order, value) in zip(self.plan.query.orders, position) {
        IndexKey.append(value, order.direction, to: &key)
      }
      found.append((key, ordinal))
      return true
    }
    found.sort { $0.key.precedes($1.key) }
    return found.prefix(limit).map(\.ordinal)
  }

  /// Where the document in the buffer stands in the answer, or nil if it is not in it. Of its fields, those that
  /// are asked for are decoded.
  private func position() throws(DocumentStoreError) -> [StoredValue]? {
    let path = try self.path()
    guard plan.query.scope.contains(path) else { return nil }
    var problem: RecordError?
    let position = plan.query.position(ifMatching: { field in
      if field == .documentID { return .documentName(path) }
      do throws(RecordError) { return try recordValue(of: field) } catch {
        problem = error
        return nil
      }
    })
    if let problem { throw DocumentStoreError(problem, at: path, in: storePath) }
    return position
  }

  /// What the document in the buffer has in a field.
  func value(of field: StoredFieldPath) throws(DocumentStoreError) -> StoredValue? {
    if field == .documentID { return .documentName(try path()) }
    do throws(RecordError) { return try recordValue(of: field) } catch {
      throw DocumentStoreError(error, at: try path(), in: storePath)
    }
  }

  private func recordValue(of field: StoredFieldPath) throws(RecordError) -> StoredValue? {
    try pooled.buffer.withEntry { _, record throws(RecordError) in
      try RecordCodec.value(at: field, in: record, shapes)
    }
  }

  var limit: Int {
    if case .first(let count) = plan.query.limit { count } else { .max }
  }

  // MARK: Candidates

  /// Hands over the ordinals of the branches, until `body` answers false.
  private func forEachCandidate(
    _ body: (UInt32) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    if let ranges = try ranges() { return try forEachCandidate(in: ranges, body) }
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

  struct TreeRange {
    var tree: OrderedIndex
    var range: ByteRange
  }

  /// The plan, if it is ranges of one tree that have nothing but what is asked for.
  func ranges() throws(DocumentStoreError) -> [TreeRange]? {
    guard plan.branches.count == 1, let access = plan.branches[0].accesses.first,
      plan.branches[0].accesses.count == 1
    else { return nil }
    let tree: OrderedIndex
    switch access.source {
    case .names:
      guard view.longNames == 0, view.nestedNames == 0 || !isCollection else { return nil }
      tree = view.names
    case .index(let definition):
      guard let index = view.index(definition), index.longKeys == 0 else { return nil }
      tree = index.tree
    }
    let ranges = plan.isBackward ? access.ranges.reversed() : access.ranges
    return ranges.map { TreeRange(tree: tree, range: $0) }
  }

  private func forEachCandidate(
    in ranges: [TreeRange], _ body: (UInt32) throws(DocumentStoreError) -> Bool
  ) throws(DocumentStoreError) {
    var ordinals: [UInt32] = []
    for range in ranges {
      var cursor = try range.tree.cursor(over: range.range.inTree)
      if plan.isBackward { cursor.seekToEnd() }
      var wave = min(limit, Self.ordinalsAtOnce)
      while true {
        ordinals.removeAll(keepingCapacity: true)
        let count =
          try plan.isBackward ? cursor.previous(wave, into: &ordinals) : cursor.next(wave, into: &ordinals)
        guard count > 0 else { break }
        work.entriesRead += count
        for ordinal in ordinals {
          guard try body(ordinal) else { return }
        }
        wave = Self.ordinalsAtOnce
      }
    }
  }

  private var isCollection: Bool {
    if case .collection = plan.query.scope { true } else { false }
  }

  private var context: StreamContext {
    StreamContext(isBackward: plan.isBackward) { ordinal throws(DocumentStoreError) in
      try self.document(ordinal)
    }
  }

  private func stream(_ accesses: [QueryPlan.Access]) throws(DocumentStoreError) -> any EntryStream {
    let streams = accesses.map(indexStream)
    self.streams += streams
    return streams.count == 1 ? streams[0] : JoinedStream(streams, context)
  }

  private func indexStream(_ access: QueryPlan.Access) -> IndexStream {
    switch access.source {
    case .names:
      return IndexStream(view.names, access, isCollectionOfNames: isCollection, context) {
        [NameKey.encode($0.path)]
      }
    case .index(let definition):
      // A plan is made from the same view.
      let tree = view.index(definition)?.tree ?? OrderedIndex()
      return IndexStream(tree, access, isCollectionOfNames: false, context) { definition.keys(of: $0) }
    }
  }

  /// Counts what the streams did and lets go of them: each holds this run, to read documents of long keys.
  private func closeStreams() {
    for stream in streams {
      work.entriesRead += stream.entriesRead
      work.longKeysRead += stream.longKeysRead
      work.nestedPassedOver += stream.nestedPassedOver
    }
    streams = []
  }

  // MARK: Documents

  private func ordinal(of path: DocumentPath) throws(DocumentStoreError) -> UInt32? {
    let key = NameKey.encode(path)
    return try view.names.ordinal(of: StoredKey.of(key).rawSpan)
  }

  private func document(_ ordinal: UInt32) throws(DocumentStoreError) -> StoredDocument? {
    try read(ordinal) ? decoded() : nil
  }

  /// Into the buffer; false if there is nothing.
  private func read(_ ordinal: UInt32) throws(DocumentStoreError) -> Bool {
    guard try readAgain(ordinal) else { return false }
    work.documentsRead += 1
    return true
  }

  private func readAgain(_ ordinal: UInt32) throws(DocumentStoreError) -> Bool {
    do throws(ByteStoreError) { return try moment.read(ordinal, into: &pooled.buffer) } catch {
      throw DocumentStoreError(error)
    }
  }

  private func decoded() throws(DocumentStoreError) -> StoredDocument {
    let path = try self.path()
    do throws(RecordError) {
      return try pooled.buffer.withEntry { _, record throws(RecordError) in
        try StoredDocument(path: path, record: record, shapes)
      }
    } catch {
      throw DocumentStoreError(error, at: path, in: storePath)
    }
  }

  private func record() throws(DocumentStoreError) -> DocumentRecord {
    let path = try self.path()
    do throws(RecordError) {
      let record = pooled.buffer.withEntry { _, record in [UInt8](copying: record) }
      return try DocumentRecord(path: path, record: record, shapes)
    } catch {
      throw DocumentStoreError(error, at: path, in: storePath)
    }
  }

  private func path() throws(DocumentStoreError) -> DocumentPath {
    let key = pooled.buffer.withEntry { key, _ in [UInt8](copying: key) }
    guard let path = DocumentKey.decode(key) else {
      throw DocumentStoreError(
        .corrupted(Damage(file: storePath, offset: 0, expected: "the key of a document", found: "another")))
    }
    return path
  }
}
