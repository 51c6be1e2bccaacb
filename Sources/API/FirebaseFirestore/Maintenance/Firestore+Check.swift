// The check of a database that is in use.

private import ByteStore
private import DocumentStore
private import OfflineSync

/// The progress of ``Firestore/check(progress:)``.
public struct FirestoreCheckProgress: Hashable, Sendable {
  /// A step of a check.
  public enum Step: Hashable, Sendable {
    /// Reads all files of the database.
    case files
    /// Compares the documents with the indexes.
    case indexes
    /// Reads every document by its name. This step replaces `indexes` if damage was found.
    case documents
  }

  /// The step that is running.
  public let step: Step
  /// The part of the step that is done, from 0 to 1. The step `files` may start again at 0 once.
  public let fractionCompleted: Double

  fileprivate init(_ progress: OnlineCheckProgress) {
    step =
      switch progress.step {
      case .files: .files
      case .indexes: .indexes
      case .documents: .documents
      }
    fractionCompleted =
      progress.total == 0 ? 1 : min(1, Double(progress.done) / Double(progress.total))
  }
}

/// The result of ``Firestore/check(progress:)``.
public struct FirestoreCheckReport: Hashable, Sendable {
  /// The data that a finding concerns.
  public enum Loss: Hashable, Sendable {
    /// Documents. `lostDocuments` lists those that cannot be read.
    case documents
    /// Recent commits, which the open database still has in memory. A backup contains them.
    case recentWrites
    /// The contents of files that were stored with FirebaseStorage.
    case contents
    /// The whole database, which the next process cannot open. This process can still back it up.
    case database
    /// Nothing: an index or a checkpoint, which can be rebuilt from the documents.
    case nothing
  }

  /// A place that is not as it was written, or an index that disagrees with a document.
  public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The data that is lost.
    public let loss: Loss
    /// The path of the damaged file; nil if an index disagrees with a document.
    public let file: String?
    /// The position in the file, in bytes.
    public let offset: UInt64?
    /// The finding as a sentence, for a log.
    public let description: String

    fileprivate init(_ finding: OnlineCheckReport.Finding) {
      loss =
        switch finding.loss {
        case .documents: .documents
        case .recentWrites: .recentWrites
        case .contents: .contents
        case .database: .database
        case .nothing: .nothing
        }
      file = finding.file
      offset = finding.offset
      description = finding.message
    }
  }

  /// The findings, at most 1000 about files and 100 about indexes. Empty for a healthy database.
  public let findings: [Finding]
  /// The number of further findings.
  public let omittedFindingCount: Int
  /// The paths of the documents that cannot be read, at most 1000.
  public let lostDocuments: [String]
  /// The number of further documents that cannot be read.
  public let omittedLostDocumentCount: Int
  /// The number of documents that were compared with the indexes; nil if damage prevented the comparison.
  public let documentCount: Int?
  /// The number of files that were read.
  public let fileCount: Int
  /// The number of files that were skipped, because the database replaced them during the check.
  public let skippedFileCount: Int
  /// The number of bytes that were read.
  public let byteCount: UInt64

  /// Whether nothing was found.
  public var isHealthy: Bool { findings.isEmpty && omittedFindingCount == 0 }

  fileprivate init(_ report: OnlineCheckReport) {
    findings = report.findings.map(Finding.init)
    omittedFindingCount = report.findingsOmitted
    lostDocuments = report.lostDocuments
    omittedLostDocumentCount = report.lostDocumentsOmitted
    documentCount = report.documents
    fileCount = report.files
    skippedFileCount = report.filesSkipped
    byteCount = report.bytesVerified
  }
}

extension Firestore {
  /// Verifies the database while it is in use. Reads every file, decodes every document, and compares the
  /// documents with the indexes. Verifies the contents of files that were stored with FirebaseStorage.
  ///
  /// Reads and writes continue. The check sees the database as of a snapshot, and changes nothing. With a
  /// remote, it verifies the cache. For a read-only database, it verifies the files that the writer uses now,
  /// which may be newer than the state that is shown. `progress` is called on a background thread from time
  /// to time.
  ///
  /// Damage does not throw; the report lists it. If the task is cancelled, throws `CancellationError`. Throws
  /// `failedPrecondition` if the instance is terminated, and `internal` if the system fails
  /// to open a file.
  nonisolated(nonsending) public func check(
    progress: @escaping @Sendable (FirestoreCheckProgress) -> Void = { _ in }
  ) async throws -> FirestoreCheckReport {
    let client = client()
    let isCancelled = Locked(false)
    return try await withTaskCancellationHandler {
      do {
        return try await client.performedAfterWrites { view throws(DocumentStoreError) in
          FirestoreCheckReport(
            try view.store.checkOnline(
              progress: { progress(FirestoreCheckProgress($0)) },
              isCancelled: { isCancelled.withLock { $0 } }))
        }
      } catch {
        // The engine reports a cancelled check as closed.
        try Task.checkCancellation()
        throw error
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }
}
