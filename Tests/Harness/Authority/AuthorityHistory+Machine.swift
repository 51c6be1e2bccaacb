// What happens to the machine of the authority: it dies, returns, and is set back to copies of its store.

import Authority
import ByteStore
import DocumentStore
import OfflineSync

extension AuthorityHistory {
  mutating func actOfMachine() throws {
    switch random.below(8) {
    case 0:
      count(.closes)
      log.note("the authority is closed and opened")
      try breakStreams()
      try host.closeAndOpen()
      try requireDocuments(truth.current, "after a close")
    case 1, 2: try die(isPowerLoss: false)
    case 3: try die(isPowerLoss: true)
    case 4, 5: try dieInCommit()
    default: try restore()
    }
  }

  private mutating func breakStreams() throws {
    for number in clients.indices { try clients[number].disconnect() }
    for number in writers.indices { writers[number].disconnect(keepsMessages: random.oneIn(2)) }
  }

  private mutating func crash(isPowerLoss: Bool) throws {
    count(isPowerLoss ? .powerLosses : .authorityKills)
    let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
    log.note(isPowerLoss ? "the authority loses power, survivors: \(survivors)" : "the authority is killed")
    try breakStreams()
    try host.crash(isPowerLoss ? .powerLoss(survivors, seed: random.next()) : .kill)
  }

  /// The documents of all answered commits survive.
  private mutating func die(isPowerLoss: Bool) throws {
    try crash(isPowerLoss: isPowerLoss)
    try requireDocuments(truth.current, "after a crash")
  }

  /// The disk fails during a write, and the process ends. The write is applied as a whole or not at all.
  private mutating func dieInCommit() throws {
    count(.deathsInCommits)
    host.failDisk(afterCalls: random.below(12))
    let number = random.below(writers.count)
    let write = random.oneIn(2) ? writers[number].takeArriving() : nil
    let mutations = write?.mutations ?? generator.mutations()
    host.note(mutations)
    let text =
      "\(write == nil ? "the store" : "queue \(number)") writes \(Self.text(mutations)) while the disk fails"
    log.note(text)
    if let write {
      _ = try? host.authority.take(write, as: writers[number].user)
    } else {
      _ = try? host.store.commit(mutations)
    }
    try crash(isPowerLoss: random.oneIn(2))
    let before = truth.current
    let after = try host.documents()
    truth.begin(with: after)
    if let write { try noteUnknownOutcome(of: write, before) }
    let changed = Set(after.filter { before[$0.key] != $0.value }.keys)
      .union(before.keys.filter { after[$0] == nil })
    guard changed.isSubset(of: mutations.map(\.path)) else {
      throw Violation("\(text): \(changed.subtracting(mutations.map(\.path))) changed")
    }
    try requireCounters()
  }

  private mutating func noteUnknownOutcome(
    of write: RemoteWrite, _ before: [DocumentPath: StoredDocument]
  ) throws {
    let word = ModelWriter.word(write.id)
    let path = write.mutations[0].path
    let wasApplied = Self.words(of: before[path]).contains(word)
    guard !wasApplied, Self.words(of: truth.current[path]).contains(word) else { return }
    log.note("the write was applied")
    ledger.accept(write, nil)
  }

  private mutating func requireDocuments(
    _ expected: [DocumentPath: StoredDocument], _ when: String
  ) throws {
    let documents = try host.documents()
    guard documents == expected else {
      let wrong = Set(documents.keys).union(expected.keys).filter { documents[$0] != expected[$0] }
      throw Violation("\(when), these documents differ: \(wrong.map(\.description).sorted())")
    }
    truth.begin(with: documents)
  }

  // MARK: Copies

  mutating func saveCopy() throws {
    let isBackup = random.oneIn(2)
    log.note("a \(isBackup ? "backup" : "copy") of the store is made")
    copies.append((try host.copy(asBackup: isBackup), ledger, point))
    if copies.count > 3 { copies.removeFirst() }
  }

  /// Replaces the store by an earlier copy of it.
  private mutating func restore() throws {
    guard let (copy, ledger, copied) = copies.randomElement(using: &random) else { return try saveCopy() }
    count(copy.isBackup ? .backupsRestored : .copiesRestored)
    log.note("a \(copy.isBackup ? "backup" : "copy") of the store is restored")
    try breakStreams()
    try host.restore(copy)
    self.ledger = ledger
    // Runs were seen last before the copy was made.
    if copied.longPauses < point.longPauses { point.longPauses += 1 }
    try requireDocuments(copy.documents, "after a restore")
    try requireCounters()
    if !copy.isBackup { noteLostStates(after: copy.time) }
  }

  /// A copy of the files has the identity of the store. The authority finds out that commits are lost when a
  /// client names one of them.
  private mutating func noteLostStates(after time: SnapshotVersion) {
    point.copiesPutInPlace += 1
    let life = host.floor ?? .none
    floorOfCopy = life
    for number in clients.indices where clients[number].memory.version > time {
      clients[number].memory.lostUnnoticedIn = life
    }
    for (number, memory) in savedMemories where memory.version > time {
      savedMemories[number]?.lostUnnoticedIn = life
    }
  }

  /// Notices that the authority has begun a new life.
  mutating func noteNewLife() {
    guard let floorOfCopy, floorOfCopy != host.floor ?? .none else { return }
    count(.lossesNoticed)
    log.note("the authority notices that it was set back, floor \(host.floor?.microseconds ?? 0)")
    self.floorOfCopy = nil
  }

  // MARK: Time and upkeep

  /// Days pass, so that the store drops changes from its feed.
  mutating func passDays() throws {
    count(.truncations)
    let isLong = random.oneIn(20)
    let days = isLong ? 100 : 1 + random.below(12)
    if isLong { point.longPauses += 1 }
    log.note("\(days) days pass")
    host.clock.advance(nanoseconds: UInt64(days) * 86_400 * 1_000_000_000)
    try commit()
  }

  mutating func upkeep() throws {
    count(.flushes)
    switch random.below(3) {
    case 0: try host.store.bytes.flush(.asNeeded)
    case 1: try host.store.compact()
    default: try host.authority.ledger.removeExpired()
    }
  }
}
