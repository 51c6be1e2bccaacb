// One queue of writes: a user on a client, with the connection over which it sends them.
//
// A connection keeps the order of its messages. Copies of messages may stay in the network after their
// connection has ended, and arrive at any time later.

import DocumentStore
import OfflineSync

struct ModelWriter {
  /// A write without an answer.
  struct Pending {
    var id: WriteID
    var mutations: [Mutation]
    var guards: [DocumentPath: Precondition]
    /// The token of the run when the write was sent first.
    var registration: [UInt8]?
  }

  let queue: String
  let user: String?
  private(set) var run: RunID
  private(set) var lastBatch: Int64 = 0
  /// The token that the authority gave for each run.
  private var registrations: [RunID: [UInt8]] = [:]
  private(set) var isConnected = false
  private(set) var pending: [Pending] = []
  /// The number of pending writes that were sent over the current connection.
  private(set) var sentCount = 0
  /// The messages on their way to the authority, in order.
  private(set) var transit: [RemoteWrite] = []
  /// Copies of messages that the network still has.
  private(set) var strays: [RemoteWrite] = []

  init(queue: String, user: String?, run: RunID) {
    self.queue = queue
    self.user = user
    self.run = run
  }

  /// The document that counts the accepted writes of the queue.
  var counter: DocumentPath { DocumentPath(unchecked: ["counters", queue]) }

  /// The word by which a write shows that it was applied.
  static func word(_ id: WriteID) -> String { "\(id.run)-\(id.batch)" }

  // MARK: Writing

  /// Adds a write. It adds one to the counter, and its word to the list of words.
  mutating func add(_ mutations: [Mutation], guards: [DocumentPath: Precondition]) -> Pending {
    lastBatch += 1
    let id = WriteID(queue: queue, run: run, batch: BatchID(lastBatch))
    let one = FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(1)))
    let word = FieldTransform(
      StoredFieldPath(unchecked: ["words"]), .arrayUnion([.string(Self.word(id))]))
    let counted = Mutation.patch(counter, StoredMap(), mask: FieldMask([]), transforms: [one, word])
    let write = Pending(id: id, mutations: [counted] + mutations, guards: guards)
    pending.append(write)
    return write
  }

  // MARK: The connection

  /// The runs that the client names when it connects. The last one is the present run.
  var runs: [RunRegistration] {
    var known: Set<RunID> = [run]
    let earlier = pending.map(\.id.run).filter { known.insert($0).inserted }
    return (earlier + [run]).map { RunRegistration(queue: queue, run: $0, token: registrations[$0] ?? []) }
  }

  mutating func connect(_ tokens: [RunID: [UInt8]]) {
    isConnected = true
    registrations = tokens
  }

  /// Sends the next write that was not sent. Returns it, or nil if there is none.
  mutating func sendNext() -> RemoteWrite? {
    guard sentCount < pending.count else { return nil }
    let registration = pending[sentCount].registration ?? registrations[pending[sentCount].id.run] ?? []
    pending[sentCount].registration = registration
    let next = pending[sentCount]
    sentCount += 1
    var write = RemoteWrite(
      id: next.id, mutations: next.mutations, firstOpen: pending[0].id.batch, guards: next.guards)
    write.registration = registration
    transit.append(write)
    return write
  }

  /// Keeps a copy of the message in the network.
  mutating func duplicate(_ write: RemoteWrite) { strays.append(write) }

  mutating func takeArriving() -> RemoteWrite? { transit.isEmpty ? nil : transit.removeFirst() }

  mutating func takeStray(_ number: Int) -> RemoteWrite { strays.remove(at: number) }

  /// Ends the connection. Messages on their way are lost, or stay in the network.
  mutating func disconnect(keepsMessages: Bool) {
    if keepsMessages { strays += transit }
    transit = []
    sentCount = 0
    isConnected = false
  }

  /// The answer to the first pending write has arrived.
  mutating func takeAnswer(to id: WriteID) {
    guard pending.first?.id == id else { return }
    pending.removeFirst()
    sentCount = max(0, sentCount - 1)
  }

  /// Starts the process again. If it has lost its last writes, it uses their numbers again.
  mutating func restart(as run: RunID, losing count: Int) -> [Pending] {
    disconnect(keepsMessages: true)
    let lost = Array(pending.suffix(count))
    pending.removeLast(lost.count)
    lastBatch -= Int64(lost.count)
    self.run = run
    return lost
  }
}
