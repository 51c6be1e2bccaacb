// Translation of each byte store error: the resulting case and all of its evidence.

import ByteStore
import Libc
import Testing

@testable import DocumentStore

@Suite struct ErrorTranslationTests {
  private static let mine = RandomID(high: 1, low: 2)
  private static let theirs = RandomID(high: 3, low: 4)
  private static func call(_ code: Int32) -> SystemFailure {
    SystemFailure(operation: "fdatasync", path: "/d/log", code: code)
  }

  @Test func errorsAboutDirectoriesAreTranslated() {
    expect(.notAStore(directory: "/d", found: "notes"), becomes: DocumentStoreError.notAStore) {
      $0.file = "/d"
      $0.found = "notes"
    }
    expect(.insideStore(directory: "/d/b", store: "/d"), becomes: DocumentStoreError.unsuitableDirectory) {
      $0.file = "/d/b"
    }
    expect(.noStore(directory: "/d"), becomes: DocumentStoreError.notAStore) { $0.file = "/d" }
    expect(.locked(directory: "/d", holder: 42), becomes: DocumentStoreError.locked) {
      $0.file = "/d"
      $0.holder = 42
    }
    expect(.locked(directory: "/d", holder: nil), becomes: DocumentStoreError.locked) { $0.file = "/d" }
    expect(.full(directory: "/d", what: "keys", limit: 9), becomes: DocumentStoreError.full) {
      $0.file = "/d"
    }
  }

  @Test func directoryThatCannotHoldAStoreIsUnsuitable() {
    expect(
      .networkFileSystem(directory: "/d", fileSystem: "nfs"), becomes: DocumentStoreError.unsuitableDirectory
    ) {
      $0.file = "/d"
      $0.found = "nfs"
    }
    expect(
      .nameTaken(path: "/d/SPARE", by: .pipe, needed: .file),
      becomes: DocumentStoreError.unsuitableDirectory
    ) {
      $0.file = "/d/SPARE"
      $0.expected = "a file"
      $0.found = "a named pipe"
    }
  }

  @Test func anInvalidPathIsAnInvalidArgument() {
    guard case .invalidArgument(let message) = DocumentStoreError(ByteStoreError.invalidPath("/d\0e")) else {
      Issue.record("another error")
      return
    }
    #expect(message.contains("/d\\0e has a NUL in it"))
  }

  @Test func errorsOfABackupAreTranslated() {
    expect(.incompleteBackup(directory: "/d"), becomes: DocumentStoreError.notAStore) { $0.file = "/d" }
    expect(.notEmpty(directory: "/d", found: "notes"), becomes: DocumentStoreError.unsuitableDirectory) {
      $0.file = "/d"
      $0.found = "notes"
    }
  }

  @Test func errorsAboutFilesAreTranslated() {
    expect(.newerFormat(file: "/d/f", found: 7, supported: 3), becomes: DocumentStoreError.newerFormat) {
      $0.file = "/d/f"
      $0.expected = "version 3 or earlier"
      $0.found = "version 7"
    }
    expect(
      .foreignFile(file: "/d/f", expected: Self.mine, found: Self.theirs),
      becomes: DocumentStoreError.corrupted
    ) {
      $0.file = "/d/f"
      $0.expected = "00000000000000010000000000000002"
      $0.found = "00000000000000030000000000000004"
    }
    expect(
      .corrupted(Damage(file: "/d/f", offset: 4096, expected: "this", found: "that")),
      becomes: DocumentStoreError.corrupted
    ) {
      $0.file = "/d/f"
      $0.offset = 4096
      $0.expected = "this"
      $0.found = "that"
    }
  }

  @Test func oversizedBatchIsAnInvalidArgument() {
    let error = ByteStoreError.tooLarge(what: "A batch", limit: 10, found: 11)
    #expect(DocumentStoreError(error) == .invalidArgument("A batch has 11 bytes, and the limit is 10."))
  }

  @Test(arguments: [ENOSPC, EDQUOT, EFBIG] as [Int32])
  func callThatFailsForLackOfSpaceMeansAFullDisk(code: Int32) {
    expect(.system(Self.call(code)), becomes: DocumentStoreError.full) { $0.describeCall(code) }
  }

  @Test(arguments: [EIO, EACCES, EROFS, EMFILE, ENOENT, 0] as [Int32])
  func otherFailedCallsDoNotMeanAFullDisk(code: Int32) {
    expect(.system(Self.call(code)), becomes: DocumentStoreError.failed) { $0.describeCall(code) }
  }

  @Test(arguments: [EIO, ENOSPC] as [Int32])
  func anUnknownOutcomeStaysUnknownEvenIfTheDiskIsFull(code: Int32) {
    expect(.outcomeUnknown(Self.call(code)), becomes: DocumentStoreError.outcomeUnknown) {
      $0.describeCall(code)
    }
  }

  @Test func flushImpossibleIsCorruptionAndSuggestsSalvage() {
    let cause = ByteStoreError.flushImpossible(directory: "/d", cause: "A page is damaged.")
    expect(cause, becomes: DocumentStoreError.corrupted) { $0.file = "/d" }
    #expect(cause.description.contains("dugout salvage"))
  }

  @Test func dependentsOfARefusedCommitFailWithoutWriting() {
    expect(.dependencyRefused, becomes: DocumentStoreError.failed) { _ in }
    #expect(
      DocumentStoreError(.readOnly(directory: "/d"))
        == .failedPrecondition(
          "The store at /d is open for reading only. Open it without that option to write."))
  }

  @Test func aStoreThatWasReplacedMustBeOpenedAgain() {
    #expect(
      DocumentStoreError(.replaced(directory: "/d"))
        == .failedPrecondition(
          "The store at /d was replaced or restored while it was open for reading. Open it again."))
  }

  @Test func closedAndForkedStoresAreClosed() {
    expect(.closed(directory: "/d"), becomes: DocumentStoreError.closed) { $0.file = "/d" }
    expect(.forked(directory: "/d"), becomes: DocumentStoreError.closed) { $0.file = "/d" }
    #expect(
      DocumentStoreError(.forked(directory: "/d")) != DocumentStoreError(.closed(directory: "/d")),
      "the sentences differ")
  }

  @Test func aDamagedRecordIsCorruptionOfItsDocument() {
    let error = DocumentStoreError(
      RecordError(offset: 28, expected: "a value's tag"), at: path("rooms", "eros"), in: "/d")
    guard case .corrupted(let evidence) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(evidence.file == "/d")
    #expect(evidence.offset == 28)
    #expect(evidence.expected == "a value's tag")
    #expect(evidence.message == error.description)
    let parts = ["rooms/eros", "/d", "byte 28", "a value's tag"]
    #expect(parts.filter { !evidence.message.contains($0) } == [], "\(evidence.message)")
  }

  /// Expects the evidence from `fill`, plus the complete message of the cause.
  private func expect(
    _ cause: ByteStoreError, becomes make: (StorageEvidence) -> DocumentStoreError,
    evidence fill: (inout StorageEvidence) -> Void, at location: SourceLocation = #_sourceLocation
  ) {
    var evidence = StorageEvidence(message: cause.description)
    fill(&evidence)
    #expect(DocumentStoreError(cause) == make(evidence), sourceLocation: location)
    #expect(DocumentStoreError(cause).description == cause.description, sourceLocation: location)
    #expect(!cause.description.isEmpty, sourceLocation: location)
  }

  /// Does not compile until each new byte store error has a test above.
  private func allCasesAreAbove(_ error: ByteStoreError) {
    switch error {
    case .notAStore, .noStore, .locked, .newerFormat, .foreignFile, .networkFileSystem, .incompleteBackup,
      .notEmpty, .insideStore, .nameTaken, .invalidPath, .corrupted, .tooLarge, .full, .flushImpossible,
      .outcomeUnknown,
      .dependencyRefused, .readOnly, .replaced, .system, .closed, .forked:
      break
    }
  }
}

extension StorageEvidence {
  fileprivate mutating func describeCall(_ code: Int32) {
    file = "/d/log"
    operation = "fdatasync"
    self.code = code
  }
}
