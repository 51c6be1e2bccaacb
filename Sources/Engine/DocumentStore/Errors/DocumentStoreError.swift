// Everything that can go wrong with documents, with the evidence that the layers above pass on.

package import ByteStore

/// Where and why storage failed, without the types of the floor below.
public struct StorageEvidence: Hashable, Sendable {
  /// The file or the directory that it is about.
  public var file: String?
  /// Where in the file.
  public var offset: UInt64?
  /// What should have been there.
  public var expected: String?
  /// What was there.
  public var found: String?
  /// The call to the system that failed.
  public var operation: String?
  /// What the system said, an `errno`.
  public var code: Int32?
  /// The process that holds a locked store.
  public var holder: Int32?
  /// All of it in a sentence or two.
  public var message: String
  /// The document whose record cannot be decoded.
  var undecodable: DocumentPath?

  /// Makes evidence of a sentence alone.
  public init(message: String) { self.message = message }
}

/// What DocumentStore throws.
public enum DocumentStoreError: Error, Hashable, Sendable {
  /// The caller asked for what no document can be, or gave a path that is none. Nothing was written.
  case invalidArgument(String)
  /// A write needs a document that is not there. Nothing was written.
  case notFound(String)
  /// A write needs that there is no document, and there is one. Nothing was written.
  case alreadyExists(String)
  /// A write needs another version of a document than the stored one. Nothing was written.
  case failedPrecondition(String)
  /// Others changed what a transaction has read. Nothing was written; it may be tried again.
  case aborted(String)
  /// The change feed does not keep what was asked for any more.
  case feedTruncated(String)
  /// There is no store where one was expected, or the directory holds something else.
  case notAStore(StorageEvidence)
  /// No store can be there, and none was made: the directory is on a network file system, or it was to
  /// take a backup and is not empty, or lies in the store's own. Or a store is there, and cannot be written: a directory, a
  /// link or something else that is no file has a name that it needs for one. Nothing in it was touched.
  case unsuitableDirectory(StorageEvidence)
  /// Another opener holds the store.
  case locked(StorageEvidence)
  /// Written by a newer version.
  case newerFormat(StorageEvidence)
  /// Acknowledged data is damaged. Nothing was changed.
  case corrupted(StorageEvidence)
  /// The disk is full. Nothing was written, and reading goes on.
  case full(StorageEvidence)
  /// A system call failed. Nothing was written.
  case failed(StorageEvidence)
  /// A write or sync failed on the way: only the next open tells whether the commit survives.
  case outcomeUnknown(StorageEvidence)
  /// The store was closed, or the process forked.
  case closed(StorageEvidence)
}

extension DocumentStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalidArgument(let message), .notFound(let message), .alreadyExists(let message),
      .failedPrecondition(let message), .aborted(let message), .feedTruncated(let message):
      message
    case .notAStore(let evidence), .unsuitableDirectory(let evidence), .locked(let evidence),
      .newerFormat(let evidence), .corrupted(let evidence), .full(let evidence), .failed(let evidence),
      .outcomeUnknown(let evidence), .closed(let evidence):
      evidence.message
    }
  }
}

extension DocumentStoreError {
  /// The one translation from the floor below.
  package init(_ error: ByteStoreError) {
    var evidence = StorageEvidence(message: error.description)
    switch error {
    case .notAStore(let directory, let found):
      evidence.file = directory
      evidence.found = found
      self = .notAStore(evidence)
    case .noStore(let directory):
      evidence.file = directory
      self = .notAStore(evidence)
    case .locked(let directory, let holder):
      evidence.file = directory
      evidence.holder = holder
      self = .locked(evidence)
    case .newerFormat(let file, let found, let supported):
      evidence.file = file
      evidence.expected = "version \(supported) or earlier"
      evidence.found = "version \(found)"
      self = .newerFormat(evidence)
    case .foreignFile(let file, let expected, let found):
      evidence.file = file
      evidence.expected = expected.description
      evidence.found = found.description
      self = .corrupted(evidence)
    case .networkFileSystem(let directory, let fileSystem):
      evidence.file = directory
      evidence.found = fileSystem
      self = .unsuitableDirectory(evidence)
    case .nameTaken(let path, let found, let needed):
      evidence.file = path
      evidence.expected = needed.description
      evidence.found = found.description
      self = .unsuitableDirectory(evidence)
    case .invalidPath:
      self = .invalidArgument(evidence.message)
    case .incompleteBackup(let directory):
      evidence.file = directory
      self = .notAStore(evidence)
    case .notEmpty(let directory, let found):
      evidence.file = directory
      evidence.found = found
      self = .unsuitableDirectory(evidence)
    case .insideStore(let directory, _):
      evidence.file = directory
      self = .unsuitableDirectory(evidence)
    case .corrupted(let damage):
      evidence.file = damage.file
      evidence.offset = damage.offset
      evidence.expected = damage.expected
      evidence.found = damage.found
      self = .corrupted(evidence)
    case .tooLarge:
      self = .invalidArgument(evidence.message)
    case .full(let directory, _, _):
      evidence.file = directory
      self = .full(evidence)
    case .flushImpossible(_, _, let failure?):
      self = failure.meansFull ? .full(evidence.adding(failure)) : .failed(evidence.adding(failure))
    case .flushImpossible(let directory, _, nil):
      evidence.file = directory
      self = .corrupted(evidence)
    case .outcomeUnknown(let failure):
      self = .outcomeUnknown(evidence.adding(failure))
    case .foundationRefused:
      self = .failed(evidence)
    case .readOnly:
      self = .failedPrecondition(evidence.message)
    case .system(let failure):
      self = failure.meansFull ? .full(evidence.adding(failure)) : .failed(evidence.adding(failure))
    case .closed(let directory), .forked(let directory):
      evidence.file = directory
      self = .closed(evidence)
    }
  }

  /// A record that passed every checksum and yet is none: a fault of ours, or a made-up file.
  package init(_ error: RecordError, at path: DocumentPath, in store: String) {
    var evidence = StorageEvidence(
      message: "The record of document \(path) in \(store) is damaged at byte \(error.offset): "
        + "expected \(error.expected). Nothing was changed. To delete or to overwrite the document mends it, and "
        + "a salvage of the store sets its record aside.")
    evidence.file = store
    evidence.offset = UInt64(error.offset)
    evidence.expected = error.expected
    evidence.undecodable = path
    self = .corrupted(evidence)
  }

  /// The document whose record cannot be decoded; nil for every other error.
  var undecodable: DocumentPath? {
    if case .corrupted(let evidence) = self { evidence.undecodable } else { nil }
  }
}

extension StorageEvidence {
  fileprivate func adding(_ failure: SystemFailure) -> StorageEvidence {
    var evidence = self
    evidence.file = failure.path
    evidence.operation = failure.operation
    evidence.code = failure.code
    return evidence
  }
}
