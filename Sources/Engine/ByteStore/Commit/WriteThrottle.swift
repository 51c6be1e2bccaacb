// Write throttling: limits the rate of commits when flushes do not keep up.
//
// The more log has accumulated, the fewer bytes per second are accepted from all writers together:
//
//   rate := 400 MB/s / 6^(debt - 2)      debt := bytes of log / bytes that start a flush
//
// At a debt between two and six, the rate of the writers thus falls to the speed of the flush. No writer is
// stopped completely. Each commit waits for the time in which all waiting commits together would be accepted
// at that rate, up to a limit. The limit is low for small commits, so that they do not wait as long as a
// large commit that arrives at the same time.

import Libc

enum WriteThrottle {
  /// The debt up to which no commit waits.
  private static let unthrottledDebtMax = 2.0
  private static let initialBytesPerSecond = 400e6
  /// The factor by which the rate falls for each further unit of debt.
  private static let decayFactor = 6.0
  /// Above this debt, limiting the log has priority over short waits: the limits grow as fast as the rate
  /// falls. The limit for small commits stops growing at the factor `smallCommitGrowthMax`, and grows again
  /// only above `debtHighest`.
  private static let debtHigh = 4.0
  private static let smallCommitGrowthMax = 3.75
  private static let debtHighest = 6.0

  /// The size up to which a commit is small. A small commit waits at most 50 ms in addition to the longest
  /// sync of the device, and at most 100 ms at the highest debt.
  private static let smallCommitBytesMax = 64 << 10
  private static let smallCommitSecondsMax = 0.016
  /// The rate that limits the wait of a commit of at least twice `smallCommitBytesMax`. The limit is the time
  /// that all waiting bytes take at this rate. Almost every device is faster.
  private static let bytesPerSecondMin = 2e6
  private static let secondsMax = 10.0

  /// The length of one wait before the debt is checked again.
  static let stepSeconds = 0.005

  static func isThrottling(logBytes: UInt64, flushBytes: UInt64) -> Bool {
    debt(logBytes, flushBytes) > unthrottledDebtMax
  }

  /// Returns the wait in seconds. `allBytes` is the size of all commits that are waiting, including this one.
  static func delay(
    forBytes bytes: Int, ofAll allBytes: Int, logBytes: UInt64, flushBytes: UInt64
  ) -> Double {
    let debt = debt(logBytes, flushBytes)
    guard debt > unthrottledDebtMax else { return 0 }
    let all = Double(max(bytes, allBytes))
    let rate = initialBytesPerSecond / pow(decayFactor, debt - unthrottledDebtMax)
    let largeFraction = min(Double(max(0, bytes - smallCommitBytesMax)) / Double(smallCommitBytesMax), 1)
    let growth = pow(decayFactor, max(debt - debtHigh, 0))
    let smallCommitGrowthMax =
      min(growth, smallCommitGrowthMax) * pow(decayFactor, max(debt - debtHighest, 0))
    let smallCommitLimit =
      smallCommitSecondsMax * (smallCommitGrowthMax * (1 - largeFraction) + growth * largeFraction)
    let limit = smallCommitLimit + largeFraction * growth * all / bytesPerSecondMin
    return min(all / rate, limit, secondsMax)
  }

  private static func debt(_ logBytes: UInt64, _ flushBytes: UInt64) -> Double {
    Double(logBytes) / Double(max(flushBytes, 1))
  }
}
