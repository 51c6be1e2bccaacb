// A store of bytes whose process is killed again and again, and what must be in it each time.
//
// Law: the store that opens afterwards holds the contents after some commit, and that is the last one that was
// acknowledged or the one behind it. After an outcome that is unknown, nothing is acknowledged any more.

import ByteStore
import Foundation

struct KilledStore {
  /// A store gets so many blows before there is a new one.
  private static let roundsPerStore = 8

  let path: String
  private(set) var seed: UInt64
  private(set) var acknowledged = 0

  /// How the process ended.
  struct End {
    var wasKilled: Bool
    var wasStruck: Bool
    var status: Int32
    var words: [Substring]
  }

  struct Problem: Error {
    var text: String
    /// Which store it was.
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
    // A file system that is shut down may forget that the old one is gone, and show it in the place of the new one.
    let parent = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY)
    if parent >= 0 {
      fsync(parent)
      close(parent)
    }
    acknowledged = 0
  }

  /// Nil if everything is as it must be; else the next round has a new store. Counts commits that nobody
  /// was told of.
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
    // What an open has shown stays.
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
