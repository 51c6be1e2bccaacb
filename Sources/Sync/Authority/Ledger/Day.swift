// Days, in which the ledger counts when it has last seen a run.

/// A day has 86,400 seconds, counted from 1970.
enum Day {
  static let microseconds: Int64 = 86_400_000_000

  static func of(_ time: Int64) -> Int64 {
    let (day, rest) = time.quotientAndRemainder(dividingBy: microseconds)
    return rest < 0 ? day - 1 : day
  }
}
