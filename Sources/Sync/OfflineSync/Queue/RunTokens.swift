// The tokens that a remote gave for one run of a queue.
//
// A remote that has forgotten a run registers it again, with another token. It then cannot know whether the
// run's earlier batches were accepted. A batch that may have been sent therefore keeps the token under which
// it was sent first. Only batches that were never sent get the new one.
//
// Invariant: the tokens and their last batches ascend in the order of registration.

struct RunTokens: Equatable, Sendable {
  struct Issued: Equatable, Sendable {
    let token: [UInt8]
    /// The last batch that may have been sent under this token or an earlier one.
    var through: BatchID
  }

  private(set) var issued: [Issued] = []

  init() {}

  /// Creates tokens from the stored ones. Returns nil if they are not in order.
  init?(_ issued: [Issued]) {
    guard zip(issued, issued.dropFirst()).allSatisfy({ $0.through <= $1.through }) else { return nil }
    self.issued = issued
  }

  /// The token with which the run is registered.
  var current: [UInt8] { issued.last?.token ?? [] }

  /// Returns the token under which a batch was or will be sent first.
  func token(of batch: BatchID) -> [UInt8] { issued.first { batch <= $0.through }?.token ?? current }

  func mayHaveSent(_ batch: BatchID) -> Bool { issued.last.map { batch <= $0.through } ?? false }

  /// Notes a registration, under which the batches up to `last` may be sent. `first` is the first batch
  /// without an answer. Tokens of answered batches are dropped.
  mutating func register(_ token: [UInt8], first: BatchID?, through last: BatchID) {
    if current == token {
      send(last)
    } else {
      issued.append(Issued(token: token, through: max(last, issued.last?.through ?? last)))
    }
    guard let newest = issued.last, let first else { return issued = issued.suffix(1) }
    // A token whose batches were all sent first under earlier tokens is never sent again.
    var through: BatchID?
    issued =
      issued.dropLast().filter { earlier in
        defer { through = earlier.through }
        return first <= earlier.through && through.map { $0 < earlier.through } ?? true
      } + [newest]
  }

  /// Notes that the batch may be sent from now on.
  mutating func send(_ batch: BatchID) {
    guard let place = issued.indices.last else { return }
    issued[place].through = max(issued[place].through, batch)
  }
}
