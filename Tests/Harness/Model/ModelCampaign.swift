// Random programs against a plain dictionary (docs/reliability.md, T5), on a simulated disk without
// faults. Each program begins with an empty store and runs `programOperations` operations; a failure is
// the program's seed and the operation at which it showed.

internal import ByteStore

package struct ModelCampaign {
  package struct Summary: Sendable {
    package var operations = 0
    package var programs = 0
    package var commits = 0
    package var reads = 0
    package var reopens = 0
    package var maintenances = 0
    package var failure: String?
  }

  private static let programOperations = 2000

  package static func run(operations: Int, seed: UInt64) -> Summary {
    var summary = Summary()
    while summary.operations < operations, summary.failure == nil {
      let programSeed = SeededRandom.seed(seed, UInt64(summary.programs))
      var program = Program(seed: programSeed, summary)
      do throws(ModelFailure) {
        try program.run(min(programOperations, operations - summary.operations))
        summary = program.summary
      } catch {
        summary = program.summary
        summary.failure =
          "seed \(seed), program \(summary.programs), operation \(error.operation): \(error.what)"
      }
      summary.programs += 1
    }
    return summary
  }

  private struct ModelFailure: Error {
    var operation: Int
    var what: String
  }

  private struct Program {
    private(set) var summary: Summary
    private var random: SeededRandom
    private let platform: Platform
    private var options = ByteStore.Options()
    private var model: [[UInt8]: [UInt8]] = [:]
    private var stamp: UInt64 = 0
    private var operation = 0

    init(seed: UInt64, _ summary: Summary) {
      self.summary = summary
      random = SeededRandom(seed: seed)
      var disk = SimulatedDisk.Options()
      disk.seed = seed
      disk.shortensTransfers = random.oneIn(4)
      disk.operationsMax = .max
      platform = SimulatedDisk(options: disk).platform(seed: seed)
      options.logBytesMin = [16 << 10, 64 << 10, 256 << 10][random.below(3)]
      options.logBytesMax = 256 << 10
      options.maintenance = .manual
    }

    mutating func run(_ operations: Int) throws(ModelFailure) {
      var store = try open()
      for number in 0..<operations {
        operation = number
        summary.operations += 1
        switch random.below(100) {
        case 0: try compareAll(store)
        case 1, 2: store = try reopen(store)
        case 3..<8: maintain(store)
        case 8..<40: try read(store)
        default: try commit(store)
        }
      }
      try compareAll(store)
    }

    private func open() throws(ModelFailure) -> ByteStore {
      do throws(ByteStoreError) {
        return try ByteStore.open("/model", options: options, platform: platform)
      } catch {
        throw failure("the store does not open: \(error)")
      }
    }

    /// Closed or just dropped, as a killed process would.
    private mutating func reopen(_ store: ByteStore) throws(ModelFailure) -> ByteStore {
      summary.reopens += 1
      do throws(ByteStoreError) {
        if random.oneIn(2) { try store.close() } else { store.abandon() }
      } catch {
        throw failure("the store does not close: \(error)")
      }
      let opened = try open()
      guard opened.lastStamp == stamp else {
        throw failure("the last stamp is \(opened.lastStamp) and must be \(stamp)")
      }
      try compareAll(opened)
      return opened
    }

    private mutating func maintain(_ store: ByteStore) {
      summary.maintenances += 1
      store.performMaintenance()
    }

    private mutating func commit(_ store: ByteStore) throws(ModelFailure) {
      summary.commits += 1
      stamp += 1
      var batch = Batch(stamp: stamp)
      do throws(ByteStoreError) {
        for _ in 0..<random.below(6) {
          let key = randomKey()
          if random.oneIn(3) {
            try batch.remove(key)
            model[key] = nil
          } else {
            let value = random.bytes(random.oneIn(40) ? random.below(20_000) : random.below(200))
            try batch.put(value, for: key)
            model[key] = value
          }
        }
        try store.commit(batch, durability: random.oneIn(3) ? .synced : .buffered)
      } catch {
        throw failure("a commit failed: \(error)")
      }
    }

    private mutating func read(_ store: ByteStore) throws(ModelFailure) {
      summary.reads += 1
      try compare(randomKey(), store)
    }

    private mutating func randomKey() -> [UInt8] {
      // Short keys, so that they meet again; some empty, some long.
      switch random.below(50) {
      case 0: []
      case 1: [UInt8](repeating: 7, count: random.below(3000))
      default: Array("k\(random.below(random.oneIn(3) ? 2000 : 20))".utf8)
      }
    }

    private func compare(_ key: [UInt8], _ store: ByteStore) throws(ModelFailure) {
      let found: [UInt8]?
      do throws(ByteStoreError) {
        found = try store.value(for: key)
      } catch {
        throw failure("a read failed: \(error)")
      }
      guard found == model[key] else { throw failure("key \(key.prefix(20)) has another value") }
    }

    private func compareAll(_ store: ByteStore) throws(ModelFailure) {
      do throws(ByteStoreError) { try store.checkInvariants() } catch { throw failure("damage: \(error)") }
      guard store.count == model.count else {
        throw failure("the store holds \(store.count) keys and must hold \(model.count)")
      }
      for key in model.keys { try compare(key, store) }
    }

    private func failure(_ what: String) -> ModelFailure {
      ModelFailure(operation: operation, what: what)
    }
  }
}
