// Commits in two halves, for benchmarks outside this package.

import ByteStore
import Dispatch
import Synchronization

/// An interface for benchmarks; not for users, and subject to change.
@_spi(Measure)
public struct MeasuredDocumentStore: Sendable {
  private let store: DocumentStore
  private let beginning = DispatchQueue(label: "dugout.measured.beginning")
  private let finishing = DispatchQueue(label: "dugout.measured.finishing")

  public init(_ store: DocumentStore) { self.store = store }

  /// Opens a store with a given page cache size, for measurements with little memory.
  public static func open(_ path: String, cacheBytesMax: Int) throws(DocumentStoreError) -> DocumentStore {
    var options = DocumentStore.Options()
    options.cacheBytesMax = cacheBytesMax
    return try DocumentStore.open(path, options: options)
  }

  /// Opens a store that does the same work in every run, for measurements that count instructions. Nothing
  /// runs in the background, so the log grows until a call flushes it. Each look at the clock makes the time
  /// pass. Ids depend on `seed` only, so each open of the same directory needs another seed.
  public static func openRepeatable(
    _ path: String, cacheBytesMax: Int, seed: UInt64
  ) throws(DocumentStoreError) -> DocumentStore {
    var options = DocumentStore.Options()
    options.cacheBytesMax = cacheBytesMax
    options.maintenance = .manual
    let platform = Platform(
      fileSystem: PosixFileSystem(), clock: CountingClock(), random: CountingRandom(seed: seed))
    return try DocumentStore.open(path, options: options, platform: platform)
  }

  /// Starts a write and returns at once. Passes the commit's result to `done` later, like the public API
  /// above this module.
  public func write(
    _ mutations: [Mutation], _ done: @escaping @Sendable (Result<Void, DocumentStoreError>) -> Void
  ) {
    beginning.async {
      let begun = Result { () throws(DocumentStoreError) in try store.begin(mutations) }
      finishing.async {
        done(Result { () throws(DocumentStoreError) in _ = try store.finish(try begun.get()) })
      }
    }
  }
}

/// A clock that advances by a microsecond whenever it is read.
private final class CountingClock: StoreClock {
  private let microseconds = Atomic<Int64>(0)

  private func next() -> Int64 { microseconds.wrappingAdd(1, ordering: .relaxed).newValue }

  func wallMicroseconds() -> Int64 { 1_700_000_000_000_000 + next() }

  func monotonicNanoseconds() -> UInt64 { UInt64(next()) * 1000 }
}

/// Ids from a seed and their number.
private final class CountingRandom: RandomSource {
  private let seed: UInt64
  private let count = Atomic<UInt64>(0)

  init(seed: UInt64) { self.seed = seed }

  func randomID() -> RandomID {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    return RandomID(high: seed &* 0x9E37_79B9_7F4A_7C15, low: number &* 0xBF58_476D_1CE4_E5B9)
  }
}
