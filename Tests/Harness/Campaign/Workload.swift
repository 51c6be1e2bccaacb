// What a campaign makes a store do: random, and the same again for the same seed.

internal import ByteStore

struct Workload: Sendable {
  enum Step: Sendable {
    case commit(Edit)
    /// Commits from as many threads; all but the first wait for it and become one group.
    case group([Edit])
    case maintain
    /// Commits to be made between the steps of the flush, in this order.
    case flush(ByteStore.FlushScope, during: [Edit])
    /// Commits to be made between the steps of the backup.
    case backup(to: String, during: [Edit])
    /// Looks at the store as it is now, until it is reopened.
    case snapshot
    case reopen
  }

  var logBytes: UInt64
  var flushBytes: UInt64
  var shortensTransfers: Bool
  /// Maintenance is no step alone, but goes on in the background, as dice will have it.
  var schedulesJobs: Bool
  var steps: [Step]

  /// The first life of a store.
  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    logBytes = [16 << 10, 16 << 10, 32 << 10, 64 << 10][random.below(4)]
    flushBytes = [24 << 10, 64 << 10, 1 << 30][random.below(3)]
    shortensTransfers = random.oneIn(3)
    schedulesJobs = random.oneIn(3)
    // Nobody asks for jobs in the background, so there must be cause for them.
    if schedulesJobs {
      logBytes = 16 << 10
      flushBytes = [8 << 10, 24 << 10, 48 << 10][random.below(3)]
    }
    steps = Self.steps((schedulesJobs ? 6 : 3) + random.below(8), firstStamp: 1, &random)
  }

  /// What follows on a recovered store. `life` keeps the stamps apart.
  static func sequel(life: Int, seed: UInt64) -> [Step] {
    var random = SeededRandom(seed: seed)
    return steps(1 + random.below(3), firstStamp: UInt64(1000 * life), &random)
  }

  private static func steps(
    _ count: Int, firstStamp: UInt64, _ random: inout SeededRandom
  ) -> [Step] {
    var stamp = firstStamp
    func edit() -> Edit {
      defer { stamp += 1 }
      return Edit(operations(&random), stamp: stamp, random.oneIn(4) ? .buffered : .synced)
    }
    return (0..<count).map { _ in
      switch random.below(15) {
      case 0: .reopen
      case 1, 2: .maintain
      case 3: .group((0..<2 + random.below(4)).map { _ in edit() })
      case 4, 5: .flush(random.oneIn(3) ? .everything : .asNeeded, during: [])
      case 6:
        .flush(
          random.oneIn(2) ? .everything : .asNeeded, during: (0..<1 + random.below(5)).map { _ in edit() })
      case 7: .snapshot
      case 8:
        .backup(to: "/backup\(random.below(2))", during: (0..<random.below(4)).map { _ in edit() })
      default: .commit(edit())
      }
    }
  }

  private static func operations(_ random: inout SeededRandom) -> [Edit.Operation] {
    (0..<1 + random.below(4)).map { _ in
      let key = Array("key\(random.below(8))".utf8)
      if random.oneIn(4) { return .remove(key: key) }
      let size = [0, 1, 40, 300, 300, 1500, 5000, 9000][random.below(8)]
      return .put(key: key, value: random.bytes(size == 0 ? 0 : 1 + random.below(size)))
    }
  }
}

extension Workload.Step: CustomStringConvertible {
  var description: String {
    switch self {
    case .commit(let edit): "\(edit)"
    case .group(let edits): "at once " + edits.map { "\($0)" }.joined(separator: "; ")
    case .maintain: "maintenance"
    case .flush(let scope, let edits):
      "flush \(scope)"
        + (edits.isEmpty ? "" : " during which " + edits.map { "\($0)" }.joined(separator: "; "))
    case .backup(let path, let edits):
      "backup to \(path)"
        + (edits.isEmpty ? "" : " during which " + edits.map { "\($0)" }.joined(separator: "; "))
    case .snapshot: "snapshot"
    case .reopen: "close and reopen"
    }
  }
}
