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
    /// A file of someone else takes all the space that is left.
    case takeSpace
    /// And is gone again.
    case giveSpace
  }

  var logBytes: UInt64
  var flushBytes: UInt64
  var shortensTransfers: Bool
  /// Maintenance is no step alone, but goes on in the background, as dice will have it.
  var schedulesJobs: Bool
  /// The size of the disk, if the workload is about a full one.
  var capacity: Int?
  var steps: [Step]

  /// The first life of a store; on a disk that gets full, if `fillsDisk`.
  init(seed: UInt64, fillsDisk: Bool = false) {
    var random = SeededRandom(seed: seed)
    logBytes = [16 << 10, 16 << 10, 32 << 10, 64 << 10][random.below(4)]
    flushBytes = [24 << 10, 64 << 10, 1 << 30][random.below(3)]
    shortensTransfers = random.oneIn(3)
    schedulesJobs = !fillsDisk && random.oneIn(3)
    // Nobody asks for jobs in the background, so there must be cause for them.
    if schedulesJobs {
      logBytes = 16 << 10
      flushBytes = [8 << 10, 24 << 10, 48 << 10][random.below(3)]
    }
    steps = Self.steps((schedulesJobs ? 6 : 3) + random.below(8), firstStamp: 1, &random)
    if fillsDisk { fillDisk(&random) }
  }

  private mutating func fillDisk(_ random: inout SeededRandom) {
    // Smaller logs would hold one small commit each, and no reserve lasts for many of them.
    logBytes = 64 << 10
    capacity = (600 + 4 * random.below(200)) << 10
    steps = Self.onFullDisk(steps, &random)
    if case .takeSpace = steps[0] { return }
    steps.insert(.takeSpace, at: 1 + random.below(steps.count))
  }

  /// The steps with some that take and give space, and none that makes a backup, which has no reserve.
  static func onFullDisk(_ steps: [Step], _ random: inout SeededRandom) -> [Step] {
    var number: UInt64 = 500
    return steps.flatMap { step -> [Step] in
      if case .backup = step { return [random.oneIn(3) ? .giveSpace : .takeSpace] }
      number += 1
      guard random.oneIn(2) else { return [step] }
      let key = Array("key\(random.below(8))".utf8)
      return [step, .commit(Edit([.remove(key: key)], stamp: number, .synced))]
    }
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
    case .takeSpace: "someone takes all the space"
    case .giveSpace: "someone gives the space back"
    }
  }
}
