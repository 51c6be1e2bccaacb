// Keys that sort by their creation time.
//
//   key  := time:8 random:12       characters of a 64-character alphabet, in byte order
//
// The time is in milliseconds. If the clock has not advanced since the last key was created, the new key
// keeps the time of the last key and increments its random digits.

import ByteStore
import Foundation

struct ChronologicalID: Sendable {
  private static let alphabet = Array(
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
  private static let randomCount = 12

  private static let shared = Locked(ChronologicalID())

  /// Returns a key that sorts after all keys that this process has created.
  static func next() -> String {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    return shared.withLock { $0.next(at: now) { Int.random(in: 0..<64) } }
  }

  private var time: Int64 = 0
  private var rng: [Int] = []

  mutating func next(at now: Int64, _ roll: () -> Int) -> String {
    if now > time {
      time = now
      rng = (0..<Self.randomCount).map { _ in roll() }
    } else {
      countUp()
    }
    let digits = (0..<8).map { Int(time >> (6 * (7 - $0)) & 63) } + rng
    return String(decoding: digits.map { Self.alphabet[$0] }, as: UTF8.self)
  }

  /// Increments the random digits as one number. If all digits are at their maximum, they become 0 and the
  /// time advances by a millisecond.
  private mutating func countUp() {
    for place in rng.indices.reversed() {
      guard rng[place] == 63 else {
        rng[place] += 1
        return
      }
      rng[place] = 0
    }
    time += 1
  }
}
