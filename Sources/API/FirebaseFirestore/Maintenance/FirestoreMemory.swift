// The memory of a database, for monitoring.

import ByteStore
import DocumentStore

/// The memory that a database uses at one time, by what it holds.
public struct FirestoreMemory: Hashable, Sendable, Codable {
  /// A limit for the memory of a database.
  public struct Budget: Hashable, Sendable, Codable {
    /// Where a limit comes from.
    public enum Origin: String, Hashable, Sendable, Codable {
      /// `FirestoreSettings.memoryBudget`.
      case settings
      /// The environment variable `DUGOUT_MEMORY_BUDGET`.
      case environment
      /// The memory limit of the control group that the process runs in, as in a container.
      case controlGroup
    }

    /// The limit in bytes.
    public let byteCount: Int
    /// Where the limit comes from.
    public let origin: Origin
  }

  /// The limit; nil if the parts have limits of their own only.
  public let budget: Budget?
  /// The pages of the key directory in memory. They cannot be evicted, and take 19 to 25 bytes for each
  /// record once a flush has loaded them all.
  public let keyDirectoryByteCount: Int
  /// The pages in memory of the index of names and of the created indexes. They cannot be evicted.
  public let indexByteCount: Int
  /// The pages in memory of the indexes that queries have built. They are evicted if memory is needed, the
  /// least recently used indexes first.
  public let automaticIndexByteCount: Int
  /// The writes that no flush has moved out of the write-ahead log yet.
  public let memtableByteCount: Int
  /// The cache of pages.
  public let cacheByteCount: Int
  /// The memory of running operations: results, sorts and index builds. Counted only with a budget.
  public let operationByteCount: Int
  /// The number of operations that were refused because the budget did not allow them.
  public let refusalCount: UInt64
  /// The indexes that were not built because the budget did not allow them.
  public let refusedIndexes: [String]

  /// The memory of all parts together. The code of the program and what the app itself holds, such as the
  /// results of listeners, are not included.
  public var byteCount: Int {
    fixedByteCount + automaticIndexByteCount + memtableByteCount + cacheByteCount + operationByteCount
  }

  /// The memory that cannot be evicted. If it is more than a third of the budget, the database needs a larger
  /// one, because writers copy pages while a flush runs.
  public var fixedByteCount: Int { keyDirectoryByteCount + indexByteCount }
}

extension FirestoreMemory {
  init(of store: DocumentStore) {
    let use = store.memoryUse
    self.init(
      budget: store.memoryBudget.map { Budget(byteCount: $0.bytesMax, origin: Budget.Origin($0.origin)) },
      keyDirectoryByteCount: use.keyDirectory, indexByteCount: use.layer.fixedBytes,
      automaticIndexByteCount: use.layer.evictableBytes, memtableByteCount: use.memtable,
      cacheByteCount: use.cache, operationByteCount: use.operations,
      refusalCount: store.memoryBudget?.refusalCount ?? 0,
      refusedIndexes: store.refusedIndexes.map(\.description).sorted())
  }
}

extension FirestoreMemory.Budget.Origin {
  init(_ origin: MemoryBudget.Origin) {
    switch origin {
    case .settings: self = .settings
    case .environment: self = .environment
    case .controlGroup: self = .controlGroup
    }
  }
}
