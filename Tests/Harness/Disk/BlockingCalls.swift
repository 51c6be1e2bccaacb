// The calls to a disk that those who commit wait for: which, when, and for how long.
//
//   a group   the writes and syncs of a log by threads that commit
//   a turn    those of a thread that turns to a new log or replaces the manifest, whether it commits or flushes: from the
//             first call that names one of them to the sync of the directory in which the manifest has its name
//
// What a flush writes beside commits is not among them, nor the bytes of a log or of the reserve that somebody fills in
// his turn: that could be done before.

package struct BlockingCalls {
  package struct Call: Sendable {
    package var kind: String
    package var isSync: Bool
    package var isOfTurn: Bool
    package var start: ContinuousClock.Instant
    package var end: ContinuousClock.Instant

    package init(
      kind: String, isSync: Bool, isOfTurn: Bool, start: ContinuousClock.Instant,
      end: ContinuousClock.Instant
    ) {
      self.kind = kind
      self.isSync = isSync
      self.isOfTurn = isOfTurn
      self.start = start
      self.end = end
    }

    /// With it, a group of commits is on stable storage.
    package var endsGroup: Bool { isSync && !isOfTurn }
  }

  /// More than end while any commit is under way.
  private static let kept = 4096

  private var calls: [Call] = []
  private var callers: Set<UInt> = []
  /// Threads in a turn, and whether their manifest has its name.
  private var turns: [UInt: Bool] = [:]

  mutating func follow(_ thread: UInt) { callers.insert(thread) }

  mutating func willName(_ kind: String, by thread: UInt, isManifestInPlace: Bool = false) {
    guard kind == "log" || kind == "MANIFEST" else { return }
    turns[thread] = isManifestInPlace
  }

  /// Something of a turn: it is over then.
  mutating func failed(by thread: UInt) { turns[thread] = nil }

  mutating func ended(
    _ kind: String, isSync: Bool, by thread: UInt, since start: ContinuousClock.Instant,
    at end: ContinuousClock.Instant
  ) {
    let turn = turns[thread]
    // A log that was made out of the spare is written to as that file.
    let isLog = kind == "log" || kind == "SPARE"
    let counts =
      turn == nil
      ? isLog && callers.contains(thread)
      : kind == "MANIFEST" || kind == "directory" || kind == "SPARE" || kind == "log" && isSync
    if counts {
      if calls.count >= 2 * Self.kept { calls.removeFirst(Self.kept) }
      calls.append(Call(kind: kind, isSync: isSync, isOfTurn: turn != nil, start: start, end: end))
    }
    if isSync, kind == "directory", turn == true { turns[thread] = nil }
  }

  /// What a commit can have waited for that had its place at `start` and was done at `end`: the group that was under way
  /// then, its own, which is the next, and the turns before that. What ended later kept it from nothing.
  func ended(since start: ContinuousClock.Instant, until end: ContinuousClock.Instant) -> BlockedTime {
    let first = calls.lastIndex { $0.end <= start }.map { $0 + 1 } ?? 0
    var groups = 0
    let calls = calls[first...].prefix { call in
      guard groups < 2, call.end <= end else { return false }
      if call.endsGroup { groups += 1 }
      return true
    }
    return BlockedTime(start: start, calls: Array(calls))
  }
}

/// What the disk did while a commit was under way.
package struct BlockedTime: Sendable {
  package let start: ContinuousClock.Instant
  package let calls: [BlockingCalls.Call]

  package init(start: ContinuousClock.Instant, calls: [BlockingCalls.Call]) {
    self.start = start
    self.calls = calls
  }

  package var syncs: Int { calls.count { $0.isSync } }

  package var longestSync: Duration {
    calls.filter(\.isSync).map { $0.end - $0.start }.max() ?? .zero
  }

  /// For how long any of its calls was under way.
  package var duration: Duration {
    var time = Duration.zero
    var reached = start
    for call in calls.sorted(by: { $0.start < $1.start }) where call.end > reached {
      time += call.end - max(call.start, reached)
      reached = call.end
    }
    return time
  }
}

extension BlockedTime: CustomStringConvertible {
  package var description: String {
    calls.map { call in
      let (from, took) = (call.start - start, call.end - call.start)
      let what = "\(call.isSync ? "sync" : "write") of \(call.kind)\(call.isOfTurn ? ", in a turn" : "")"
      return "  \(from / .milliseconds(1)) ms: \(what), \(took / .milliseconds(1)) ms"
    }.joined(separator: "\n")
  }
}
