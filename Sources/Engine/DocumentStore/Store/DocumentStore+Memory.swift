// The memory budget of a store: where it comes from, and what is refused for its sake.
//
// The byte store divides the budget (MemoryPlan) and keeps account. The document store reserves memory for
// index builds and for the results of queries. An index that does not fit is not built, and its queries scan.
// A result that does not fit is an error.

package import ByteStore
import Libc

extension DocumentStore {
  /// The budget of a store with these options; nil if its memory has no common limit.
  static func memoryBudget(_ options: Options) throws(DocumentStoreError) -> MemoryBudget? {
    if let budget = options.testedBudget { return budget }
    let environment = unsafe getenv(MemoryBudget.variable).map { unsafe String(cString: $0) }
    return try memoryBudget(
      options.memoryBudget, environment: environment, groupBytes: SystemMemory.current().controlGroupBytes)
  }

  /// The setting precedes the environment. A budget never exceeds three quarters of the memory that the
  /// control group of the process may use.
  static func memoryBudget(
    _ setting: Int?, environment: String?, groupBytes: Int?
  ) throws(DocumentStoreError) -> MemoryBudget? {
    let least = MemoryBudget.bytesMin
    var budget: (bytes: Int, origin: MemoryBudget.Origin)?
    if let setting {
      guard setting >= least else {
        throw .invalidArgument(
          "The memory budget is \(setting) bytes. A database needs at least \(MemorySize.text(least)) "
            + "(\(least) bytes).")
      }
      budget = (setting, .settings)
    } else if let environment, !environment.isEmpty {
      guard let bytes = MemorySize.parse(environment), bytes >= least else {
        throw .invalidArgument(
          "The environment variable \(MemoryBudget.variable) is \"\(environment)\". Set it to a size of at least "
            + "\(MemorySize.text(least)), such as 192MiB, or remove it.")
      }
      budget = (bytes, .environment)
    }
    guard let groupBytes else {
      return budget.map { MemoryBudget(bytesMax: $0.bytes, origin: $0.origin) }
    }
    if let budget, budget.bytes <= groupBytes / 4 * 3 {
      return MemoryBudget(bytesMax: budget.bytes, origin: budget.origin)
    }
    let share = budget == nil ? groupBytes / 2 : groupBytes / 4 * 3
    return MemoryBudget(bytesMax: max(share, least), origin: .controlGroup)
  }

  /// The limit for the memory of the store; nil if its parts have limits of their own only.
  package var memoryBudget: MemoryBudget? { bytes.options.memoryBudget }

  /// The memory that the store uses. The call visits all index pages in memory.
  package var memoryUse: MemoryUse { bytes.memoryUse }

  /// The indexes that were not built because the memory budget did not allow them.
  package var refusedIndexes: [IndexDefinition] { indexes.refusedIndexes }

  /// A reservation for an operation; nil without a budget.
  func reservation() -> MemoryReservation? { memoryBudget.map { _ in MemoryReservation(bytes) } }

  /// Whether one of these indexes is known to be too large for the memory that is left.
  func isRefused(_ definitions: [IndexDefinition]) -> Bool {
    indexes.isRefused(
      definitions, now: clock.monotonicNanoseconds(), availableBytes: bytes.memoryBytesAvailable)
  }

  /// The memory for one run of an index build: a quarter of what is left, so that there is room for the
  /// index.
  var indexRunBytesMax: Int {
    memoryBudget == nil ? .max : max(bytes.memoryBytesAvailable / 4, Self.indexRunBytesMin)
  }

  private static let indexRunBytesMin = 4 << 20

  /// Keeps the build of an index within the memory budget. `fraction` is the part of the documents that were
  /// read.
  func bound(
    _ runs: inout OrderedIndexRuns, of index: ManagedIndex, within memory: MemoryReservation, fraction: Double
  ) throws(DocumentStoreError) {
    try runs.endRunIfFull()
    // While a flush runs, commits copy the pages of an index. One that a query has built is evicted before.
    let neededBytes = runs.bytes + (index.isAutomatic ? 0 : runs.treeBytes)
    guard !memory.set(neededBytes) else { return }
    // The index with all keys, and one run.
    let indexBytes = Double(index.isAutomatic ? runs.keyBytes : 2 * runs.keyBytes) / fraction
    throw indexTooLarge(
      index.definition, neededBytes: Int(indexBytes) + indexRunBytesMax, spareText: memory.spareText)
  }

  /// Notes that the memory budget does not allow an index, and returns the error. `neededBytes` is an
  /// estimate from the documents that were read.
  private func indexTooLarge(
    _ definition: IndexDefinition, neededBytes: Int, spareText: String
  ) -> DocumentStoreError {
    indexes.noteRefusal(of: definition, neededBytes: neededBytes, now: clock.monotonicNanoseconds())
    return .memoryExceeded(
      "The index \(definition) needs about \(MemorySize.text(neededBytes)) while it is built, and \(spareText). "
        + "Queries run without it, and read more documents. Raise the memory budget, or index fewer documents."
    )
  }
}
