// How fast commits may come in while a flush has more to do than it gets done.
//
// The more log there is beyond what flushes start at, the fewer bytes a second are let in, by all writers together:
//
//   rate := 400 MB/s / 6^(debt - 2)      debt := bytes of log / bytes that start a flush
//
// So writers settle at the speed of the flush, whatever that is, between twice and six times the log that starts one,
// and nobody is stopped for the whole of it. Each waits for what all that wait would take at that rate, but no longer
// than a limit, which is low for small commits, so that none waits as a large one beside it has to.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Pace {
  /// So many times the bytes that start a flush may come together before anyone waits.
  private static let debtFree = 2.0
  private static let bytesPerSecondAtFirst = 400e6
  /// So many times slower for each further time those bytes.
  private static let steepness = 6.0
  /// From here on, that the logs are bounded counts more than that commits are quick: limits grow as fast as the rate
  /// falls. That of small commits stays for a while when it is so many times as high.
  private static let debtHigh = 4.0
  private static let growthOfSmall = 3.75
  private static let debtHighest = 6.0

  /// Commits up to this size are small: with the longest sync of the device, one stays within 50 ms of that sync, and
  /// up to the highest debt within 100 ms.
  private static let bytesSmall = 64 << 10
  private static let secondsMaxOfSmall = 0.016
  /// From twice that size on, one waits until all that wait have had so much, which hardly any device falls short of.
  private static let bytesPerSecondLeast = 2e6
  private static let secondsMax = 10.0

  /// Of a wait, before the debt is looked at again.
  static let secondsOfStep = 0.005

  static func isBehind(logBytes: UInt64, flushBytes: UInt64) -> Bool {
    debt(logBytes, flushBytes) > debtFree
  }

  /// In seconds. `allBytes` are those of all commits that wait now, this one included.
  static func delay(
    forBytes bytes: Int, ofAll allBytes: Int, logBytes: UInt64, flushBytes: UInt64
  ) -> Double {
    let debt = debt(logBytes, flushBytes)
    guard debt > debtFree else { return 0 }
    let all = Double(max(bytes, allBytes))
    let rate = bytesPerSecondAtFirst / pow(steepness, debt - debtFree)
    let largePart = min(Double(max(0, bytes - bytesSmall)) / Double(bytesSmall), 1)
    let growth = pow(steepness, max(debt - debtHigh, 0))
    let growthOfSmall = min(growth, growthOfSmall) * pow(steepness, max(debt - debtHighest, 0))
    let limitOfSmall = secondsMaxOfSmall * (growthOfSmall * (1 - largePart) + growth * largePart)
    let limit = limitOfSmall + largePart * growth * all / bytesPerSecondLeast
    return min(all / rate, limit, secondsMax)
  }

  private static func debt(_ logBytes: UInt64, _ flushBytes: UInt64) -> Double {
    Double(logBytes) / Double(max(flushBytes, 1))
  }
}
