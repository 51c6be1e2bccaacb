// The pins that a client must have, according to the answers to its calls.

import DocumentStore
import OfflineSync

/// For each query that a user has pinned or unpinned, the states in which its pin may be. There are several
/// after a call without an answer, until the pins are read again.
struct PinLedger {
  private struct Key: Hashable {
    let user: String?
    /// The text of the query's target.
    let text: String
  }

  /// The budgets with which the query may be pinned; nil stands for no pin.
  typealias States = Set<PinLimits?>

  private var states: [Key: States] = [:]

  /// The users who may have pins.
  var users: Set<String?> { Set(states.filter { $0.value != [nil] }.keys.map(\.user)) }

  /// Notes that a call begins to set the state of a pin. Returns the states before.
  mutating func begin(_ state: PinLimits?, of query: StructuredQuery, _ user: String?) -> States {
    let key = Key(user: user, text: query.targetID)
    let before = states[key, default: [nil]]
    states[key] = before.union([state])
    return before
  }

  /// Notes that a call has ended, after which the pin is in one of these states.
  mutating func end(_ possible: States, of query: StructuredQuery, _ user: String?) {
    states[Key(user: user, text: query.targetID)] = possible
  }

  /// Takes the pins of a user as they were read. Returns a description of a pin that cannot be as it is.
  mutating func take(_ pins: [StoredPin], of user: String?) -> String? {
    let budgets = Dictionary(pins.map { ($0.query.targetID, $0.budget) }) { first, _ in first }
    if budgets.count < pins.count { return "a query is pinned twice" }
    for text in budgets.keys where states[Key(user: user, text: text)] == nil {
      return "\(text) was never pinned by \(user ?? "nobody")"
    }
    for (key, possible) in states where key.user == user {
      guard possible.contains(budgets[key.text]) else {
        return "\(key.text) is pinned with \(String(describing: budgets[key.text])), and not as \(possible)"
      }
      states[key] = [budgets[key.text]]
    }
    return nil
  }
}
