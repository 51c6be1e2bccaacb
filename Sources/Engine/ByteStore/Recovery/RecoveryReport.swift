// What an open found, told so that nothing is lost in silence.

package struct RecoveryReport: Sendable, Equatable {
  /// Bytes that were there and do not count.
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
  /// The last user of the store closed it.
  package var wasClosedCleanly = true
}
