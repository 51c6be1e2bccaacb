// A byte store whose processes are killed repeatedly, and its expected contents.
//
// Invariant: the next open finds the contents after the last acknowledged commit, or after the commit that
// directly follows it. After a commit with an unknown outcome, the process acknowledges no further commit.

import ByteStore
import Foundation

struct KilledStore {
  /// The number of rounds after which a new store is created.
  private static let roundsPerStore = 8

  let path: String
  private(set) var seed: UInt64
  private(set) var acknowledged = 0

  /// The way in which a process ended, and the words that it printed.
  struct End {
    var wasKilled: Bool
    var wasDisrupted: Bool
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
    // Syncs the parent directory. Otherwise a shutdown of the file system may undo the deletion, so that the
    // old store appears in place of the new one.
    let parent = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY)
    if parent >= 0 {
      fsync(parent)
      close(parent)
    }
    acknowledged = 0
  }

  /// Returns nil if the contents are as expected. Otherwise returns the problem, and the next round uses a
  /// new store. Adds to `commitsInFlight` the commits that the store contains although they were not
  /// acknowledged.
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
    // A commit that one open has found must also be found by every later open.
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
      throw Problem(text: "the store is at commit \(found)")
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
