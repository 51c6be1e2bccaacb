// Transfers of files together.
//
//   1. at the commit, all of them begin at once
//   2. each is attempted, whatever happens to the others; the first error is the error of the batch
//   3. when the time is up, those of its transfers that are under way are cancelled, and the batch can be committed again

private import FirebaseCore
import FirebaseStorage
private import Foundation
import LayerKit

/// What goes wrong with a batch of files besides the errors of the storage.
public enum StorageBatchError: Error, @unchecked Sendable {
  // Unchecked, because it carries the file, which belongs to whoever saved it.
  /// A file has no data to upload.
  case invalidData(File)
  /// It took too long.
  case timeout

  /// What happened, for people.
  public var description: String {
    switch self {
    case .invalidData(let file): "There is no data to save at \(file.path)."
    case .timeout: "The transfers of a batch took too long."
    }
  }
}

/// Collects files to save and to delete. Not atomic: a storage of files has no transactions.
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

  /// How long all of it may take, in seconds.
  public var timeout: Int = 600
  private var operations: [Operation] = []
  private var isCommitted = false

  /// Makes a batch with nothing in it.
  public init() {}

  // MARK: Collecting

  /// Uploads the file with the batch.
  @discardableResult
  public func save(_ file: File) -> Self { add(.save(file)) }

  /// Uploads the files with the batch.
  @discardableResult
  public func save(_ files: [File]) -> Self {
    for file in files { save(file) }
    return self
  }

  /// Deletes the file with the batch.
  @discardableResult
  public func delete(_ file: File) -> Self { add(.delete(file)) }

  /// Deletes the files with the batch.
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

  /// Begins all transfers, and returns the files in the order in which they were added: their `uploadTask` tells how
  /// far it is. `completion` runs on the callback queue of the storage when the last has ended, or when the time is up;
  /// at once if there are none.
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
        // Told as everything else is: not before the caller knows what it has begun.
        let error = StorageBatchError.invalidData(file)
        queue.async { transfers.end(index, error) }
      case .save(let file):
        let task = file.save { _, error in transfers.end(index, error) }
        if let task { transfers.begin(task) }
      case .delete(let file): file.delete { error in transfers.end(index, error) }
      }
    }
    transfers.expire(after: timeout, on: queue, StorageBatchError.timeout)
    return operations.map(\.file)
  }

  /// Returns when all transfers have ended.
  @discardableResult
  nonisolated(nonsending) public func commit() async throws -> [File] {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      _ = commit { error in done.resume(with: error.map(Result.failure) ?? .success(())) }
    }
    return operations.map(\.file)
  }
}
