// A byte store whose processes are killed repeatedly, and its expected contents.
//
// Invariant: the next open has the contents after some commit, which is the last acknowledged one or its
// successor. After an unknown outcome no commit is acknowledged any more.

import ByteStore
import Foundation

struct KilledStore {
  /// The number of rounds after which a new store is created.
  private static let roundsPerStore = 8

  let path: String
  private(set) var seed: UInt64
  private(set) var acknowledged = 0

  /// The end of a process.
  struct End {
    var wasKilled: Bool
    var wasStruck: Bool
    var status: Int32
    var words: [Substring]
  }

  struct Problem: Error {
    var text: String
    /// Identifies the store.
    var context = ""
  }

  init(path: String, seed: UInt64) {
    self.path = path
    self.seed = seed
  }

  func workerArguments(commits: Int) -> [String] {
    [StoreKillWorker.word, path, "\(seed)", "\(acknowledged)", "\(commits)"]
  }

  mutating func renew(before round: Int) {
    guard round % Self.roundsPerStore == 0 else { return }
    seed &+= 1
    startNewStore()
  }

  private mutating func startNewStore() {
    try? FileManager.default.removeItem(atPath: path)
    // A file system that is shut down may lose the deletion of the old store and show it in place of the
    // new one.
    let parent = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY)
    if parent >= 0 {
      fsync(parent)
      close(parent)
    }
    acknowledged = 0
  }

  /// Returns nil if the contents are as expected; otherwise the next round uses a new store. Counts
  /// unacknowledged commits that exist.
  mutating func problem(after end: End, _ commitsInFlight: inout Int) -> Problem? {
    do {
      try judge(end, &commitsInFlight)
      return nil
    } catch {
      defer { startNewStore() }
      let text = (error as? Problem)?.text ?? "\(error)"
      return Problem(text: text, context: "seed \(seed), commit \(acknowledged)")
    }
  }

  private mutating func judge(_ end: End, _ commitsInFlight: inout Int) throws {
    if let last = end.words.compactMap({ Int($0) }).last { acknowledged = max(acknowledged, last) }
    if let dishonest = end.words.first(where: { $0.hasPrefix(StoreKillWorker.dishonest) }) {
      throw Problem(text: String(dishonest))
    }
    guard end.wasKilled || end.status == 0 else {
      throw Problem(text: "the worker ended with status \(end.status) after \(end.words.suffix(3))")
    }
    let found = try compare()
    commitsInFlight += found - acknowledged
    // Contents that an open has shown must stay.
    acknowledged = found
  }

  private func compare() throws -> Int {
    let opened: ByteStore
    do {
      opened = try ByteStore.open(path, options: StoreKillWorker.options)
    } catch {
      throw Problem(text: "the store does not open: \(error)")
    }
    defer { opened.abandon() }
    let found = Int(opened.lastCommit.value)
    guard found == acknowledged || found == acknowledged + 1 else {
      throw Problem(text: "the store stands at commit \(found)")
    }
    try opened.checkInvariants()
    let contents = StoreKillScript.contents(after: found, seed: seed)
    guard opened.count == contents.count else { throw Problem(text: "there are \(opened.count) keys") }
    for (key, value) in contents where try opened.value(for: key) != value {
      throw Problem(text: "key \(String(decoding: key, as: UTF8.self)) has another value")
    }
    return found
  }
}
