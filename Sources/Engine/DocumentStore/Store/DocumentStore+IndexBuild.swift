// Builds an index over existing documents while commits continue.
//
//   1. begin     atomically pin a snapshot for the build and start recording later commits
//   2. read      the documents of the collection id, by their names. If they are a large part of the store,
//                or the names cannot be read, read all documents in disk order
//   3. sort      the keys
//   4. catch up  with the recorded commits, then publish the index atomically
//
// One build runs at a time, to limit memory. No lock is held during a build, so a progress callback may
// commit and run queries that need an index.

import ByteStore

/// The progress of an index build.
public struct IndexProgress: Sendable, Hashable {
  /// The steps of a build.
  public enum Step: Sendable, Hashable {
    /// Documents are read first, then the keys are sorted.
    case reading, sorting
  }

  /// The current step.
  public let step: Step
  /// The completed fraction, from 0 to 1.
  public let fraction: Double
}

/// A request to build an index.
struct IndexBuild {
  let definition: IndexDefinition
  /// Whether the index is built for a query. A lost declared index stays a declared index nevertheless.
  let isForQuery: Bool
  /// Whether to build the index only if it is a declared index that was lost.
  var onlyIfLost = false
  /// Indexes that are not dropped to make room.
  var spared: [IndexDefinition] = []
}

extension DocumentStore {
  /// Beyond this number, the least recently used automatic indexes are dropped.
  package static let automaticIndexesMax = IndexSet.automaticMax
  /// The number of indexes that a checkpoint can hold.
  static let indexesMax = 128

  /// Rebuilds the name index after the store was opened from a checkpoint without indexes, or after a page of
  /// the index was damaged. In the first case, it also determines which shapes the records use.
  func rebuildNames() throws(DocumentStoreError) {
    try withBuildTurn { () throws(DocumentStoreError) in
      guard indexes.state.withLock({ $0.names == nil }) else { return }
      // Block commits during the rebuild. This is acceptable, because rebuilds are rare and do not decode
      // whole documents.
      try pipeline.whileQuiescent { () throws(DocumentStoreError) in
        let (snapshot, _) = try byteSnapshot {}
        var tree = IndexSet.NameTree()
        var sorter = OrderedIndexSorter()
        let knowsShapes = indexes.shapes.knowsIDs
        let shapes = indexes.shapes.table
        var nextShape = 0
        try read(snapshot) { ordinal, key, record in
          if !knowsShapes { nextShape = max(nextShape, RecordCodec.nextShape(after: record, shapes)) }
          guard let path = DocumentKey.decode(key) else { return }
          let key = StoredKey.of(NameKey.encode(path))
          sorter.add(key.rawSpan, ordinal)
          if NameKey.isNested(path) { tree.countNested(path.collectionID, 1) }
          if StoredKey.isLong(key.rawSpan) { tree.truncatedCount += 1 }
        }
        if !knowsShapes { indexes.shapes.begin(from: nextShape) }
        tree.tree = sorter.build() ?? OrderedIndex()
        indexes.state.withLock { $0.names = tree }
      }
      // Make the next checkpoint include the name index, so that the next open need not rebuild it.
      bytes.noteUpperLayerChanged()
    }
  }

  /// Rebuilds a declared index that was lost. If that fails, queries continue without it. Returns false if
  /// the build was cancelled.
  func rebuildLost(
    _ index: ManagedIndex, while isWanted: () -> Bool
  ) throws(DocumentStoreError) -> Bool {
    do throws(DocumentStoreError) {
      let request = IndexBuild(definition: index.definition, isForQuery: true, onlyIfLost: true)
      return try build(request, while: isWanted)
    } catch {
      // Only `closed` is thrown. The error of a damaged document is thrown to the caller that reads the
      // document.
      if case .closed = error { throw error }
      // If a record is undecodable, `endFailedBuild` has already recorded the failure.
      if error.undecodable == nil { indexes.state.withLock { $0.failedRebuilds[index.id] = .other } }
      return true
    }
  }

  /// Builds an index unless it exists. Returns false if `progress` or `isWanted` cancelled the build by
  /// returning false. After a cancellation or an error, the index does not exist. Unlike `progress`,
  /// `isWanted` is not user code, and it must not block.
  @discardableResult
  func build(
    _ request: IndexBuild, while isWanted: () -> Bool = { true }, reportsProgress: Bool = false,
    _ progress: (IndexProgress) -> Bool = { _ in true }
  ) throws(DocumentStoreError) -> Bool {
    let definition = request.definition
    func report(_ step: IndexProgress) -> Bool {
      isWanted() && (!reportsProgress || outsideBuildTurn { progress(step) })
    }
    return try withBuildTurn { () throws(DocumentStoreError) in
      while true {
        let (isLost, indexExists) = indexes.state.withLock { state in
          let isLost = state.isLost(definition)
          return (
            isLost,
            state.indexes.contains {
              $0.definition == definition && (request.isForQuery && !isLost || !$0.isAutomatic)
            }
          )
        }
        guard !indexExists, isLost || !request.onlyIfLost else { return true }
        if !isLost { try checkNumber(request.isForQuery) }
        switch try attempt(request, report) {
        case .dropped: return true
        case .built(let isAutomatic):
          defer { bytes.balanceMemory(trimsHeap: true) }
          if isAutomatic {
            indexes.evictToBudget(sparing: request.spared + [definition])
          } else {
            bytes.noteUpperLayerChanged()
          }
          return true
        case .cancelled: return false
        case .invalidated: continue
        }
      }
    }
  }

  private func withBuildTurn<Result>(
    _ body: () throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    building.withLock(when: { $0.running == 0 }) { $0.running += 1 }
    defer { endTurn() }
    return try body()
  }

  private func endTurn() {
    building.withLock { $0.running -= 1 }
    building.wakeAll()
  }

  /// Runs user code, which may itself build an index, even the index of this build. While the code runs,
  /// another thread that waits for its turn can start a build, so two builds can use memory at the same time.
  private func outsideBuildTurn<Result>(_ body: () -> Result) -> Result {
    endTurn()
    defer { building.withLock { $0.running += 1 } }
    return body()
  }

  private func checkNumber(_ isAutomatic: Bool) throws(DocumentStoreError) {
    let others = indexes.state.withLock { state in
      state.indexes.count { !$0.isAutomatic } + state.lost.count
    }
    guard isAutomatic || others < Self.indexesMax - Self.automaticIndexesMax else {
      throw .invalidArgument(
        "The store has \(others) indexes that were asked for, and there is no room for more. Drop one first.")
    }
  }

  private enum Attempt {
    case built(isAutomatic: Bool)
    case cancelled
    /// The index was dropped during the build.
    case dropped
    /// A commit replaced a damaged document during the build, so the build must start again.
    case invalidated
  }

  private func attempt(
    _ request: IndexBuild, _ progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Attempt {
    let definition = request.definition.planned
    let (snapshot, registered) = try byteSnapshot { [indexes] in
      indexes.state.withLock { state -> (id: UInt32, names: OrderedIndex?, isAutomatic: Bool)? in
        let isLost = state.isLost(definition)
        guard isLost || !request.onlyIfLost else { return nil }
        let id = state.nextID
        state.nextID += 1
        // A lost declared index is rebuilt as a declared index, even if a query started the rebuild.
        let isAutomatic = request.isForQuery && !isLost
        state.building.append(
          IndexSet.Building(id: id, definition: definition, isAutomatic: isAutomatic))
        return (id, state.names?.tree, isAutomatic)
      }
    }
    guard let (id, names, isAutomatic) = registered else { return .dropped }
    var index = ManagedIndex(id: id, definition: definition, isAutomatic: isAutomatic)
    do throws(DocumentStoreError) {
      guard try fill(&index, snapshot, names: names, progress) else {
        indexes.state.withLock { $0.building.removeAll { $0.id == id } }
        return .cancelled
      }
      return try publish(&index, request.spared)
    } catch {
      guard indexes.state.withLock({ $0.endFailedBuild(id, error) }) else { return .invalidated }
      throw error
    }
  }

  /// Fills an empty index with the keys of all documents in a snapshot. `names` is the snapshot's name
  /// index, if known. False if `progress` cancelled the build.
  func fill(
    _ index: inout ManagedIndex, _ snapshot: Snapshot, names: OrderedIndex?,
    _ progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    let definition = index.definition
    var runs = OrderedIndexRuns(runBytesMax: indexRunBytesMax)
    var problem: DocumentStoreError?
    var long = 0
    var numbers = NumberCounts()
    let ordinals = Self.ordinals(ofGroup: definition.collectionID, in: names)
    let total = Double(max(ordinals?.count ?? snapshot.count, 1))
    var seen = 0
    defer { documentsReadForIndexes.withLock { $0 += seen } }
    var shouldContinue = progress(IndexProgress(step: .reading, fraction: 0))
    guard shouldContinue else { return false }
    let memory = reservation()
    let shapes = indexes.shapes.table
    var reader = RecordKeys(definition, shapes.origin)
    var keys = DocumentKeys()
    try read(snapshot, ordinals) { ordinal, key, record in
      seen += 1
      if let memory {
        do throws(DocumentStoreError) {
          try bound(&runs, of: index, within: memory, fraction: min(Double(seen) / total, 1))
        } catch {
          problem = error
          return false
        }
      }
      if seen % 4096 == 0 {
        shouldContinue = progress(IndexProgress(step: .reading, fraction: min(Double(seen) / total, 1)))
        guard shouldContinue else { return false }
      }
      guard let document = DocumentKeyParts(key, inGroup: reader.group.rawSpan) else { return true }
      guard reader.makeKeys(of: document, record, shapes: shapes, into: &keys) else {
        problem = undecodable(record, key, definition: definition, shapes: shapes)
        return problem == nil
      }
      numbers.add(keys.numbers)
      for index in 0..<keys.count {
        runs.add(keys[index], ordinal)
        if StoredKey.isLong(keys[index]) { long += 1 }
      }
      return true
    }
    if let problem { throw problem }
    guard shouldContinue,
      let tree = try runs.finish({ progress(IndexProgress(step: .sorting, fraction: $0)) })
    else { return false }
    index.tree = tree
    index.longKeys = long
    index.numbers = numbers
    return true
  }

  /// The error of a record whose keys cannot be made. Nil if the document's key is invalid, too.
  private func undecodable(
    _ record: RawSpan, _ key: RawSpan, definition: IndexDefinition, shapes: ShapeTable
  ) -> DocumentStoreError? {
    guard let path = DocumentKey.decode(key) else { return nil }
    var error = RecordError(offset: 0, expected: "values of indexed fields")
    do throws(RecordError) {
      _ = try definition.entries(ofRecord: record, at: path, shapes: shapes)
      assertionFailure("a record cannot be decoded if its keys cannot be made")
    } catch let found {
      error = found
    }
    return DocumentStoreError(error, at: path, in: self.path)
  }

  private func publish(
    _ index: inout ManagedIndex, _ spared: [IndexDefinition]
  ) throws(DocumentStoreError) -> Attempt {
    while true {
      // Apply most of the changes before taking the lock.
      let changes = indexes.state.withLock { state -> OrderedIndexChanges? in
        guard let place = state.building.firstIndex(where: { $0.id == index.id }),
          !state.building[place].isDropped
        else { return nil }
        defer { state.building[place].changes = OrderedIndexChanges() }
        return state.building[place].changes
      }
      guard let changes else { break }
      try index.tree.apply(changes)
      if changes.count < 1000 { break }
    }
    var result = Result<Attempt, DocumentStoreError>.success(.invalidated)
    indexes.state.withLock { state in
      guard let place = state.building.firstIndex(where: { $0.id == index.id }) else { return }
      let building = state.building.remove(at: place)
      guard !building.isDropped else { return result = .success(.dropped) }
      guard !building.isInvalidated else { return }
      if state.isLost(index.definition) { index.isAutomatic = false }
      // If the index exists by now, keep the existing index, which may be a declared one, and discard this
      // automatic index.
      let indexExists = state.indexes.contains { $0.definition == index.definition }
      guard !index.isAutomatic || !indexExists else { return result = .success(.built(isAutomatic: true)) }
      do throws(DocumentStoreError) {
        try index.tree.apply(building.changes)
        index.longKeys += building.longKeys
        index.numbers.add(building.numbers)
        state.add(index, sparing: spared)
        result = .success(.built(isAutomatic: index.isAutomatic))
      } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }

  /// Random reads cost this many times as much per document as a full scan.
  private static let randomReadCost = 4

  /// The ordinals of documents with this collection id; nil if a full scan is cheaper.
  private static func ordinals(ofGroup id: String, in names: OrderedIndex?) -> [UInt32]? {
    guard let names, case let prefix = NameKey.prefix(group: id), prefix.count <= StoredKey.keptBytes else {
      return nil
    }
    // If a page of the name index is damaged, use a full scan. The damage is handled elsewhere.
    return try? { () throws(DocumentStoreError) -> [UInt32]? in
      let range = ByteRange.prefix(prefix).inTree
      let count = try names.count(in: range)
      guard count < names.count / Self.randomReadCost else { return nil }
      var ordinals: [UInt32] = []
      ordinals.reserveCapacity(count)
      var cursor = try names.cursor(over: range)
      while try cursor.next(1024, into: &ordinals) > 0 {}
      // Ordinals roughly follow the order of writes, so read the documents in ordinal order.
      ordinals.sort()
      return ordinals
    }()
  }

  /// Calls `body` with the documents that have these ordinals, until `body` returns false. If `ordinals` is
  /// nil, calls it with all documents.
  private func read(
    _ snapshot: Snapshot, _ ordinals: [UInt32]?,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ record: RawSpan) -> Bool
  ) throws(DocumentStoreError) {
    guard let ordinals else {
      var shouldContinue = true
      return try read(snapshot) { ordinal, key, record in
        if shouldContinue { shouldContinue = body(ordinal, key, record) }
      }
    }
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    for start in stride(from: 0, to: ordinals.count, by: 256) {
      let batch = Array(ordinals[start..<min(start + 256, ordinals.count)])
      let isComplete = try translatingErrors { () throws(ByteStoreError) in
        try snapshot.forEach(batch, using: &pooled.buffer) { ordinal, key, record in
          body(ordinal, key, record)
        }
      }
      guard isComplete else { return }
    }
  }

  /// Calls `body` with every stored document.
  func read(
    _ snapshot: Snapshot, _ body: (_ ordinal: UInt32, _ key: RawSpan, _ record: RawSpan) -> Void
  ) throws(DocumentStoreError) {
    try readAll(snapshot) { ordinal, key, value in
      if DocumentKey.isOfDocument(key) { body(ordinal, key, value) }
    }
  }

  /// Calls `body` with every key, its ordinal, and its value.
  func readAll(
    _ snapshot: Snapshot,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(DocumentStoreError) {
    try translatingErrors { () throws(ByteStoreError) in try snapshot.forEach(body) }
  }
}
