// The stores that the matrix damages.

internal import ByteStore

/// A store on a disk without pending writes, with its expected contents.
struct Specimen: Sendable {
  let name: String
  let image: DiskImage
  /// The contents after each commit, starting with the empty store.
  let points: [Oracle.Point]
  /// The number of commits at the end of the last log that neither a later frame nor another record confirms.
  let unconfirmedCommits: Int
  /// Earlier states of the disk, oldest first.
  let earlier: [DiskImage]

  /// Whether no record says where the last log ended.
  let isUnclean: Bool

  static func all(seed: UInt64, _ setting: Setting) -> [Specimen] {
    func specimen(
      _ name: String, edits: Int, logBytes: UInt64, ending: [Workload.Step]
    ) -> Specimen {
      Specimen(name, edits: edits, logBytes: logBytes, ending: ending, seed: seed, setting)
    }
    return [
      specimen("never closed, one log", edits: 3, logBytes: 32 << 10, ending: []),
      specimen("never closed", edits: 5, logBytes: 32 << 10, ending: []),
      specimen("never closed, quiet", edits: 4, logBytes: 32 << 10, ending: [.maintain, .maintain]),
      specimen("closed", edits: 4, logBytes: 32 << 10, ending: [.reopen]),
      specimen("several logs, never closed", edits: 4, logBytes: 16 << 10, ending: []),
      specimen("several logs, closed", edits: 4, logBytes: 16 << 10, ending: [.reopen]),
      specimen("flushed and closed", edits: 5, logBytes: 32 << 10, ending: [flush, .reopen]),
      specimen(
        "flushed, compacted and closed", edits: 5, logBytes: 32 << 10,
        ending: [flush, change, compaction, .reopen]),
      specimen("flushed, then one commit", edits: 4, logBytes: 16 << 10, ending: [flush, change]),
    ]
  }

  private static let flush = Workload.Step.flush(.asNeeded, during: [])
  private static let compaction = Workload.Step.flush(.everything, during: [])
  private static let change = Workload.Step.commit(
    Edit(
      [
        .put(key: Array("key2".utf8), value: [1, 2, 3]), .remove(key: Array("key3".utf8)),
        .put(key: Array("large".utf8), value: (0..<20_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }),
      ], stamp: 100, .synced))

  private init(
    _ name: String, edits count: Int, logBytes: UInt64, ending: [Workload.Step], seed: UInt64,
    _ setting: Setting
  ) {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(count), logBytes, UInt64(ending.count)))
    let steps = (1...count).map { number in
      Workload.Step.commit(Edit(Self.operations(number, &random), stamp: UInt64(number), .synced))
    }
    let leg = Scenario.Leg(
      steps: steps + ending, crashAt: .max, crash: .kill, seed: random.next())
    let scenario = Scenario(logBytes: logBytes, shortensTransfers: false, legs: [leg])
    var life = Life(on: DiskImage(), Oracle(), scenario.plan(leg, setting))
    do throws(Finding) {
      try life.run()
    } catch {
      preconditionFailure("a store on a sound disk: \(error)")
    }
    self.name = name
    image = Self.withAllWritesDurable(life.image(before: .max))
    earlier = life.disk.history.map { Self.withAllWritesDurable($0.image) }
    points = life.oracle.expectation(at: .max, after: .kill).points
    isUnclean = !ending.contains { if case .reopen = $0 { true } else { false } }
    if case .commit = ending.last {
      unconfirmedCommits = 1
    } else {
      unconfirmedCommits = ending.isEmpty ? 1 : 0
    }
  }

  /// Returns the image with all written bytes made durable.
  private static func withAllWritesDurable(_ image: DiskImage) -> DiskImage {
    image.after(.powerLoss(.everything, seed: 0))
  }

  /// Returns operations whose frames, over several commits, fit in a sector, cross sectors and cross pages.
  /// They include an overwrite and removals.
  private static func operations(_ number: Int, _ random: inout SeededRandom) -> [Edit.Operation] {
    let key = Array("key\(number)".utf8)
    let shared = Array("shared".utf8)
    switch number {
    case 1: return [.put(key: key, value: random.bytes(100)), .put(key: shared, value: random.bytes(20))]
    case 2: return [.put(key: key, value: random.bytes(1500))]
    case 3: return [.put(key: key, value: random.bytes(10)), .remove(key: shared)]
    case 4: return [.put(key: key, value: random.bytes(5000)), .put(key: shared, value: [])]
    default: return [.put(key: key, value: random.bytes(700)), .remove(key: Array("key1".utf8))]
    }
  }

  /// The files that contain data, which excludes the lock file and the recycled log file.
  var paths: [String] {
    logs + image.paths.filter { $0.contains("/segment-") || $0.contains("/checkpoint-") }
      + ["\(Life.path)/MANIFEST"]
  }
  var logs: [String] { image.paths.filter { $0.contains("/log-") } }
}
