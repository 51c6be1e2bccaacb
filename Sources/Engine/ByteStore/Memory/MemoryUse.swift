// The memory that a store uses, and its division by the budget.

import Synchronization

/// The memory of a store by what it holds, in bytes.
package struct MemoryUse: Sendable, Hashable {
  /// The loaded pages of the key directory, which stay in memory.
  package var keyDirectory = 0
  /// The memory of the upper layer, such as the nodes of indexes.
  package var layer = UpperLayerMemory()
  package var memtable = 0
  package var cache = 0
  /// The memory that running operations hold, such as results and sorts.
  package var operations = 0

  /// The memory that nothing can evict.
  package var fixed: Int { keyDirectory + layer.fixedBytes }

  package var total: Int { fixed + layer.evictableBytes + memtable + cache + operations }

  /// The total while a flush runs, when commits copy the pages that they change.
  var totalDuringFlush: Int { total + fixed }
}

extension ByteStore {
  /// The memory that the store uses. The number of the upper layer is measured for this call, which takes
  /// time in proportion to its size.
  package var memoryUse: MemoryUse { memoryUse(of: options.upperLayer?.memory ?? UpperLayerMemory()) }

  private func memoryUse(of layer: UpperLayerMemory) -> MemoryUse {
    let (keyDirectory, memtable) = table.withTable { ($0.loadedBytes, $0.memtable.memoryBytes) }
    return MemoryUse(
      keyDirectory: keyDirectory, layer: layer, memtable: memtable, cache: table.cache.statistics.bytesUsed,
      operations: options.memoryBudget?.bytesReserved ?? 0)
  }

  // MARK: Balancing

  /// Measures the memory in use, and divides the budget accordingly. Does nothing without a budget. With
  /// `trimsHeap`, also returns the memory that was freed to the system.
  package func balanceMemory(trimsHeap: Bool = false) {
    defer { if trimsHeap, options.memoryBudget != nil { Heap.trim() } }
    guard let budget = options.memoryBudget else { return }
    let use = memoryUse
    budget.layer = use.layer
    let checkpointBytes = checkpointBytes.load(ordering: .relaxed)
    // A flush loads all pages of the key directory.
    let fixedBytes = table.withTable { $0.bytesWhenLoaded } + use.layer.fixedBytes
    let plan = MemoryPlan(
      accountedBytes: budget.accountedBytesMax, fixedBytes: fixedBytes,
      checkpointBytes: Int(clamping: checkpointBytes))
    // Operations keep the memory that they have taken from the cache.
    let rest = budget.accountedBytesMax - (use.totalDuringFlush - use.cache)
    table.cache.setBytesMax(min(plan.cacheBytes, table.cache.bytesMaxAtOpen, max(rest, 0)))
    budget.logBytesMax = UInt64(plan.logBytes)
    noteLogBytesDue()
    if use.layer.evictableBytes > plan.evictableBytes { evict(toBytes: plan.evictableBytes, within: budget) }
  }

  private func evict(toBytes bytes: Int, keepsLatest: Bool = true, within budget: MemoryBudget) {
    guard let layer = options.upperLayer else { return }
    layer.evictMemory(
      toBytes: max(bytes, 0), keepsLatest: keepsLatest, now: platform.clock.monotonicNanoseconds())
    budget.layer = layer.memory
  }

  /// Balances the memory if the last time was a while ago. For calls that may load pages of indexes, which
  /// then stay in memory. Call this without locks.
  package func balanceMemoryIfDue() {
    guard let budget = options.memoryBudget else { return }
    if budget.isMeasurementDue(now: platform.clock.monotonicNanoseconds()) { balanceMemory() }
  }

  /// Makes room for the pages that commits copy while a flush runs. Indexes that can be evicted are copied,
  /// too.
  func makeMemoryForFlush() {
    guard let budget = options.memoryBudget else { return }
    let use = memoryUse
    let rest = budget.accountedBytesMax - (use.totalDuringFlush - use.layer.evictableBytes)
    guard 2 * use.layer.evictableBytes > rest else { return }
    budget.noteCacheTaken()
    table.cache.setBytesMax(0)
    guard 2 * use.layer.evictableBytes > rest + use.cache else { return }
    evict(toBytes: (rest + use.cache) / 2, keepsLatest: false, within: budget)
  }

  // MARK: Reserving

  /// Reserves memory for an operation. If the budget has too little left, takes it from the page cache and
  /// from indexes that can be built again. Returns false if that does not suffice.
  func reserveMemory(_ bytes: Int) -> Bool {
    guard let budget = options.memoryBudget else { return true }
    guard !MemoryBudget.isAlwaysGranted(budget.reserve(bytes)), excess(over: budget) > 0 else { return true }
    budget.noteCacheTaken()
    table.cache.setBytesMax(0)
    // The upper layer may have less than when it was measured.
    if excess(over: budget) > 0 { budget.layer = options.upperLayer?.memory ?? UpperLayerMemory() }
    let excess = excess(over: budget)
    if excess > 0, budget.layer.evictableBytes > 0 {
      evict(toBytes: budget.layer.evictableBytes - excess, within: budget)
    }
    guard self.excess(over: budget) > 0 else { return true }
    budget.noteRefusal()
    releaseMemory(bytes)
    return false
  }

  private func excess(over budget: MemoryBudget) -> Int {
    memoryUse(of: budget.layer).totalDuringFlush - budget.accountedBytesMax
  }

  func releaseMemory(_ bytes: Int) {
    guard let budget = options.memoryBudget, bytes > 0 else { return }
    budget.release(bytes)
    if MemoryBudget.isAlwaysGranted(budget.bytesReserved), budget.takeCacheTaken() {
      balanceMemory(trimsHeap: true)
    }
  }

  /// The memory that an operation could reserve if everything that can be evicted were.
  package var memoryBytesAvailable: Int {
    guard let budget = options.memoryBudget else { return .max }
    let use = memoryUse(of: budget.layer)
    return max(budget.accountedBytesMax - 2 * use.fixed - use.memtable - use.operations, 0)
  }
}

/// The memory that one operation has reserved from the budget of a store. It is given back when this object
/// is freed.
package final class MemoryReservation {
  /// Small amounts are reserved together. Each operation gets the first of them in any case, and without an
  /// entry in the account.
  private static let stepBytes = 256 << 10

  private let store: ByteStore
  private(set) var bytesReserved = MemoryReservation.stepBytes
  private var bytesUsed = 0

  package init(_ store: ByteStore) { self.store = store }

  deinit { store.releaseMemory(bytesReserved - Self.stepBytes) }

  /// Adds to the memory that the operation uses. Returns false if the budget does not allow that.
  @inline(__always)
  package func add(_ bytes: Int) -> Bool {
    bytesUsed += bytes
    return bytesUsed <= bytesReserved || grow()
  }

  /// Sets the memory that the operation uses. Returns false if the budget does not allow that.
  package func set(_ bytes: Int) -> Bool {
    bytesUsed = bytes
    let excess = bytesReserved - max(bytesUsed, Self.stepBytes)
    if excess > 2 * Self.stepBytes {
      bytesReserved -= excess
      store.releaseMemory(excess)
    }
    return bytesUsed <= bytesReserved || grow()
  }

  /// Says how much is left, for the error of a refused operation.
  package var spareText: String {
    let budget = MemorySize.text(store.options.memoryBudget?.bytesMax ?? .max)
    return "the memory budget of \(budget) has \(MemorySize.text(store.memoryBytesAvailable)) left"
  }

  private func grow() -> Bool {
    let step = max(bytesUsed - bytesReserved, Self.stepBytes)
    guard store.reserveMemory(step) else { return false }
    bytesReserved += step
    return true
  }
}
