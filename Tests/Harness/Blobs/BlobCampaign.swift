// A crash campaign for the object store: no object is lost or torn, and no file is leaked.
//
// It runs uploads, overwrites, deletions and sweeps on a simulated disk that fails or loses power at any
// call.
//
//   1. run      a workload, with its disk calls counted and each acknowledged result recorded
//   2. crash    before a call, with each kind of survivors; or inject a fault at a call, and then crash
//   3. judge    each object is the last acknowledged one or the one in progress, byte for byte
//   4. sweep    then a record refers to each remaining file
//   5. repeat   steps 2 to 4 with a crash at a call of steps 3 and 4

package import ByteStore
import DocumentStore
import ObjectStore

package struct BlobCampaign {
  package struct Summary: Sendable {
    package var states = 0
    package var failures = 0
    package var firstFailure: String?
    package var reached: [DiskOperation: Int] = [:]
    package var steps: [String: Int] = [:]

    package var neverReached: [String] {
      let calls: [DiskOperation] = [.create, .rename, .remove, .write, .syncFile, .syncDirectory]
      return calls.filter { reached[$0] == nil }.map(\.rawValue)
        + BlobWorkload.Kind.allCases.map(\.rawValue).filter { steps[$0] == nil }
    }
  }

  /// Runs the campaign for about `states` states. If `rule` is given, that rule of the engine is switched
  /// off, to prove that the campaign then fails.
  package static func run(
    states: Int, seed: UInt64, breaking rule: Rule? = nil, stopsAtFirst: Bool = false
  ) -> Summary {
    var campaign = BlobCampaign(rule: rule)
    var number: UInt64 = 0
    while campaign.summary.states < states {
      campaign.runWorkload(seed: SeededRandom.seed(seed, number), upTo: states)
      number += 1
      if stopsAtFirst, campaign.summary.failures > 0 { break }
    }
    return campaign.summary
  }

  private let rule: Rule?
  private var summary = Summary()

  private init(rule: Rule?) { self.rule = rule }

  private mutating func runWorkload(seed: UInt64, upTo states: Int) {
    var random = SeededRandom(seed: seed)
    let workload = BlobWorkload(&random)
    for step in workload.steps { summary.steps[step.kind.rawValue, default: 0] += 1 }
    let life = BlobLife(workload, on: DiskImage(), recordsHistory: true, rule)
    life.run()
    note(life, seed, "without a crash")
    judge(life.disk.image, life.candidates(at: .max), seed, &random, "after the end")
    // Crashes before a sample of the calls.
    let history = life.disk.history
    for _ in 0..<12 where summary.states < states && !history.isEmpty {
      let call = random.below(history.count)
      summary.reached[history[call].operation, default: 0] += 1
      let crash = Self.crash(&random)
      judge(
        history[call].image.after(crash), life.candidates(at: call), seed, &random,
        "\(crash) before call \(call)")
    }
    for _ in 0..<6 where summary.states < states && !history.isEmpty {
      runFaulty(workload, calls: history.count, seed, &random)
    }
  }

  private mutating func runFaulty(
    _ workload: BlobWorkload, calls: Int, _ seed: UInt64, _ random: inout SeededRandom
  ) {
    let fault = DiskFault.allCases[random.below(DiskFault.allCases.count)]
    let plan = FaultPlan(fault, at: random.below(calls), isSticky: random.oneIn(3))
    let life = BlobLife(workload, on: DiskImage(), recordsHistory: false, rule, plan)
    life.run()
    note(life, seed, "\(plan)")
    let crash = Self.crash(&random)
    judge(
      life.disk.image(after: crash), life.candidates(at: .max), seed, &random, "\(plan), then \(crash)")
  }

  private static func crash(_ random: inout SeededRandom) -> Crash {
    if random.oneIn(5) { return .kill }
    let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
    return .powerLoss(survivors, seed: random.next())
  }

  // MARK: Judging

  private mutating func judge(
    _ image: DiskImage, _ expected: BlobExpectation, _ seed: UInt64, _ random: inout SeededRandom,
    _ when: String
  ) {
    summary.states += 1
    let first = BlobJudge(image, expected, rule)
    let problem = first.problem()
    if let problem { return fail("\(problem), \(when)", seed) }
    let history = first.disk.history
    guard !history.isEmpty, random.oneIn(2) else { return }
    let call = random.below(history.count)
    let crash = Self.crash(&random)
    summary.states += 1
    let second = BlobJudge(history[call].image.after(crash), expected, rule)
    if let problem = second.problem() {
      fail("\(problem), \(when), and then \(crash) before call \(call) of what followed", seed)
    }
  }

  private mutating func note(_ life: BlobLife, _ seed: UInt64, _ when: String) {
    if let problem = life.problem { fail("\(problem), \(when)", seed) }
  }

  private mutating func fail(_ problem: String, _ seed: UInt64) {
    summary.failures += 1
    if summary.firstFailure == nil { summary.firstFailure = "\(problem) (workload \(seed))" }
  }
}

/// The allowed states of each object.
struct BlobExpectation {
  /// The allowed contents of each name, as numbers; nil means that the object may be absent. An object whose
  /// name is not listed must be absent.
  var objects: [String: Set<Int?>] = [:]
  /// Staged parts whose survival was acknowledged and that were not resumed.
  var parts: [StagedNumber: BlobPart] = [:]
}

/// A prefix of a content, which is identified by its number.
struct BlobPart: Equatable {
  var content: Int
  var bytesMin: Int
}

/// A new process that opens the disk after a crash.
struct BlobJudge {
  let disk: SimulatedDisk
  private let expected: BlobExpectation
  private let rule: Rule?

  init(_ image: DiskImage, _ expected: BlobExpectation, _ rule: Rule?) {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    disk = SimulatedDisk(image, options: options)
    self.expected = expected
    self.rule = rule
  }

  func problem() -> String? {
    do {
      let store = try DocumentStore.open(
        BlobLife.path, options: BlobLife.options, platform: BlobLife.platform(disk, rule))
      defer { try? store.close() }
      if let problem = try problem(of: store) { return problem }
      try store.objects.sweep(.everything)
      if let problem = try problem(of: store) { return "\(problem), after a sweep" }
      return try Self.leak(in: store)
    } catch {
      return "the store failed: \(error)"
    }
  }

  private func problem(of store: DocumentStore) throws -> String? {
    for name in BlobWorkload.names {
      let allowed = expected.objects[name] ?? [nil]
      let path = ObjectPath(bucket: "bucket", name: try ObjectName(name))
      guard let (object, reader) = try store.objects.content(at: path) else {
        if allowed.contains(nil) { continue }
        return "\(name) is lost"
      }
      let bytes = try reader.readAll()
      guard allowed.contains(where: { number in number.map { BlobWorkload.content($0) == bytes } ?? false })
      else { return "\(name) has \(bytes.count) bytes that it must not have" }
      guard ContentDigest.sha256(of: bytes.rawSpan) == object.blob.bytes else {
        return "\(name) has a wrong digest"
      }
    }
    return try problemOfParts(in: store.objects)
  }

  private func problemOfParts(in objects: ObjectStore) throws -> String? {
    let uploads = try objects.uploads()
    for (number, part) in expected.parts {
      guard let stored = uploads.first(where: { $0.number == number }) else { return "an upload is lost" }
      var staged: [UInt8] = []
      guard let upload = try objects.resume(stored, { staged += $0 }) else {
        return "the staged part of an upload is lost"
      }
      upload.leave()
      guard staged.count >= part.bytesMin, BlobWorkload.content(part.content).starts(with: staged) else {
        return "of a staged part, \(staged.count) bytes are left, and not \(part.bytesMin)"
      }
    }
    return nil
  }

  /// Returns a description of a file that no record refers to, or nil.
  static func leak(in store: DocumentStore) throws -> String? {
    let (blobs, staged, packs) = try store.objects.inUse()
    let inventory = try store.objects.blobs.inventory()
    if let id = inventory.blobs.first(where: { !blobs.contains($0) }) { return "the content \(id) is leaked" }
    if let number = inventory.staged.first(where: { !staged.contains($0) }) {
      return "the staged content \(number) is leaked"
    }
    if let arrival = try store.objects.arrivals().first(where: { !inventory.staged.contains($0.number) }) {
      return "the record of the arrival \(arrival.number) is leaked"
    }
    if let pack = inventory.packs.first(where: { !packs.contains($0) }) { return "pack \(pack) is leaked" }
    let contents = try store.objects.contents()
    if let id = contents.recorded.symmetricDifference(contents.named).first {
      return
        "the content \(id) has \(contents.named.contains(id) ? "no record" : "a record, and no object has it")"
    }
    return nil
  }
}
