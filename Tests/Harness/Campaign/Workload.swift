// The random workload of a campaign, reproducible from its seed.

internal import ByteStore

struct Workload: Sendable {
  enum Step: Sendable {
    case commit(Edit)
    /// Commits from one thread each. All but the first commit queue up while the first is in progress, and
    /// become one group.
    case group([Edit])
    case maintain
    /// A flush. The given commits run in this order between its steps.
    case flush(ByteStore.FlushScope, during: [Edit])
    /// A backup. The given commits run in this order between its steps.
    case backup(to: String, during: [Edit])
    /// Takes a snapshot and keeps it until the store is reopened.
    case snapshot
    case reopen
    /// Another file takes all free space.
    case occupySpace
    /// The other file is deleted.
    case freeSpace
  }

  var logBytes: UInt64
  var flushBytes: UInt64
  var shortensTransfers: Bool
  /// Whether maintenance also runs in the background, scheduled at random.
  var schedulesJobs: Bool
  /// The size of the disk if the workload fills it, and nil otherwise.
  var capacity: Int?
  var steps: [Step]

  /// Creates the first life of a store. If `fillsDisk` is true, the disk becomes full during the life.
  init(seed: UInt64, fillsDisk: Bool = false) {
    var random = SeededRandom(seed: seed)
    logBytes = [16 << 10, 16 << 10, 32 << 10, 64 << 10][random.below(4)]
    flushBytes = [24 << 10, 64 << 10, 1 << 30][random.below(3)]
    shortensTransfers = random.oneIn(3)
    schedulesJobs = !fillsDisk && random.oneIn(3)
    // The limits are small, because only reaching them triggers background jobs.
    if schedulesJobs {
      logBytes = 16 << 10
      flushBytes = [8 << 10, 24 << 10, 48 << 10][random.below(3)]
    }
    steps = Self.steps((schedulesJobs ? 6 : 3) + random.below(8), firstStamp: 1, &random)
    if fillsDisk { fillDisk(&random) }
  }

  private mutating func fillDisk(_ random: inout SeededRandom) {
    // A smaller log would hold only a single small commit, and the reserve suffices for only a few logs.
    logBytes = 64 << 10
    capacity = (600 + 4 * random.below(200)) << 10
    steps = Self.onFullDisk(steps, &random)
    if case .occupySpace = steps[0] { return }
    steps.insert(.occupySpace, at: 1 + random.below(steps.count))
  }

  /// Replaces backups, which the reserve does not cover, with steps that take or free space. Adds removals
  /// after some of the other steps.
  static func onFullDisk(_ steps: [Step], _ random: inout SeededRandom) -> [Step] {
    var number: UInt64 = 500
    return steps.flatMap { step -> [Step] in
      if case .backup = step { return [random.oneIn(3) ? .freeSpace : .occupySpace] }
      number += 1
      guard random.oneIn(2) else { return [step] }
      let key = Array("key\(random.below(8))".utf8)
      return [step, .commit(Edit([.remove(key: key)], stamp: number, .synced))]
    }
  }

  /// Creates the steps of a life after a recovery. `life` makes the stamps differ from those of other lives.
  static func stepsAfterRecovery(life: Int, seed: UInt64) -> [Step] {
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
    case .occupySpace: "someone takes all the space"
    case .freeSpace: "someone gives the space back"
    }
  }
}
