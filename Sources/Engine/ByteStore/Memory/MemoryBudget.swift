// The memory budget of a store, and the memory that running operations have reserved.
//
// The budget bounds four kinds of memory together: the page cache, the memtable, the indexes, and what
// running operations hold. `MemoryPlan` divides it. What no operation can evict, such as the key directory,
// comes first, and the plan divides the rest.

import Synchronization

/// A limit for the memory of a store.
package final class MemoryBudget: Sendable {
  /// Where the limit comes from.
  package enum Origin: String, Sendable, Hashable {
    case settings
    /// The environment variable `DUGOUT_MEMORY_BUDGET`.
    case environment
    /// A share of the memory that the control group of the process may use.
    case controlGroup
  }

  /// The smallest budget that can be set.
  package static let bytesMin = 16 << 20
  /// The environment variable that sets the budget of stores without one of their own.
  package static let variable = "DUGOUT_MEMORY_BUDGET"
  /// Operations may hold this much even if the rest of the budget is used up, so that small queries always
  /// run.
  private static let reservedBytesMin = 4 << 20
  /// The memory of a program before it opens a store, with Foundation. Of small budgets, it takes a quarter.
  private static let programBytes = 24 << 20
  /// The heap wastes up to this part of the memory.
  private static let heapDivisor = 8
  private static let nanosecondsBetweenMeasurements: UInt64 = 100_000_000

  package let bytesMax: Int
  package let origin: Origin
  private let reserved = Atomic<Int>(0)
  private let refusals = Atomic<UInt64>(0)
  private let logBytes = Atomic<UInt64>(.max)
  /// The memory of the upper layer when it was last measured. Measuring it visits every node of its trees.
  private let measuredLayer = Locked(UpperLayerMemory())
  /// The time of the last measurement, on the monotonic clock.
  private let measuredAt = Atomic<UInt64>(0)
  /// Whether a reservation has taken the memory of the page cache.
  private let hasTakenCache = Atomic(false)

  package init(bytesMax: Int, origin: Origin) {
    self.bytesMax = bytesMax
    self.origin = origin
  }

  /// The part of the budget that the store accounts for. The rest is for the program's code, and for what the
  /// heap wastes.
  var accountedBytesMax: Int { bytesMax - min(Self.programBytes, bytesMax / 4) - bytesMax / Self.heapDivisor }

  /// The size of the memory that running operations hold.
  package var bytesReserved: Int { reserved.load(ordering: .relaxed) }

  /// The number of operations that were refused for lack of memory.
  package var refusalCount: UInt64 { refusals.load(ordering: .relaxed) }

  var layer: UpperLayerMemory {
    get { measuredLayer.withLock { $0 } }
    set { measuredLayer.withLock { $0 = newValue } }
  }

  /// The number of WAL bytes at which a flush starts at the latest.
  var logBytesMax: UInt64 {
    get { logBytes.load(ordering: .relaxed) }
    set { logBytes.store(newValue, ordering: .relaxed) }
  }

  func noteRefusal() { refusals.wrappingAdd(1, ordering: .relaxed) }

  // MARK: Reserving

  func reserve(_ bytes: Int) -> Int { reserved.wrappingAdd(bytes, ordering: .relaxed).newValue }

  func release(_ bytes: Int) { reserved.wrappingSubtract(bytes, ordering: .relaxed) }

  /// Whether operations may hold this much regardless of the rest of the budget.
  static func isAlwaysGranted(_ bytesReserved: Int) -> Bool { bytesReserved <= reservedBytesMin }

  // MARK: Balancing

  /// Returns whether it is time to measure the use again, and notes the time.
  func isMeasurementDue(now: UInt64) -> Bool {
    let last = measuredAt.load(ordering: .relaxed)
    guard now &- last >= Self.nanosecondsBetweenMeasurements else { return false }
    return measuredAt.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
  }

  func noteCacheTaken() { hasTakenCache.store(true, ordering: .relaxed) }

  func takeCacheTaken() -> Bool {
    guard hasTakenCache.load(ordering: .relaxed) else { return false }
    return hasTakenCache.exchange(false, ordering: .relaxed)
  }
}

/// The memory of the upper layer.
package struct UpperLayerMemory: Sendable, Hashable {
  /// The memory that stays as long as the store is open.
  package var fixedBytes = 0
  /// The memory that `UpperLayer.evictMemory` can free.
  package var evictableBytes = 0

  package init(fixedBytes: Int = 0, evictableBytes: Int = 0) {
    self.fixedBytes = fixedBytes
    self.evictableBytes = evictableBytes
  }
}

/// How a budget is divided. What is fixed comes first, twice: while a flush runs, commits copy the pages that
/// they change. Of the rest, the page cache gets a quarter, and so do the indexes that can be evicted. A
/// flush starts at an eighth, because the memtable grows to twice this size while the flush runs. Operations
/// may use what is left.
struct MemoryPlan: Equatable {
  private static let cacheBytesMin = 1 << 20
  private static let logBytesMin = 1 << 20
  /// A flush writes the whole checkpoint. If it started earlier, it would write more than this many bytes of
  /// checkpoint for each byte of log.
  private static let checkpointBytesPerLogByte = 16

  var cacheBytes: Int
  var evictableBytes: Int
  /// The number of WAL bytes that starts a flush.
  var logBytes: Int

  init(accountedBytes: Int, fixedBytes: Int, checkpointBytes: Int) {
    let rest = max(accountedBytes - 2 * fixedBytes, 0)
    cacheBytes = max(rest / 4, Self.cacheBytesMin)
    evictableBytes = rest / 4
    logBytes = max(rest / 8, Self.logBytesMin, checkpointBytes / Self.checkpointBytesPerLogByte)
  }
}
