// A byte store on a device with less space than it reports (docs/reliability.md, F4 and T7).
//
// The device is a sparse image on a small tmpfs. The kernel accepts writes into its cache but cannot write
// them to the device, so the next sync really fails. Uses the workload and the invariant of `KilledStore`.

#if os(Linux)
import Foundation
import Harness

struct StoreFullDevices {
  struct Summary {
    var rounds = 0
    var failed = 0
    /// The number of rounds in which a call of the process failed.
    var roundsWithFailedCalls = 0
    var outcomesUnknown = 0
    var commits = 0
    var firstFailure: String?
  }

  private static let megabytes = 24
  /// Usually more commits than the mount has space for.
  private static let commitsMax = 150
  private static let roomMax = 2 << 20

  private let small: SmallMount
  private let mount: LoopMount
  private var store: KilledStore
  private var random: SeededRandom
  private var summary = Summary()

  /// Prints a message and returns nil if nothing can be mounted here.
  static func run(rounds: Int, seed: UInt64) throws -> Summary? {
    let small: SmallMount
    let mount: LoopMount
    do {
      small = try SmallMount(megabytes: megabytes)
      do {
        mount = try LoopMount(.ext4, in: URL(fileURLWithPath: small.path), mayRunFull: true)
      } catch {
        small.unmount()
        throw error
      }
    } catch {
      complain(
        "SKIPPED: no device runs full under a store: \(error) (needs root, a loop device and the package "
          + "e2fsprogs)")
      return nil
    }
    defer {
      try? mount.unmount()
      small.unmount()
    }
    var campaign = StoreFullDevices(small, mount, seed: seed)
    for round in 0..<rounds { try campaign.round(round) }
    return campaign.summary
  }

  private init(_ small: SmallMount, _ mount: LoopMount, seed: UInt64) {
    self.small = small
    self.mount = mount
    store = KilledStore(path: mount.path + "/bytes", seed: seed)
    random = SeededRandom(seed: seed)
  }

  private mutating func round(_ round: Int) throws {
    store.renew(before: round)
    let room = random.below(Self.roomMax)
    try occupySpace(butFor: room)
    let end = try runWorker()
    try FileManager.default.removeItem(atPath: filler)
    try mount.unmount()
    try mount.mount()
    summary.rounds += 1
    if end.wasDisrupted { summary.roundsWithFailedCalls += 1 }
    if end.words.contains(StoreKillWorker.unknown) { summary.outcomesUnknown += 1 }
    guard let problem = store.problem(after: end, &summary.commits) else { return }
    summary.failed += 1
    summary.firstFailure =
      summary.firstFailure
      ?? "\(problem.context), round \(round) on a device with room for \(room) bytes: \(problem.text)"
  }

  private var filler: String { small.path + "/filler" }

  /// Limits the remaining space of the device to this many bytes.
  private func occupySpace(butFor room: Int) throws {
    var status = statvfs()
    guard statvfs(small.path, &status) == 0 else {
      throw LoopMount.Failure(description: "\(small.path) does not say how full it is")
    }
    let free = Int(status.f_bavail) * Int(status.f_frsize)
    let file = open(filler, O_RDWR | O_CREAT, 0o600)
    defer { close(file) }
    let error = posix_fallocate(file, 0, off_t(max(4096, free - room)))
    guard file >= 0, error == 0 else {
      throw LoopMount.Failure(description: "\(small.path) cannot be filled: error \(error)")
    }
  }

  private func runWorker() throws -> KilledStore.End {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = store.workerArguments(commits: Self.commitsMax)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let words = String(decoding: printed, as: UTF8.self).split(separator: "\n")
    return KilledStore.End(
      wasKilled: false, wasDisrupted: words.contains(StoreKillWorker.met), status: process.terminationStatus,
      words: words)
  }
}
#endif
