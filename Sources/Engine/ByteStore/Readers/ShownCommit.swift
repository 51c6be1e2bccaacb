// The last commit that a reader shows, to recognise it when the files are captured again.

/// The last commit that a reader shows.
struct ShownCommit: Equatable {
  var sequence: SequenceNumber
  private var checksum: UInt32

  init(_ commit: CommitBody, _ sequence: SequenceNumber) {
    self.sequence = sequence
    var checksum = Checksum()
    checksum.update(commit.bytes.rawSpan)
    self.checksum = checksum.value
  }
}
