// Records the disk calls that commits wait for, and the times of these calls. A call belongs to a group or to
// a rotation:
//
//   - A group consists of the writes and syncs of a log by committing threads.
//   - A rotation consists of the calls of a thread that starts a new log or replaces the manifest, in a
//     commit or a flush. It begins with the first call that names one of these files. It ends with the sync
//     of the directory after the manifest has its final name.
//
// Other writes of a flush do not count. Neither do the writes that fill a log or the reserve during a
// rotation, because they could be done in advance.

package struct BlockingCalls {
  package struct Call: Sendable {
    package var kind: String
    package var isSync: Bool
    package var isPartOfRotation: Bool
    package var start: ContinuousClock.Instant
    package var end: ContinuousClock.Instant

    package init(
      kind: String, isSync: Bool, isPartOfRotation: Bool, start: ContinuousClock.Instant,
      end: ContinuousClock.Instant
    ) {
      self.kind = kind
      self.isSync = isSync
      self.isPartOfRotation = isPartOfRotation
      self.start = start
      self.end = end
    }

    /// Whether this call makes a group of commits durable.
    package var endsGroup: Bool { isSync && !isPartOfRotation }
  }

  /// The number of most recent calls to keep. It is larger than the number of calls that can end during one
  /// commit.
  private static let kept = 4096

  private var calls: [Call] = []
  private var callers: Set<UInt> = []
  /// The threads that are in a rotation. The value is true once the thread's manifest has its final name.
  private var rotations: [UInt: Bool] = [:]

  mutating func follow(_ thread: UInt) { callers.insert(thread) }

  mutating func willRename(_ kind: String, by thread: UInt, isManifestInPlace: Bool = false) {
    guard kind == "log" || kind == "MANIFEST" else { return }
    rotations[thread] = isManifestInPlace
  }

  /// A failed call ends the rotation.
  mutating func failed(by thread: UInt) { rotations[thread] = nil }

  mutating func ended(
    _ kind: String, isSync: Bool, by thread: UInt, since start: ContinuousClock.Instant,
    at end: ContinuousClock.Instant
  ) {
    let turn = rotations[thread]
    // A log that is created from the recycled file is still written under the name of the recycled file.
    let isLog = kind == "log" || kind == "SPARE"
    let counts =
      turn == nil
      ? isLog && callers.contains(thread)
      : kind == "MANIFEST" || kind == "directory" || kind == "SPARE" || kind == "log" && isSync
    if counts {
      if calls.count >= 2 * Self.kept { calls.removeFirst(Self.kept) }
      calls.append(Call(kind: kind, isSync: isSync, isPartOfRotation: turn != nil, start: start, end: end))
    }
    if isSync, kind == "directory", turn == true { rotations[thread] = nil }
  }

  /// Returns the calls that may have delayed a commit that ran from `start` to `end`. These are the calls of
  /// the group in progress at `start`, of the next group, to which the commit belongs, and of rotations
  /// before the end of that group. Later calls did not delay the commit.
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

/// The disk calls that may have delayed one commit.
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

  /// The total time during which at least one of the calls was in progress.
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
      let what =
        "\(call.isSync ? "sync" : "write") of \(call.kind)\(call.isPartOfRotation ? ", in a turn" : "")"
      return "  \(from / .milliseconds(1)) ms: \(what), \(took / .milliseconds(1)) ms"
    }.joined(separator: "\n")
  }
}
