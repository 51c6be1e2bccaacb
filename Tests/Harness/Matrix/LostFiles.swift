// Removes whole files from document stores, and checks the remaining files (docs/reliability.md, P8).
//
//   1. Create a store with many shapes and several logs, with flushes in between. Each document version
//      contains random bytes that identify the files containing this version.
//   2. Remove each file, and some pairs of files.
//   3. Open the store. Either the open fails, or each document is unchanged, or the read of a document fails
//      because of the damage.
//   4. Salvage the store. Then it must open, a check must find it sound, a second salvage must find nothing
//      to do, and each document must be a committed version.
//   5. Compare. Every document version in the remaining files must be present. If one file is lost, every
//      record can be decoded. If two files are lost, records that cannot be decoded are counted and named.

internal import ByteStore
internal import DocumentStore
import StoreTools

package struct LostFiles {
  private static let path = "/store"
  private static let documentsMax = 60
  /// The number of file pairs to remove from each store.
  private static let pairsMax = 6

  private let seed: UInt64
  private var random: SeededRandom
  private let shapes: Int
  /// The versions of each document, oldest first. A nil is a version in which the document did not exist.
  private var history: [[StoredMap?]]
  /// For each document, the bytes that identify its last version in files.
  private var signatures: [[UInt8]?]
  /// The files that contain the last version of each document.
  private var containingFiles: [[String]] = []
  private var summary = LostFilesSummary()

  package static func run(stores: Int, seed: UInt64) -> LostFilesSummary {
    var summary = LostFilesSummary()
    for number in 0..<stores {
      var matrix = LostFiles(seed: SeededRandom.seed(seed, UInt64(number), 15))
      matrix.runOne()
      summary.add(matrix.summary)
    }
    return summary
  }

  private init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
    shapes = 3 + Int(random.next() % 40)
    history = Array(repeating: [nil], count: Self.documentsMax)
    signatures = Array(repeating: nil, count: Self.documentsMax)
  }

  private mutating func runOne() {
    summary.stores = 1
    do {
      let image = try write()
      let files = image.paths.filter { path in
        ["/log-", "/segment-", "/checkpoint-", "/MANIFEST"].contains { path.contains($0) }
      }
      let contents = files.map { (path: $0, bytes: image.contents(of: $0)?.bytes ?? []) }
      containingFiles = signatures.map { signature in
        signature.map { signature in contents.filter { $0.bytes.containsBytes(signature) }.map(\.path) } ?? []
      }
      var losses = files.map { [$0] }
      for _ in 0..<Self.pairsMax where files.count > 2 {
        let first = random.next() % UInt64(files.count)
        let second = random.next() % UInt64(files.count)
        if first != second { losses.append([files[Int(first)], files[Int(second)]]) }
      }
      for lost in losses {
        do {
          try judge(image, lost)
        } catch {
          summary.fail("seed \(seed), without \(lost.joined(separator: " and ")): \(error)")
        }
      }
    } catch {
      summary.fail("seed \(seed): \(error)")
    }
  }

  // MARK: The store

  private func path(_ number: Int) -> DocumentPath {
    DocumentPath(unchecked: ["things", "\(number)"])
  }

  /// Returns fields whose shape depends on the remainder of `number` by the number of shapes.
  private mutating func fields(_ number: Int, _ signature: [UInt8]) -> StoredMap {
    let name = "field\(number % shapes)"
    let filler = random.oneIn(5) ? random.bytes(12_000) : []
    return StoredMap([
      ("\(name)a", .bytes(signature)), ("\(name)b", .map(StoredMap([("\(name)c", .integer(Int64(number)))]))),
      ("\(name)d", .bytes(filler)),
    ])
  }

  private mutating func write() throws -> DiskImage {
    let disk = SimulatedDisk()
    for opening in 0..<2 + Int(random.next() % 4) {
      let store = try Self.open(disk, seed: SeededRandom.seed(seed, UInt64(opening)))
      for _ in 0..<3 + Int(random.next() % 12) {
        try store.commit(edits())
        if random.oneIn(12) { try store.compact() }
      }
      if random.oneIn(2) { try store.close() } else { store.bytes.abandon() }
    }
    return disk.image(after: .powerLoss(.everything, seed: 0))
  }

  /// Returns the puts and deletions of a commit. Some of the puts overwrite documents.
  private mutating func edits() -> [Mutation] {
    var chosen = Set<Int>()
    for _ in 0..<1 + Int(random.next() % 12) { chosen.insert(Int(random.next() % UInt64(Self.documentsMax))) }
    return chosen.sorted().map { number in
      if random.oneIn(10) {
        history[number].append(nil)
        signatures[number] = nil
        return .delete(path(number))
      }
      let signature = random.bytes(24)
      let fields = fields(number, signature)
      history[number].append(fields)
      signatures[number] = signature
      return .set(path(number), fields)
    }
  }

  private static func open(_ disk: SimulatedDisk, seed: UInt64) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(path, options: options, platform: disk.platform(seed: seed))
  }

  // MARK: Judging

  private struct Harm: Error, CustomStringConvertible {
    var description: String
  }

  private mutating func judge(_ image: DiskImage, _ lost: [String]) throws {
    summary.losses += 1
    var damaged = image
    for file in lost { damaged.delete(file) }
    try judgeOpen(damaged)
    let disk = SimulatedDisk(damaged)
    let found = try DocumentStore.check(Self.path, platform: disk.platform(seed: 1))
    guard !found.isSound else { throw Harm(description: "the check has found nothing") }
    let report = try DocumentStore.salvage(
      Self.path, platform: disk.platform(seed: SeededRandom.seed(seed, 7)))
    let checked = try DocumentStore.check(Self.path, platform: SimulatedDisk(disk.image).platform(seed: 1))
    guard checked.isSound, checked.undecodable.isEmpty else {
      throw Harm(description: "after the salvage: \(checked.findings)")
    }
    let again = try DocumentStore.salvage(
      Self.path, platform: SimulatedDisk(disk.image).platform(seed: SeededRandom.seed(seed, 8)))
    guard again.bytes.outcome == .healthy else {
      throw Harm(description: "a second salvage has something to do")
    }
    let undecodable = report.bytes.undecodable
    summary.undecodable += undecodable.count
    guard lost.count > 1 || undecodable.isEmpty else {
      throw Harm(description: "\(undecodable.count) records cannot be decoded: \(undecodable.names)")
    }
    let store = try Self.open(SimulatedDisk(disk.image), seed: SeededRandom.seed(seed, 9))
    defer { store.bytes.abandon() }
    try compare(store, lost, named: Set(undecodable.names))
  }

  private func judgeOpen(_ image: DiskImage) throws {
    let store: DocumentStore
    do {
      store = try Self.open(SimulatedDisk(image), seed: SeededRandom.seed(seed, 6))
    } catch DocumentStoreError.corrupted {
      return
    }
    defer { store.bytes.abandon() }
    for number in history.indices {
      do {
        guard try store.document(at: path(number))?.fields == history[number].last else {
          throw Harm(description: "\(path(number)) has changed, and this is not reported")
        }
      } catch DocumentStoreError.corrupted {
        continue
      }
    }
  }

  private func compare(_ store: DocumentStore, _ lost: [String], named: Set<String>) throws {
    var count = 0
    for number in history.indices {
      let path = path(number)
      let now = try store.document(at: path)?.fields
      count += now == nil ? 0 : 1
      guard history[number].contains(now) else {
        throw Harm(description: "\(path) was not written by any commit")
      }
      let isSafe = containingFiles[number].contains { !lost.contains($0) }
      guard isSafe, now != history[number].last else { continue }
      guard named.contains("\(path)") else {
        throw Harm(description: "\(path) lies in a file that is not lost, is not as it was, and is not named")
      }
    }
    let collection = self.path(0).parent
    let found = try store.documents(StructuredQuery(.collection(collection))).count
    guard found == count, store.count == count else {
      throw Harm(
        description: "\(count) documents are there, a query finds \(found), and \(store.count) are counted")
    }
  }
}

package struct LostFilesSummary: Sendable, CustomStringConvertible {
  package var stores = 0
  package var losses = 0
  /// The number of records that a salvage quarantined after the loss of two files, because they cannot be
  /// decoded.
  package var undecodable = 0
  package private(set) var failures = 0
  package private(set) var firstFailures: [String] = []

  mutating func fail(_ text: String) {
    failures += 1
    if firstFailures.count < 12 { firstFailures.append(text) }
  }

  mutating func add(_ other: LostFilesSummary) {
    stores += other.stores
    losses += other.losses
    undecodable += other.undecodable
    failures += other.failures
    firstFailures = Array((firstFailures + other.firstFailures).prefix(12))
  }

  package var description: String {
    ([
      "\(stores) stores of documents, \(losses) times without a file or two, \(undecodable) records set aside, "
        + "\(failures) failed"
    ] + firstFailures).joined(separator: "\n")
  }
}
