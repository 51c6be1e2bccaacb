// A salvage names the documents that it loses, as far as any page tells.

import ByteStore
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct SalvageLossTests {
  /// The losses that a salvage reports.
  private final class Losses {
    var documents: [String] = []
    var undecodable: Set<String> = []
    var possiblyOlder: [String] = []
    var unreadable: [UnreadableKeys] = []
    var isGathered = false

    var observer: SalvageObserver {
      SalvageObserver(
        lost: { loss in
          switch loss {
          case .entry(let key): self.documents.append(SalvageLoss.path(of: key)?.description ?? "a key")
          case .possiblyOlder(let key):
            self.possiblyOlder.append(SalvageLoss.path(of: key)?.description ?? "a key")
          case .unreadableKeys(let keys): self.unreadable.append(keys)
          case .undecodable(let name): self.undecodable.insert(name)
          }
        }, gathered: { _ in self.isGathered = true })
    }
  }

  private static let pageBytes = 4096

  private func open(_ path: String) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(path, options: options, platform: .real)
  }

  /// Creates a store with documents in a segment, and names on several pages of the checkpoint. Returns the
  /// paths.
  private func makeStore(_ directory: TemporaryDirectory) throws -> Set<String> {
    let store = try open(directory.path)
    var random = SeededRandom(seed: 7)
    var mutations: [Mutation] = []
    for number in 0..<500 {
      // Names without a common prefix, which need more room in an index, and random bytes, so that the values
      // fill several pages.
      let name = "\(random.next())-\(number)"
      let fields = StoredMap([("n", .integer(Int64(number))), ("b", .bytes(random.bytes(100)))])
      mutations.append(.set(path(number % 2 == 0 ? "posts" : "users", name), fields))
    }
    try store.commit(mutations)
    try store.compact()
    let paths = try store.userPaths().map(\.description)
    try store.close()
    return Set(paths)
  }

  private func copy(_ directory: TemporaryDirectory) throws -> TemporaryDirectory {
    let copy = TemporaryDirectory()
    try copy.create()
    for name in try directory.names where name != "blobs" {
      try copy.write(try directory.read(name), to: name)
    }
    return copy
  }

  private func flip(_ directory: TemporaryDirectory, _ prefix: String, at place: (Int) -> Int) throws {
    let name = try #require(try directory.names.first { $0.hasPrefix(prefix) })
    var bytes = try directory.read(name)
    bytes[place(bytes.count)] ^= 0x10
    try directory.write(bytes, to: name)
  }

  /// The documents of `paths` that are not in the store.
  private func missing(_ paths: Set<String>, _ directory: TemporaryDirectory) throws -> Set<String> {
    let store = try open(directory.path)
    defer { try? store.close() }
    return paths.subtracting(try store.userPaths().map(\.description))
  }

  /// Model: the missing documents are those that the observer names. A page of the checkpoint is damaged,
  /// too, each in turn, so that names, locations and the hash table are incomplete.
  @Test func theNamedDocumentsAreTheMissingOnes() throws {
    let directory = TemporaryDirectory()
    let paths = try makeStore(directory)
    let checkpoint = try #require(try directory.names.first { $0.hasPrefix("checkpoint-") })
    let pages = try directory.read(checkpoint).count / Self.pageBytes
    try #require(pages > 6)
    var complete = 0
    var incomplete = 0
    var outdated = 0
    for page in 0..<pages {
      let damaged = try copy(directory)
      try flip(damaged, "segment-") { $0 / 2 }
      if page > 0 { try flip(damaged, "checkpoint-") { _ in page * Self.pageBytes + 2000 } }
      let losses = Losses()
      let report = try DocumentStore.salvage(damaged.path, observer: losses.observer)
      // Without the definition of their shape, documents cannot be decoded. They are named, too.
      let missing = try missing(paths, damaged).subtracting(losses.undecodable)
      let named = Set(losses.documents)
      #expect(losses.isGathered && report.bytes.outcome == .salvaged)
      #expect(
        (!missing.isEmpty || !losses.undecodable.isEmpty) && named.count == losses.documents.count,
        "page \(page)")
      #expect(named.isSubset(of: missing), "page \(page): \(named.subtracting(missing))")
      // Without their locations in the checkpoint, values may be outdated. They are named, too.
      #expect(losses.possiblyOlder.count <= report.bytes.keysPossiblyStale, "page \(page)")
      if report.bytes.checkpoint == .partial, !losses.possiblyOlder.isEmpty { outdated += 1 }
      if report.bytes.entriesUnnamed == 0 {
        #expect(named == missing, "page \(page)")
        #expect(report.bytes.entriesLost == missing.count && losses.unreadable.isEmpty, "page \(page)")
        complete += 1
      } else {
        let unnamed = try #require(report.bytes.entriesUnnamed, "page \(page)")
        guard losses.undecodable.isEmpty else {
          // The definition of the shape is the entry without a name.
          #expect(unnamed == 1 && named == missing, "page \(page)")
          continue
        }
        // A document that is missing and not named is on a page of names that cannot be read.
        #expect(missing.count == named.count + unnamed, "page \(page)")
        #expect(!losses.unreadable.isEmpty, "page \(page)")
        let known = losses.unreadable.compactMap(\.count).reduce(0, +)
        #expect(losses.unreadable.contains { $0.count == nil } || known >= unnamed, "page \(page)")
        incomplete += 1
      }
    }
    #expect(complete > 0 && incomplete > 0 && outdated > 0, "\(complete) \(incomplete) \(outdated)")
  }

  @Test func keysOfAnUnreadablePageAreCountedByCollection() throws {
    let directory = TemporaryDirectory()
    let paths = try makeStore(directory)
    let checkpoint = try #require(try directory.names.first { $0.hasPrefix("checkpoint-") })
    let pages = try directory.read(checkpoint).count / Self.pageBytes
    var groups: Set<String?> = []
    for page in 1..<pages where !(groups.contains("users") && groups.contains("posts")) {
      let damaged = try copy(directory)
      // All values are lost, so that each unreadable name is one of a lost document.
      let segment = try #require(try damaged.names.first { $0.hasPrefix("segment-") })
      try damaged.write([], to: segment)
      try flip(damaged, "checkpoint-") { _ in page * Self.pageBytes + 2000 }
      let losses = Losses()
      _ = try DocumentStore.salvage(damaged.path, observer: losses.observer)
      for keys in losses.unreadable {
        groups.insert(keys.group)
        guard let group = keys.group, let count = keys.count else { continue }
        let unnamed = paths.subtracting(losses.documents).count { $0.hasPrefix(group + "/") }
        #expect(unnamed == count, "page \(page): \(group)")
      }
    }
    #expect(groups.contains("users") && groups.contains("posts"), "\(groups)")
  }

  /// A value that a later commit replaced or deleted is not missed.
  @Test func documentsThatWereWrittenOrDeletedLaterAreNotLost() throws {
    let directory = TemporaryDirectory()
    let paths = try makeStore(directory)
    let first = try copy(directory)
    try flip(first, "segment-") { $0 / 2 }
    let losses = Losses()
    _ = try DocumentStore.salvage(first.path, observer: losses.observer)
    let lost = losses.documents.sorted()
    try #require(lost.count > 3)
    let store = try open(directory.path)
    func document(_ place: Int) throws -> DocumentPath {
      try DocumentPath(lost[place].split(separator: "/").map(String.init))
    }
    try store.commit([.set(document(0), StoredMap([("new", .null)]))])
    try store.commit([.delete(document(1))])
    try store.commit([.delete(document(2))])
    try store.commit([.set(document(2), StoredMap())])
    try store.close()
    try flip(directory, "segment-") { $0 / 2 }
    let later = Losses()
    let report = try DocumentStore.salvage(directory.path, observer: later.observer)
    #expect(later.documents.sorted() == Array(lost.dropFirst(3)))
    #expect(report.bytes.entriesLost == lost.count - 3)
    #expect(try missing(paths, directory) == Set(lost.dropFirst(3) + [lost[1]]))
  }

  /// If the observer fails, the store stays as it was.
  @Test func anErrorOfTheObserverEndsTheSalvageBeforeAnyChange() throws {
    let directory = TemporaryDirectory()
    _ = try makeStore(directory)
    try flip(directory, "segment-") { $0 / 2 }
    let before = try directory.names
    let failure = SystemFailure(operation: "write", path: "report", code: 28)
    let observers: [SalvageObserver] = [
      SalvageObserver(lost: { _ throws(ByteStoreError) in throw .system(failure) }, gathered: { _ in }),
      SalvageObserver(lost: { _ in }, gathered: { _ throws(ByteStoreError) in throw .system(failure) }),
    ]
    for observer in observers {
      #expect(throws: DocumentStoreError.self) {
        _ = try DocumentStore.salvage(directory.path, observer: observer)
      }
      #expect(try directory.names == before)
    }
    #expect(try DocumentStore.salvage(directory.path).bytes.outcome == .salvaged)
  }
}
