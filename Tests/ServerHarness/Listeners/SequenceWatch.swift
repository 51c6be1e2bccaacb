// A listener of numbered changes: each commit replaces one document of a collection, and has the next number.
//
//   last       the number of the last change in a snapshot; kept with the token of that snapshot
//   received   the numbers since then; a new stream begins without them
//
// With each snapshot, `received` is last+1, last+2, … without a gap. Nothing up to `last` comes again.

#if Server
import DocumentStore
package import FirestoreWire
package import Harness
package import OfflineSync

/// The knowledge of one listener. Each of its streams is resumed with the token of the one before it.
package struct SequenceWatch {
  private enum Phase { case requested, added, current }

  /// The message of a stream means this.
  package enum Event: Equatable {
    case nothing
    /// A change that was sent at this time, in nanoseconds, while the listener was current.
    case change(sentAt: Int64)
    /// A consistent state.
    case snapshot
  }

  package static let target = TargetID(2)

  private let documents: Int
  private var phase = Phase.requested
  private var received: Set<Int> = []
  private var newToken: [UInt8] = []
  package private(set) var last = 0
  package private(set) var token: [UInt8] = []

  /// A collection has this number of documents.
  package init(documents: Int) { self.documents = documents }

  /// Begins a stream, whose first request has `token`.
  package mutating func begin() { (phase, received, newToken) = (.requested, [], []) }

  package mutating func take(_ response: Wire.ListenResponse) throws(Violation) -> Event {
    switch response.responseType {
    case nil: return .nothing
    case .targetChange(let change): return try take(change)
    case .documentChange(let change): return try take(change)
    case .filter(let filter):
      guard filter.count == documents else {
        throw Violation("a filter counts \(filter.count) of \(documents) documents")
      }
      return .nothing
    case .documentDelete(let change): throw Violation("\(change.document) is deleted")
    case .documentRemove(let change): throw Violation("\(change.document) is removed")
    }
  }

  private mutating func take(_ change: Wire.TargetChange) throws(Violation) -> Event {
    if !change.resumeToken.isEmpty { newToken = change.resumeToken }
    switch (change.targetChangeType, phase) {
    case (.add, .requested): phase = .added
    case (.current, .added): phase = .current
    case (.noChange, .current) where change.targetIds.isEmpty && change.readTime != nil:
      try show()
      return .snapshot
    case (.noChange, _): break
    default:
      throw Violation("the target is \(phase), and \(change.targetChangeType) comes: \(change.cause as Any)")
    }
    return .nothing
  }

  private mutating func take(_ change: Wire.DocumentChange) throws(Violation) -> Event {
    guard let document = change.document, case .integer(let wide)? = document.fields["n"],
      case .integer(let time)? = document.fields["at"]
    else { throw Violation("a change has no numbers") }
    let number = Int(wide)
    guard phase != .requested, change.targetIds == [Self.target.value] else {
      throw Violation("change \(number) comes for \(change.targetIds), and the target is \(phase)")
    }
    guard document.name.hasSuffix("/\(number % documents)") else {
      throw Violation("change \(number) is in \(document.name)")
    }
    guard number > last, received.insert(number).inserted else {
      throw Violation("change \(number) comes twice, after \(last)")
    }
    return phase == .current ? .change(sentAt: time) : .nothing
  }

  private mutating func show() throws(Violation) {
    defer { (token, received) = (newToken.isEmpty ? token : newToken, []) }
    guard let highest = received.max() else {
      guard last > 0 else { throw Violation("the first snapshot has no documents") }
      return
    }
    // The first snapshot has all documents, which are the last changes.
    let first = last == 0 ? highest - documents : last
    guard received.count == highest - first else {
      let missing = (first + 1...highest).filter { !received.contains($0) }
      throw Violation("changes \(missing.prefix(5)) are lost between \(first) and \(highest)")
    }
    last = highest
  }
}
#endif
