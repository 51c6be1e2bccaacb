// All errors of the document store, with the evidence that higher layers pass on.

package import ByteStore

/// Where and why a storage operation failed, without exposing the byte store's types.
public struct StorageEvidence: Hashable, Sendable {
  /// The file or directory concerned.
  public var file: String?
  /// The offset in the file.
  public var offset: UInt64?
  /// The expected content.
  public var expected: String?
  /// The content that was found.
  public var found: String?
  /// The system call that failed.
  public var operation: String?
  /// The system call's `errno`.
  public var code: Int32?
  /// The process that holds the lock of the store.
  public var holder: Int32?
  /// A description in one or two sentences.
  public var message: String
  /// The document whose record cannot be decoded.
  var undecodable: DocumentPath?

  /// Creates evidence that consists of a message only.
  public init(message: String) { self.message = message }
}

/// The errors that `DocumentStore` throws.
public enum DocumentStoreError: Error, Hashable, Sendable {
  /// The document or the path is invalid. Nothing was written.
  case invalidArgument(String)
  /// The write requires an existing document, but the document does not exist. Nothing was written.
  case notFound(String)
  /// The write requires that the document does not exist, but the document exists. Nothing was written.
  case alreadyExists(String)
  /// The write requires another version of the document than the stored one. Nothing was written.
  case failedPrecondition(String)
  /// A concurrent commit changed a document or a query result that the transaction has read. Nothing was
  /// written; the transaction can be retried.
  case aborted(String)
  /// The change feed no longer has the requested commits.
  case feedTruncated(String)
  /// The directory has no store where one was expected, or it holds other files.
  case notAStore(StorageEvidence)
  /// The directory cannot hold a store, or the store cannot be written. Nothing in the directory was touched.
  ///
  /// A store cannot be created on a network file system. A backup is refused if its target is not empty or
  /// lies inside the store. A store cannot be written if a directory, a link or another non-file has the name
  /// of a file that the store needs.
  case unsuitableDirectory(StorageEvidence)
  /// The store is already open, in this process or in another one.
  case locked(StorageEvidence)
  /// The store was written by a newer version of Dugout.
  case newerFormat(StorageEvidence)
  /// Acknowledged data is damaged. Nothing was changed.
  case corrupted(StorageEvidence)
  /// The memory budget does not allow the operation. Nothing was written.
  case memoryExceeded(String)
  /// The disk is full. Nothing was written, and reads still work.
  case full(StorageEvidence)
  /// A system call failed. Nothing was written.
  case failed(StorageEvidence)
  /// A write or sync failed midway. Whether the commit survives is only known after the next open.
  case outcomeUnknown(StorageEvidence)
  /// The store was closed, or the process was forked.
  case closed(StorageEvidence)
}

extension DocumentStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalidArgument(let message), .notFound(let message), .alreadyExists(let message),
      .failedPrecondition(let message), .aborted(let message), .feedTruncated(let message),
      .memoryExceeded(let message):
      message
    case .notAStore(let evidence), .unsuitableDirectory(let evidence), .locked(let evidence),
      .newerFormat(let evidence), .corrupted(let evidence), .full(let evidence), .failed(let evidence),
      .outcomeUnknown(let evidence), .closed(let evidence):
      evidence.message
    }
  }
}

extension DocumentStoreError {
  /// Translates an error of the byte store.
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
      self = failure.isOutOfSpace ? .full(evidence.adding(failure)) : .failed(evidence.adding(failure))
    case .flushImpossible(let directory, _, nil):
      evidence.file = directory
      self = .corrupted(evidence)
    case .outcomeUnknown(let failure):
      self = .outcomeUnknown(evidence.adding(failure))
    case .dependencyRefused:
      self = .failed(evidence)
    case .readOnly, .replaced:
      self = .failedPrecondition(evidence.message)
    case .system(let failure):
      self = failure.isOutOfSpace ? .full(evidence.adding(failure)) : .failed(evidence.adding(failure))
    case .closed(let directory), .forked(let directory):
      evidence.file = directory
      self = .closed(evidence)
    }
  }

  /// Creates the error for a record that passed all checksums but cannot be decoded, because of a bug or a
  /// forged file.
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

  /// Whether the store could not write, as opposed to a write that is invalid or in conflict.
  var isFailedWrite: Bool {
    switch self {
    case .full, .failed, .outcomeUnknown: true
    default: false
    }
  }

  /// Whether a read that failed with this error may succeed later: a system call failed, and no bytes are
  /// known to be wrong.
  var isTransient: Bool {
    switch self {
    case .full, .failed: true
    default: false
    }
  }

  /// The document whose record cannot be decoded; nil for all other errors.
  var undecodable: DocumentPath? {
    if case .corrupted(let evidence) = self { evidence.undecodable } else { nil }
  }
}

/// Runs `body` and translates an error of the byte store to an error of the document store.
@inline(__always)
package func translatingErrors<Result: ~Copyable>(
  _ body: () throws(ByteStoreError) -> Result
) throws(DocumentStoreError) -> Result {
  do throws(ByteStoreError) { return try body() } catch { throw DocumentStoreError(error) }
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
