// Runs typical operations on a damaged store. Each operation must return a result or throw a store error.
//
// A trap, an endless loop, or a wrong result that a checksum could have detected is a failure.

internal import ByteStore

struct StoreExercise {
  enum Trust {
    /// Checksums were not changed, so every read must either return the correct value or fail.
    case checksums
    /// Checksums were forged, so any result is acceptable.
    case nothing
  }

  private static let readsMax = 60

  private let trust: Trust
  private var contents: Contents
  private var answers: [String] = []

  /// Returns the outcomes without numbers.
  static func run(
    on image: DiskImage, of sample: SampleStore, _ trust: Trust
  ) throws(FuzzFinding) -> String {
    var exercise = StoreExercise(trust: trust, contents: sample.contents)
    try exercise.run(SimulatedDisk(image).platform(seed: sample.seed))
    return exercise.answers.joined(separator: "; ")
  }

  private init(trust: Trust, contents: Contents) {
    self.trust = trust
    self.contents = contents
  }

  private mutating func run(_ platform: Platform) throws(FuzzFinding) {
    guard let store = try open(platform) else { return }
    try readAll(store)
    try walk(store)
    try commit(to: store)
    try flush(store, .asNeeded, "flush")
    try commit(to: store)
    try flush(store, .everything, "compact")
    try readAll(store)
    try step("close") { () throws(ByteStoreError) in try store.close() }
    guard let again = try open(platform) else { return }
    try readAll(again)
    again.abandon()
  }

  // MARK: Steps

  private mutating func open(_ platform: Platform) throws(FuzzFinding) -> ByteStore? {
    var opened: ByteStore?
    try step("open") { () throws(ByteStoreError) in
      opened = try ByteStore.open(SampleStore.directory, options: SampleStore.options, platform: platform)
    }
    guard let store = opened, trust == .checksums else { return opened }
    // Bytes at the end of the log that no later frame confirms may look like an unfinished commit. The report
    // lists such damage as a loss, and the remaining checks are skipped.
    guard store.recoveryReport.losses.isEmpty else { return nil }
    try step("check") { () throws(ByteStoreError) in try store.checkInvariants() }
    return store
  }

  private mutating func readAll(_ store: ByteStore) throws(FuzzFinding) {
    var refusals = 0
    // If the store has many keys, reads only a sample of them.
    let step = contents.count / Self.readsMax + 1
    let keys = contents.keys.sorted { $0.lexicographicallyPrecedes($1) }
    for key in stride(from: 0, to: keys.count, by: step).map({ keys[$0] }) {
      let value = contents[key]
      let found: [UInt8]?
      do throws(ByteStoreError) {
        found = try store.value(for: key)
      } catch {
        try check(error)
        refusals += 1
        continue
      }
      if trust == .checksums, found != value { throw FuzzFinding("\(name(key)) has another value") }
    }
    if trust == .checksums, store.count != contents.count {
      throw FuzzFinding("there are \(store.count) keys")
    }
    answers.append(refusals == 0 ? "all read" : "some read")
  }

  private mutating func walk(_ store: ByteStore) throws(FuzzFinding) {
    let contents = contents
    var wrong: [UInt8]?
    try step("walk") { () throws(ByteStoreError) in
      let snapshot = try store.snapshot()
      defer { snapshot.close() }
      try snapshot.forEach { _, key, value in
        let key = Array(copying: key)
        if contents[key] != Array(copying: value) { wrong = key }
      }
    }
    if trust == .checksums, let wrong { throw FuzzFinding("\(name(wrong)) is handed over wrongly") }
  }

  /// Adds and removes keys, both in one commit and in single commits. Also changes a key, and removes a key
  /// and puts it again.
  private mutating func commit(to store: ByteStore) throws(FuzzFinding) {
    let keys = contents.keys.sorted { $0.lexicographicallyPrecedes($1) }
    let round = UInt8(truncatingIfNeeded: contents.count)
    let fresh = (0..<8).map { Edit.Operation.put(key: [UInt8($0), round], value: [1, 2, 3]) }
    let gone = keys.suffix(8).map { Edit.Operation.remove(key: $0) }
    for (number, operations): (Int, [Edit.Operation]) in [
      fresh + gone,
      [.put(key: [9, round], value: Array(repeating: 9, count: 10_000))],
      [.put(key: keys[0], value: [round])],
      [.remove(key: keys[1])],
      [.remove(key: keys[2]), .put(key: keys[2], value: [round, round])],
      [.remove(key: keys[3]), .put(key: [10, round], value: []), .remove(key: keys[4])],
    ].enumerated() {
      let edit = Edit(operations, stamp: store.lastStamp &+ 1, .synced)
      var isDone = false
      try step("commit\(number)") { () throws(ByteStoreError) in
        try store.commit(edit.batch)
        isDone = true
      }
      if isDone { edit.apply(to: &contents) }
    }
  }

  private mutating func flush(
    _ store: ByteStore, _ scope: ByteStore.FlushScope, _ what: String
  ) throws(FuzzFinding) {
    try step(what) { () throws(ByteStoreError) in try store.flush(scope) }
  }

  private mutating func step(
    _ what: String, _ body: () throws(ByteStoreError) -> Void
  ) throws(FuzzFinding) {
    do throws(ByteStoreError) {
      try body()
      answers.append(what)
    } catch {
      try check(error)
      answers.append("\(what): \("\(error)".withoutNumbers)")
    }
  }

  /// The disk has no faults, so every error must name the damaged bytes as its cause.
  private func check(_ error: ByteStoreError) throws(FuzzFinding) {
    switch error {
    case .corrupted, .foreignFile, .newerFormat, .notAStore, .noStore, .tooLarge: return
    case .system(let failure) where failure.operation.hasPrefix("numbering"): return
    default: throw FuzzFinding("a store without faults says: \(error)")
    }
  }
}
