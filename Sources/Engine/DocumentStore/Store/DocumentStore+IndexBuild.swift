// Making an index of documents that are there already, while commits go on.
//
//   1. begin    at one moment: the store is frozen for the build, and commits are noted from then on
//   2. read     every document of the collection's id, and no other: those that the names lead to; where they are most
//               of the store, or the names cannot be read, all documents in the order in which they lie on disk
//   3. sort     the keys
//   4. catch up with what was noted, and be there, at one moment
//
// One build is at work at a time, so that they need the memory of one. No lock is held meanwhile: whoever is told of
// the progress may commit, and ask for what needs an index itself.

import ByteStore

/// How far the making of an index has come.
public struct IndexProgress: Sendable, Hashable {
  /// What is being done.
  public enum Step: Sendable, Hashable {
    /// First documents are read, then keys are sorted.
    case reading, sorting
  }

  /// What is being done.
  public let step: Step
  /// From 0 to 1.
  public let fraction: Double
}

extension DocumentStore {
  /// Above so many indexes, those made for queries go, the least recently used first.
  package static let automaticIndexesMax = IndexSet.automaticMax
  /// A checkpoint has room for no more.
  static let indexesMax = 128

  /// Finds all names, where a checkpoint without indexes was opened, or a page of them is damaged; and in the
  /// first case which shapes records use.
  func findNames() throws(DocumentStoreError) {
    try inTurn { () throws(DocumentStoreError) in
      guard indexes.state.withLock({ $0.names == nil }) else { return }
      // No commit comes in between: this is rare, and reads keys only.
      try pipeline.whileQuiet { () throws(DocumentStoreError) in
        let (moment, _) = try moment {}
        var tree = IndexSet.NameTree()
        var sorter = OrderedIndexSorter()
        let knowsShapes = indexes.shapes.knowsIDs
        let shapes = indexes.shapes.table
        var nextShape = 0
        try read(moment) { ordinal, key, record in
          if !knowsShapes { nextShape = max(nextShape, RecordCodec.nextShape(after: record, shapes)) }
          guard let path = DocumentKey.decode(key) else { return }
          let key = StoredKey.of(NameKey.encode(path))
          sorter.add(key.rawSpan, ordinal)
          if NameKey.isNested(path) { tree.countNested(path.collectionID, 1) }
          if StoredKey.isLong(key.rawSpan) { tree.long += 1 }
        }
        if !knowsShapes { indexes.shapes.begin(from: nextShape) }
        tree.tree = sorter.build() ?? OrderedIndex()
        indexes.state.withLock { $0.names = tree }
      }
      // The next open is not to look for them again.
      bytes.noteLayerAboveChanged()
    }
  }

  /// Makes an index that was asked for and is gone. If that cannot be, queries do without it. False if it was ended.
  func makeAgain(
    _ index: ManagedIndex, while isWanted: () -> Bool
  ) throws(DocumentStoreError) -> Bool {
    do throws(DocumentStoreError) {
      return try build(index.definition, isAutomatic: true, ifLost: true, while: isWanted)
    } catch {
      // What is wrong with a document is told to whoever reads it.
      if case .closed = error { throw error }
      // For an undecodable record, the end of the build has noted it.
      if error.undecodable == nil { indexes.state.withLock { $0.lostForGood[index.id] = .other } }
      return true
    }
  }

  /// Makes an index, unless it is there. `progress` is told how far it is, and ends it by answering false;
  /// then, and after an error, there is no index. So does `isWanted`, which is no code of a user and must not wait. False
  /// if it was ended. The indexes that are spared do not go to make room for it.
  @discardableResult
  func build(
    _ definition: IndexDefinition, isAutomatic wasMeantForQuery: Bool, ifLost: Bool = false,
    sparing spared: [IndexDefinition] = [], while isWanted: () -> Bool = { true }, tells: Bool = false,
    _ progress: (IndexProgress) -> Bool = { _ in true }
  ) throws(DocumentStoreError) -> Bool {
    func tell(_ step: IndexProgress) -> Bool { isWanted() && (!tells || betweenTurns { progress(step) }) }
    return try inTurn { () throws(DocumentStoreError) in
      while true {
        let (isLost, isThere) = indexes.state.withLock { state in
          let isLost = state.isLost(definition)
          return (
            isLost,
            state.indexes.contains {
              $0.definition == definition && (wasMeantForQuery && !isLost || !$0.isAutomatic)
            }
          )
        }
        guard !isThere, isLost || !ifLost else { return true }
        if !isLost { try checkNumber(wasMeantForQuery) }
        switch try attempt(definition, wasMeantForQuery, ifLost: ifLost, spared, tell) {
        case .dropped: return true
        case .made(let isAutomatic):
          if isAutomatic {
            indexes.keepWithinBudget(sparing: spared + [definition])
          } else {
            bytes.noteLayerAboveChanged()
          }
          return true
        case .ended: return false
        case .spoilt: continue
        }
      }
    }
  }

  private func inTurn<Result>(
    _ body: () throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    building.withLock(when: { $0.atWork == 0 }) { $0.atWork += 1 }
    defer { endTurn() }
    return try body()
  }

  private func endTurn() {
    building.withLock { $0.atWork -= 1 }
    building.wakeAll()
  }

  /// Code of a user, which may want an index made, this one too: whoever waits for the turn gets it, and memory for
  /// two builds is taken until then.
  private func betweenTurns<Result>(_ body: () -> Result) -> Result {
    endTurn()
    defer { building.withLock { $0.atWork += 1 } }
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
    case made(isAutomatic: Bool)
    case ended
    /// Nobody wants it any more.
    case dropped
    /// A commit wrote over a damaged document meanwhile.
    case spoilt
  }

  private func attempt(
    _ definition: IndexDefinition, _ wasMeantForQuery: Bool, ifLost: Bool, _ spared: [IndexDefinition],
    _ progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Attempt {
    let (moment, begun) = try moment { [indexes] in
      indexes.state.withLock { state -> (id: UInt32, names: OrderedIndex?, isAutomatic: Bool)? in
        let isLost = state.isLost(definition)
        guard isLost || !ifLost else { return nil }
        let id = state.nextID
        state.nextID += 1
        // Whoever needs one that was asked for gets that one.
        let isAutomatic = wasMeantForQuery && !isLost
        state.building.append(
          IndexSet.Building(id: id, definition: definition, isAutomatic: isAutomatic))
        return (id, state.names?.tree, isAutomatic)
      }
    }
    guard let (id, names, isAutomatic) = begun else { return .dropped }
    var index = ManagedIndex(id: id, definition: definition, isAutomatic: isAutomatic)
    do throws(DocumentStoreError) {
      guard try fill(&index, moment, names, progress) else {
        indexes.state.withLock { $0.building.removeAll { $0.id == id } }
        return .ended
      }
      return try publish(&index, spared)
    } catch {
      guard indexes.state.withLock({ $0.endFailedBuild(id, error) }) else { return .spoilt }
      throw error
    }
  }

  /// Gives an empty index the keys of all documents as of a moment, of which `names` are the names if they are known;
  /// false if `progress` ended it.
  func fill(
    _ index: inout ManagedIndex, _ moment: Moment, _ names: OrderedIndex?, _ progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    let definition = index.definition
    var sorter = OrderedIndexSorter()
    var problem: DocumentStoreError?
    var long = 0
    var numbers = NumberCounts()
    let ordinals = Self.ordinals(ofGroup: definition.collectionID, in: names)
    let total = Double(max(ordinals?.count ?? moment.keyCount, 1))
    var seen = 0.0
    defer { documentsReadForIndexes.withLock { $0 += Int(seen) } }
    var goesOn = progress(IndexProgress(step: .reading, fraction: 0))
    guard goesOn else { return false }
    let shapes = indexes.shapes.table
    var group: [UInt8] = []
    DocumentKey.append(definition.collectionID, to: &group)
    try read(moment, ordinals) { ordinal, key, record in
      seen += 1
      if seen.remainder(dividingBy: 4096) == 0 {
        goesOn = progress(IndexProgress(step: .reading, fraction: min(seen / total, 1)))
        guard goesOn else { return false }
      }
      guard DocumentKey.isInGroup(group, key), let path = DocumentKey.decode(key) else { return true }
      do throws(RecordError) {
        let entries = try definition.entries(ofRecord: record, at: path, shapes)
        numbers.add(entries.numbers)
        for key in entries.keys {
          let key = StoredKey.of(key)
          sorter.add(key.rawSpan, ordinal)
          if StoredKey.isLong(key.rawSpan) { long += 1 }
        }
        return true
      } catch {
        problem = DocumentStoreError(error, at: path, in: self.path)
        return false
      }
    }
    if let problem { throw problem }
    guard goesOn, let tree = sorter.build({ progress(IndexProgress(step: .sorting, fraction: $0)) })
    else { return false }
    index.tree = tree
    index.longKeys = long
    index.numbers = numbers
    return true
  }

  private func publish(
    _ index: inout ManagedIndex, _ spared: [IndexDefinition]
  ) throws(DocumentStoreError) -> Attempt {
    while true {
      // Most of it without holding anyone up.
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
    var result = Result<Attempt, DocumentStoreError>.success(.spoilt)
    indexes.state.withLock { state in
      guard let place = state.building.firstIndex(where: { $0.id == index.id }) else { return }
      let building = state.building.remove(at: place)
      guard !building.isDropped else { return result = .success(.dropped) }
      guard !building.isSpoilt else { return }
      if state.isLost(index.definition) { index.isAutomatic = false }
      // A query that began to make it meanwhile takes nothing from who asked for it.
      let isThere = state.indexes.contains { $0.definition == index.definition }
      guard !index.isAutomatic || !isThere else { return result = .success(.made(isAutomatic: true)) }
      do throws(DocumentStoreError) {
        try index.tree.apply(building.changes)
        index.longKeys += building.longKeys
        index.numbers.add(building.numbers)
        state.add(index, sparing: spared)
        result = .success(.made(isAutomatic: index.isAutomatic))
      } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }

  /// To go from place to place costs so many times what it costs to go through all of them.
  private static let scattering = 4

  /// The documents of collections with an id, if they are few among all documents; nil if it is better to look at all.
  private static func ordinals(ofGroup id: String, in names: OrderedIndex?) -> [UInt32]? {
    guard let names, case let prefix = NameKey.prefix(group: id), prefix.count <= StoredKey.keptBytes else {
      return nil
    }
    // A damaged page of names is found out elsewhere.
    return try? { () throws(DocumentStoreError) -> [UInt32]? in
      let range = ByteRange.prefix(prefix).inTree
      let count = try names.count(in: range)
      guard count < names.count / Self.scattering else { return nil }
      var ordinals: [UInt32] = []
      ordinals.reserveCapacity(count)
      var cursor = try names.cursor(over: range)
      while try cursor.next(1024, into: &ordinals) > 0 {}
      // About the order in which they were written.
      ordinals.sort()
      return ordinals
    }()
  }

  /// Hands over documents as they are stored, those of some ordinals or all, until `body` answers false.
  private func read(
    _ moment: Moment, _ ordinals: [UInt32]?,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ record: RawSpan) -> Bool
  ) throws(DocumentStoreError) {
    guard let ordinals else {
      var goesOn = true
      return try read(moment) { ordinal, key, record in
        if goesOn { goesOn = body(ordinal, key, record) }
      }
    }
    let pooled = moment.takeBuffer()
    defer { moment.giveBack(pooled) }
    for start in stride(from: 0, to: ordinals.count, by: 256) {
      let wave = Array(ordinals[start..<min(start + 256, ordinals.count)])
      do throws(ByteStoreError) {
        let isThrough = try moment.forEach(wave, using: &pooled.buffer) { ordinal, key, record in
          body(ordinal, key, record)
        }
        guard isThrough else { return }
      } catch {
        throw DocumentStoreError(error)
      }
    }
  }

  /// Hands over every document as it is stored.
  func read(
    _ moment: Moment, _ body: (_ ordinal: UInt32, _ key: RawSpan, _ record: RawSpan) -> Void
  ) throws(DocumentStoreError) {
    try readAll(moment) { ordinal, key, value in
      if DocumentKey.isOfDocument(key) { body(ordinal, key, value) }
    }
  }

  /// Every key, with its ordinal and its value.
  func readAll(
    _ moment: Moment, _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) -> Void
  ) throws(DocumentStoreError) {
    do throws(ByteStoreError) { try moment.forEach(body) } catch { throw DocumentStoreError(error) }
  }
}
