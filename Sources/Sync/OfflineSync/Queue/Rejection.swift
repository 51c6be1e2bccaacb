// A write that the remote has rejected, and its record in the store.
//
//   b: the first writes of the batch, as a batch (BatchCodec)
//   c: the code of the error
//   e: the text of the error, at most `messageBytesMax` bytes of it
//   n: the number of writes of the batch

package import DocumentStore

/// A report of a rejected write, which an earlier run of the process may have issued.
package struct Rejection: Sendable, Equatable {
  private static let messageBytesMax = 4096

  /// The user who issued the write.
  package let user: String?
  package let id: BatchID
  /// The documents of `mutations`.
  package var paths: [DocumentPath] { batch.paths }
  /// The local time of creation.
  package var time: StoredTimestamp { batch.time }
  package let error: RemoteError
  /// The writes in order. Later writes of a large batch are missing.
  package var mutations: [PendingMutation] { batch.mutations }
  /// The number of writes of the batch.
  package let mutationCount: Int
  private let batch: PendingBatch

  /// Creates the report of a batch. Leaves out the writes from the first that exceeds the size.
  init(_ batch: PendingBatch, of user: String?, error: RemoteError, bytesMax: Int) {
    self.user = user
    id = batch.id
    let message = String(decoding: error.message.utf8.prefix(Self.messageBytesMax), as: UTF8.self)
    self.error = RemoteError(error.code, message)
    mutationCount = batch.mutations.count
    var bytes = 0
    let mutations = batch.mutations.prefix { mutation in
      bytes += mutation.mutation.commitBytes
      return bytes <= bytesMax
    }
    self.batch = PendingBatch(
      id: batch.id, run: batch.run, time: batch.time, base: [], mutations: Array(mutations))
  }

  // MARK: The record

  /// Returns nil if the fields are not those of a record.
  init?(_ fields: StoredMap, of user: String?) {
    guard case .bytes(let bytes)? = fields["b"], let batch = BatchCodec.decode(bytes),
      case .integer(let code)? = fields["c"], case .string(let message)? = fields["e"],
      case .integer(let count)? = fields["n"], let count = Int(exactly: count),
      count >= batch.mutations.count
    else { return nil }
    self.user = user
    id = batch.id
    // A later release may know more codes.
    let known = Int(exactly: code).flatMap { RemoteError.Code(rawValue: $0) }
    error = RemoteError(known ?? .unknown, message)
    mutationCount = count
    self.batch = batch
  }

  var fields: [StoredMap.Entry] {
    [
      ("b", .bytes(BatchCodec.encode(batch))), ("c", .integer(Int64(error.code.rawValue))),
      ("e", .string(error.message)), ("n", .integer(Int64(mutationCount))),
    ]
  }
}

/// The rejections that a client keeps for each user until the app has seen them. The oldest are dropped, but
/// the newest is always kept.
package struct RejectionLimits: Sendable {
  package var countMax = 1000
  /// The maximum size of all records of a user.
  package var bytesMax = 4 << 20
  /// The maximum size of the writes in a record.
  package var batchBytesMax = 1 << 20

  package init() {}
}

/// The kept rejections of one user, in the order of the rejections.
///
/// Invariant: the ids ascend, because the remote answers batches in order.
struct KeptRejections: Equatable, Sendable {
  private(set) var items: [(id: BatchID, bytes: Int)] = []
  private(set) var bytes = 0

  var isEmpty: Bool { items.isEmpty }

  mutating func append(_ id: BatchID, bytes: Int) {
    items.append((id, bytes))
    self.bytes += bytes
  }

  mutating func remove(_ id: BatchID) -> Bool {
    guard let place = items.firstIndex(where: { $0.id == id }) else { return false }
    bytes -= items.remove(at: place).bytes
    return true
  }

  /// Removes the oldest rejections that exceed the limits, and returns them.
  mutating func removeExcess(_ limits: RejectionLimits) -> [BatchID] {
    var count = 0
    while items.count - count > 1, items.count - count > limits.countMax || bytes > limits.bytesMax {
      bytes -= items[count].bytes
      count += 1
    }
    defer { items.removeFirst(count) }
    return items.prefix(count).map(\.id)
  }

  static func == (left: Self, right: Self) -> Bool {
    left.items.elementsEqual(right.items) { $0.id == $1.id && $0.bytes == $1.bytes }
  }
}
