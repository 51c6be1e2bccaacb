// The result of a recovery. It lists all dropped bytes, so that no loss goes unreported.

package struct RecoveryReport: Sendable, Equatable {
  /// A range of bytes in a log that recovery dropped.
  package struct Loss: Sendable, Equatable {
    package var file: String
    package var offset: UInt64
    package var length: UInt64
    package var reason: String

    package init(file: String, offset: UInt64, length: UInt64, reason: String) {
      self.file = file
      self.offset = offset
      self.length = length
      self.reason = reason
    }
  }

  package var losses: [Loss] = []
  package var logsRead = 0
  package var commitsReplayed = 0
  /// Whether the store was closed cleanly.
  package var wasClosedCleanly = true
}
