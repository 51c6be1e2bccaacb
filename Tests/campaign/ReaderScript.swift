// The commits of `campaign readers`, and the processes that make and read them.
//
// Commit n sets three documents to n and changes a fourth one. A reader that shows three different numbers
// shows a torn commit. A reader that shows any other documents than those after commit n shows a state that
// was never committed.

import ByteStore
import DocumentStore
import Foundation
import Harness

/// The commits of a store, determined by a seed.
struct ReaderScript {
  private static let marks = ["first", "middle", "last"]
  private static let roomCount = 13

  let seed: UInt64
  /// The number and the size of each document after commit `number`.
  private(set) var state: [String: [Int]] = [:]
  private(set) var number = 0

  init(seed: UInt64) { self.seed = seed }

  /// The change of a commit to one of the other documents; a nil size is a deletion.
  private func change(of number: Int) -> (id: String, bytes: Int?) {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(number)))
    let id = "room\(random.below(Self.roomCount))"
    return (id, random.oneIn(4) ? nil : random.below(5000))
  }

  func mutations(of number: Int) throws -> [Mutation] {
    var mutations = try Self.marks.map { try Self.set($0, number, bytes: 0) }
    let change = change(of: number)
    if let bytes = change.bytes {
      mutations.insert(try Self.set(change.id, number, bytes: bytes), at: 1)
    } else {
      mutations.insert(.delete(try DocumentPath(["rooms", change.id])), at: 1)
    }
    return mutations
  }

  private static func set(_ id: String, _ number: Int, bytes: Int) throws -> Mutation {
    let filler = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)
    return .set(
      try DocumentPath(["rooms", id]),
      StoredMap([("n", .integer(Int64(number))), ("filler", .bytes(filler))]))
  }

  /// Advances the state to a later commit.
  mutating func advance(to later: Int) {
    while number < later {
      number += 1
      for id in Self.marks { state[id] = [number, 0] }
      let change = change(of: number)
      state[change.id] = change.bytes.map { [number, $0] }
    }
  }

  static func query() throws -> StructuredQuery {
    StructuredQuery(.collection(try CollectionPath(["rooms"])))
  }

  static func state(_ documents: [StoredDocument]) -> [String: [Int]] {
    var state: [String: [Int]] = [:]
    for document in documents {
      guard case .integer(let number) = document.fields["n"],
        case .bytes(let filler) = document.fields["filler"]
      else { continue }
      state[document.path.id] = [Int(number), filler.count]
    }
    return state
  }

  /// The number of the commit that a state shows; 0 for an empty store.
  static func number(of state: [String: [Int]]) -> Int { state[marks[0]]?.first ?? 0 }
}

/// The process that writes. It prints the number of the last commit that it finds, and then the number of
/// each acknowledged commit. It closes the store when its input ends.
enum ReaderCampaignWriter {
  static let word = "reader-campaign-writer"
  private static let commitsMax = 20_000

  static func main(_ words: [String]) -> Never {
    guard words.count == 2, let seed = UInt64(words[1]) else { exit(2) }
    do {
      try write(words[0], ReaderScript(seed: seed))
    } catch {
      printLine("the writer failed: \(error)")
    }
    exit(0)
  }

  private static func write(_ path: String, _ script: ReaderScript) throws {
    let shouldEnd = Locked(false)
    Thread.detachNewThread {
      _ = FileHandle.standardInput.readDataToEndOfFile()
      shouldEnd.withLock { $0 = true }
    }
    var options = DocumentStore.Options()
    options.maintenance = .inBackground(afterMilliseconds: 5)
    let store = try DocumentStore.open(path, options: options)
    var random = SeededRandom(seed: SeededRandom.seed(script.seed, UInt64(getpid())))
    let first = ReaderScript.number(of: ReaderScript.state(try store.documents(ReaderScript.query())))
    printLine("\(first)")
    for number in first + 1...first + commitsMax {
      if shouldEnd.withLock({ $0 }) { break }
      try store.commit(try script.mutations(of: number))
      printLine("\(number)")
      if random.oneIn(9) { try store.bytes.flush() }
      if random.oneIn(40) { try store.compact() }
      // Sometimes the store is idle for so long that the log gets a watermark.
      if random.oneIn(30) { usleep(20_000) }
    }
    try store.close()
  }
}

/// The process that reads. It prints the number of each commit that it shows, and ends after a wrong state.
enum ReaderCampaignReader {
  static let word = "reader-campaign-reader"

  static func main(_ words: [String]) -> Never {
    guard words.count == 3, let seed = UInt64(words[1]), let least = Int(words[2]) else { exit(2) }
    do {
      try read(words[0], ReaderScript(seed: seed), least: least)
    } catch {
      printLine("a reader failed: \(error)")
    }
    exit(1)
  }

  /// A state that must not be shown.
  private struct WrongState: Error, CustomStringConvertible {
    var description: String
  }

  private static func read(_ path: String, _ script: ReaderScript, least: Int) throws -> Never {
    var script = script
    var random = SeededRandom(seed: SeededRandom.seed(script.seed, UInt64(getpid())))
    var last = -1
    while true {
      let store = try open(path)
      for _ in 0..<200 {
        let number = try compare(store, &script, least: max(least, last), byNumber: random.oneIn(5))
        if number != last { printLine("\(number)") }
        last = number
        usleep(UInt32(random.below(1500)))
        try store.refresh()
      }
      try store.close()
    }
  }

  private static func open(_ path: String) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.isReadOnly = true
    return try DocumentStore.open(path, options: options)
  }

  private static func compare(
    _ store: DocumentStore, _ script: inout ReaderScript, least: Int, byNumber: Bool
  ) throws -> Int {
    let shown = ReaderScript.state(try store.documents(ReaderScript.query()))
    let number = ReaderScript.number(of: shown)
    guard number >= least else {
      throw WrongState(description: "commit \(number) is shown after commit \(least)")
    }
    script.advance(to: number)
    guard shown == script.state else {
      throw WrongState(description: "commit \(number) should show \(script.state), and shows \(shown)")
    }
    guard byNumber else { return number }
    // Reads the state through an index, which the reader builds and updates in memory.
    let query = try ReaderScript.query().ordered(by: OrderBy(StoredFieldPath(["n"])))
    let sorted = try store.documents(query)
    guard ReaderScript.state(sorted) == shown else {
      throw WrongState(description: "commit \(number) shows other documents through an index")
    }
    return number
  }
}
