// Keys that sort by the time at which they were made.
//
//   key  := time:8 dice:12        characters of an alphabet of 64, in the order of their bytes
//
// The time is in milliseconds. Where it is not later than that of the last key, the last dice count up by one.

import FirebaseCore
import Foundation

struct ChronologicalID: Sendable {
  private static let alphabet = Array(
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
  private static let diceCount = 12

  private static let shared = Guarded(ChronologicalID())

  /// A key that comes after all that this process has made.
  static func next() -> String {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    return shared.withLock { $0.next(at: now) { Int.random(in: 0..<64) } }
  }

  private var time: Int64 = 0
  private var dice: [Int] = []

  mutating func next(at now: Int64, _ roll: () -> Int) -> String {
    if now > time {
      time = now
      dice = (0..<Self.diceCount).map { _ in roll() }
    } else {
      countUp()
    }
    let digits = (0..<8).map { Int(time >> (6 * (7 - $0)) & 63) } + dice
    return String(decoding: digits.map { Self.alphabet[$0] }, as: UTF8.self)
  }

  /// When all dice are at their highest, the time goes on.
  private mutating func countUp() {
    for place in dice.indices.reversed() {
      guard dice[place] == 63 else {
        dice[place] += 1
        return
      }
      dice[place] = 0
    }
    time += 1
  }
}
