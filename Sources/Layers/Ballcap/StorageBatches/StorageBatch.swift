// Batches of file transfers with one completion. A failed transfer does not stop the other transfers. A
// timeout cancels the batch's uploads that are still running. After a timeout, the batch can be committed
// again.

private import FirebaseCore
import FirebaseStorage
private import Foundation
import LayerKit

/// Errors of a batch of files, besides those of the storage.
public enum StorageBatchError: Error, @unchecked Sendable {
  // Unchecked, because the error carries the file, which belongs to the caller of the save.
  /// A file has no data to upload.
  case invalidData(File)
  /// The transfers timed out.
  case timeout

  /// A description for debugging.
  public var description: String {
    switch self {
    case .invalidData(let file): "There is no data to save at \(file.path)."
    case .timeout: "The transfers of a batch took too long."
    }
  }
}

/// Collects files to save and to delete. A batch is not atomic, because a storage has no transactions.
///
/// ```swift
/// let files = StorageBatch().save(avatar).save(cover).delete(old).commit { error in print(error as Any) }
/// ```
public final class StorageBatch {
  private enum Operation {
    case save(File)
    case delete(File)

    var file: File {
      switch self {
      case .save(let file), .delete(let file): file
      }
    }
  }

  /// The timeout in seconds for all transfers together.
  public var timeout: Int = 600
  private var operations: [Operation] = []
  private var isCommitted = false

  /// Creates an empty batch.
  public init() {}

  // MARK: Collecting

  /// Adds the upload of a file.
  @discardableResult
  public func save(_ file: File) -> Self { add(.save(file)) }

  /// Adds the uploads of files.
  @discardableResult
  public func save(_ files: [File]) -> Self {
    for file in files { save(file) }
    return self
  }

  /// Adds the deletion of a file.
  @discardableResult
  public func delete(_ file: File) -> Self { add(.delete(file)) }

  /// Adds the deletions of files.
  @discardableResult
  public func delete(_ files: [File]) -> Self {
    for file in files { delete(file) }
    return self
  }

  private func add(_ operation: Operation) -> Self {
    checkIsOpen()
    operations.append(operation)
    return self
  }

  private func checkIsOpen() {
    guard isCommitted else { return }
    ProgrammerError.trap("A storage batch can no longer be used after commit has been called.")
  }

  // MARK: Committing

  /// Starts all transfers and returns the files in the order in which they were added. The `uploadTask` of
  /// each file has the progress. `completion` runs on the callback queue of the storage when the last
  /// transfer has ended or the timeout has passed. It receives the first error in the order of the files. If
  /// the batch has no transfers, `completion` runs at once.
  @discardableResult
  public func commit(_ completion: (((any Error)?) -> Void)? = nil) -> [File] {
    checkIsOpen()
    guard let first = operations.first else {
      completion?(nil)
      return []
    }
    isCommitted = true
    let queue = first.file.storageReference.storage.callbackQueue
    let transfers = TransferGroup(count: operations.count) { [self] error in
      if case StorageBatchError.timeout? = error as? StorageBatchError { isCommitted = false }
      completion?(error)
    }
    for (index, operation) in operations.enumerated() {
      switch operation {
      case .save(let file) where file.data == nil && file.originalURL == nil:
        // Like every other result, this error is delivered after `commit` has returned.
        let error = StorageBatchError.invalidData(file)
        queue.async { transfers.end(index, error) }
      case .save(let file):
        let task = file.save { _, error in transfers.end(index, error) }
        if let task { transfers.begin(task) }
      case .delete(let file): file.delete { error in transfers.end(index, error) }
      }
    }
    transfers.expire(after: timeout, on: queue, error: StorageBatchError.timeout)
    return operations.map(\.file)
  }

  /// Starts all transfers and returns the files once all transfers have ended. Throws the first error in the
  /// order of the files. If the timeout passes, throws `timeout`.
  @discardableResult
  nonisolated(nonsending) public func commit() async throws -> [File] {
    try await awaitCompletion { done in commit { done((), $0) } }
    return operations.map(\.file)
  }
}
