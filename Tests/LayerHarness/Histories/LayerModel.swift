// The steps of a history, and the state that they must produce.
//
// Each client writes its own people, notes and entries, and shares only counts with other clients. So the
// final state does not depend on the interleaving, except for a few links that all clients create and remove.

package import Harness

/// A single operation of an app.
package enum LayerStep: Sendable {
  case like(room: Int)
  /// Links a person to the room as a guest, and saves the person together with the link.
  case invite(room: Int, person: String, name: String)
  case dismiss(room: Int, person: String, hard: Bool)
  /// Creates a link and increments the count of links, in one transaction.
  case join(room: Int, person: String)
  case leave(room: Int, person: String)
  case note(room: Int, id: String, text: String)
  case erase(room: Int, id: String)
  case shelve(room: Int, id: String, text: String)
  case unshelve(room: Int, id: String)
  case tag(room: Int, tag: String)

  package var isTransaction: Bool {
    switch self {
    case .join, .leave: true
    default: false
    }
  }

  package var name: String { String(describing: self).prefix { $0 != "(" }.description }

  package static let names = [
    "like", "invite", "dismiss", "join", "leave", "note", "erase", "shelve", "unshelve", "tag",
  ]

  package static func random(_ random: inout SeededRandom, client: Int) -> LayerStep {
    let room = random.below(LayerModel.roomCount)
    let own = "c\(client)-\(random.below(4))"
    let text = "\(random.below(1000))"
    let anybody = random.oneIn(2) ? own : "all-\(random.below(3))"
    switch random.below(12) {
    case 0, 1: return .like(room: room)
    case 2, 3: return .invite(room: room, person: own, name: text)
    case 4: return .dismiss(room: room, person: own, hard: random.oneIn(3))
    case 5, 6: return .join(room: room, person: anybody)
    case 7: return .leave(room: room, person: anybody)
    case 8: return .note(room: room, id: own, text: text)
    case 9: return .erase(room: room, id: own)
    case 10:
      return random.oneIn(3) ? .unshelve(room: room, id: own) : .shelve(room: room, id: own, text: text)
    default: return .tag(room: client % LayerModel.roomCount, tag: text)
    }
  }
}

/// The expected state of the database.
package struct LayerModel: Equatable {
  package static let roomCount = 3

  package struct Room: Equatable {
    var likes = 0
    var guests: Set<String> = []
    var members: Set<String> = []
    var notes: [String: String] = [:]
    var shelf: [String: String] = [:]
    var tags: Set<String> = []
  }

  package var rooms = Array(repeating: Room(), count: roomCount)
  /// The names of the invited people, by id.
  var people: [String: String] = [:]

  package init() {}

  package mutating func apply(_ step: LayerStep) {
    switch step {
    case .like(let room): rooms[room].likes += 1
    case .invite(let room, let person, let name):
      rooms[room].guests.insert(person)
      people[person] = name
    case .dismiss(let room, let person, let hard):
      rooms[room].guests.remove(person)
      if hard { people[person] = nil }
    case .join(let room, let person): rooms[room].members.insert(person)
    case .leave(let room, let person): rooms[room].members.remove(person)
    case .note(let room, let id, let text): rooms[room].notes[id] = text
    case .erase(let room, let id): rooms[room].notes[id] = nil
    case .shelve(let room, let id, let text): rooms[room].shelf[id] = text
    case .unshelve(let room, let id): rooms[room].shelf[id] = nil
    case .tag(let room, let tag): rooms[room].tags = [tag]
    }
  }

  /// Copies from `found` whether each uncertain link exists. A link is uncertain if clients created and
  /// removed it in an unknown order, or if a step with an unknown outcome created or removed it. Returns the
  /// number of uncertain links.
  mutating func resolveUncertainLinks(
    _ steps: [LayerStep], _ uncertainSteps: [LayerStep], as found: LayerModel
  ) -> Int {
    var (joined, left) = (Set<[String]>(), Set<[String]>())
    for step in steps {
      switch step {
      case .join(let room, let person) where person.hasPrefix("all-"): joined.insert(["\(room)", person])
      case .leave(let room, let person) where person.hasPrefix("all-"): left.insert(["\(room)", person])
      default: break
      }
    }
    var contended = joined.intersection(left)
    for case .join(let room, let person) in uncertainSteps { contended.insert(["\(room)", person]) }
    for case .leave(let room, let person) in uncertainSteps { contended.insert(["\(room)", person]) }
    for place in contended {
      guard let room = Int(place[0]) else { continue }
      rooms[room].members.remove(place[1])
      if found.rooms[room].members.contains(place[1]) { rooms[room].members.insert(place[1]) }
    }
    return contended.count
  }

  /// Returns a description of the first difference; nil if there is none.
  package func difference(from other: LayerModel) -> String? {
    if people != other.people { return "people: \(people) instead of \(other.people)" }
    for (index, (room, other)) in zip(rooms, other.rooms).enumerated() where room != other {
      return "room \(index): \(room) instead of \(other)"
    }
    return nil
  }
}
