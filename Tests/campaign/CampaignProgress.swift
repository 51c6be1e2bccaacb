// Reports the progress of a long campaign in occasional lines on standard error, so that scripts which read
// standard output are not affected.

import Foundation

/// Used by one thread.
final class CampaignProgress {
  /// The time between two lines; longer if the output goes to a log.
  private let interval: Duration
  private let name: String
  private let total: Int
  private let start = ContinuousClock.now
  private var next: ContinuousClock.Instant

  init(_ name: String, of total: Int) {
    self.name = name
    self.total = total
    interval = isatty(STDERR_FILENO) == 1 ? .seconds(10) : .seconds(60)
    next = start + interval
  }

  /// Reports the amount of completed work.
  func note(_ done: Int) {
    let now = ContinuousClock.now
    guard now >= next else { return }
    next = now + interval
    complain(Self.line(name, done: done, of: total, after: now - start))
  }

  static func line(_ name: String, done: Int, of total: Int, after time: Duration) -> String {
    let so = "\(name): \(done) of \(total)"
    guard done > 0, done < total else { return so }
    let left = time / .seconds(1) * Double(total - done) / Double(done)
    return so
      + (left < 90
        ? ", about \(Int(left.rounded(.up))) s left" : ", about \(Int((left / 60).rounded())) min left")
  }
}

/// The progress of work on several threads.
final class SharedProgress: @unchecked Sendable {
  // The conformance is unchecked, because the lock protects the progress.
  private let lock = NSLock()
  private let progress: CampaignProgress

  init(_ name: String, of total: Int) { progress = CampaignProgress(name, of: total) }

  @Sendable func note(_ done: Int) { lock.withLock { progress.note(done) } }
}
