// The process that `StoreKills` kills: it commits, flushes and closes, and prints each acknowledged commit.

import ByteStore
import Foundation

enum StoreKillWorker {
  static let word = "kill-store-worker"
  /// The words that the process prints. `met` means that a call failed, `unknown` means that the outcome of a
  /// commit is unknown, and `dishonest` means that the store reported something false.
  static let met: Substring = "met a failure"
  static let unknown: Substring = "outcome unknown"
  static let dishonest = "dishonest"
  /// The last argument, if jobs are to run in the background.
  static let background = "background"

  /// Small limits, so that log rotations and flushes happen every few commits.
  static var options: ByteStore.Options {
    var options = ByteStore.Options()
    options.logBytesMin = 16 << 10
    options.logBytesMax = 64 << 10
    options.flushBytes = 96 << 10
    options.segmentBytesMax = 48 << 10
    options.cacheBytesMax = 256 << 10
    options.maintenance = .manual
    return options
  }

  static func main(_ words: [String]) -> Never {
    guard (4...5).contains(words.count), let seed = UInt64(words[1]), let acknowledged = Int(words[2]),
      let commits = Int(words[3])
    else { exit(2) }
    var options = options
    if words.last == background { options.maintenance = .inBackground(afterMilliseconds: 5) }
    do throws(ByteStoreError) {
      let store = try ByteStore.open(words[0], options: options)
      if store.lastCommit.value < UInt64(acknowledged) {
        printLine("\(dishonest): commit \(acknowledged) is gone")
        exit(0)
      }
      try run(store, commits, seed)
      try store.close()
    } catch {
      reportError(error)
    }
    exit(0)
  }

  private static func run(_ store: ByteStore, _ commits: Int, _ seed: UInt64) throws(ByteStoreError) {
    for step in 1...commits {
      commit(to: store, seed)
      do throws(ByteStoreError) {
        if step % 4 == 0 { store.performMaintenance() }
        if step % 11 == 0 { try store.flush(.everything) }
      } catch {
        reportError(error)
      }
    }
  }

  /// Commits the next batch. Retries a refused commit once, as a caller would.
  private static func commit(to store: ByteStore, _ seed: UInt64) {
    let number = Int(store.lastCommit.value) + 1
    for _ in 0..<2 {
      do throws(ByteStoreError) {
        let sequence = try store.commit(batch(number, seed))
        if sequence.value != UInt64(number) {
          printLine("\(dishonest): commit \(number) got \(sequence.value)")
        }
        printLine("\(sequence.value)")
        return
      } catch {
        reportError(error)
        if case .outcomeUnknown = error { stop(store, seed) }
      }
    }
  }

  private static func batch(_ number: Int, _ seed: UInt64) throws(ByteStoreError) -> Batch {
    var batch = Batch(stamp: UInt64(number))
    for (key, value) in StoreKillScript.operations(of: number, seed: seed) {
      if let value { try batch.put(value, for: key) } else { try batch.remove(key) }
    }
    return batch
  }

  private static func reportError(_ error: ByteStoreError) {
    printLine("\(met)")
    switch error {
    case .system, .outcomeUnknown: break
    default: printLine("\(dishonest): \(error)")
    }
  }

  /// Checks that neither a commit nor a flush succeeds after an unknown outcome, because only a new open may
  /// help. Then ends the process.
  private static func stop(_ store: ByteStore, _ seed: UInt64) -> Never {
    printLine("\(unknown)")
    for _ in 0..<3 {
      if (try? store.commit(batch(Int(store.lastCommit.value) + 1, seed))) != nil {
        printLine("\(dishonest): a commit")
      }
      if (try? store.flush()) != nil { printLine("\(dishonest): a flush") }
    }
    try? store.close()
    exit(0)
  }
}
