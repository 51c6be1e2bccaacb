// What has changed since the document was read or written last.
//
//   1. After construction, reading and writing, each property is noted (`remember`).
//   2. A property has changed when it differs from its note, was touched (`@Field`), or was to be written by an update
//      that failed.
//   3. An update takes off with the changes since the update before it; what changes meanwhile is for the next one.
//   4. When it lands, what it carried is what is noted; if it failed, it is to be written again.

import FirebaseFirestore
import Foundation

/// What an object remembers of its properties.
struct Tracking {
  /// One for each property of the schema.
  var notes: [Any] = []
  /// Entries that nobody's property stands for.
  var byHand: [String: Any] = [:]
  /// Places in the schema of what a failed update did not write.
  var unwritten: Set<Int> = []
  /// Updates under way, the oldest first.
  var flights: [Flight] = []
  var lastFlight = 0
  /// The notes are those of this flight.
  var lastLanded = 0

  /// As of the write that took off last, and has not failed.
  var latestNotes: [Any] {
    // Where that one has landed, one before it may still be under way.
    guard let last = flights.last, last.number > lastLanded else { return notes }
    return last.notes
  }
}

/// A write of an object on its way.
struct Flight {
  var number: Int
  /// As of its start.
  var notes: [Any]
  /// Places in the schema of what it writes.
  var carried: Set<Int>
  var byHand: [String: Any]
}

/// What an update does to one field of the document, or to one inside a map.
struct FieldChange {
  var path: [String]
  var value: Any
}

extension Object {
  /// What the next update is going to write. Setting it forgets what has changed, and takes these entries instead.
  public var updateValue: [String: Any] {
    get {
      adoptChildren()
      var changes: [String: Any] = [:]
      for (index, property) in activeProperties where isPending(index, property, since: tracking.notes) {
        changes[property.name] = change(property, since: tracking.notes[index])
      }
      for flight in tracking.flights { changes.merge(flight.byHand) { $1 } }
      return changes.merging(tracking.byHand) { $1 }
    }
    set {
      remember()
      tracking.byHand = newValue
    }
  }

  /// Has the next update write one field, of any name.
  public func update(key: String, value: Any) { tracking.byHand[key] = value }

  // MARK: Notes

  /// From here on, everything is as it is stored.
  func remember() {
    tracking = Tracking(notes: notes(), lastFlight: tracking.lastFlight)
    for property in schema.properties { property.forgetTouch(self) }
  }

  private func notes() -> [Any] {
    schema.properties.map { property in
      encoded(property).map { EncodedNote(storedForm: $0) } ?? property.note(of: self)
    }
  }

  /// Of a property that the subclass encodes.
  private struct EncodedNote { var storedForm: Any }

  private func isPending(_ index: Int, _ property: Property, since notes: [Any]) -> Bool {
    guard property.role != .collection else { return false }
    if property.role == .link, !isSaved, property.value(of: self) is any AnyRelation { return false }
    if property.isTouched(self) || tracking.unwritten.contains(index) { return true }
    let encoded = encoded(property)
    if let note = notes[index] as? EncodedNote { return !UntypedForm.areSame(encoded, note.storedForm) }
    return encoded != nil || property.hasChanged(self, since: notes[index])
  }

  // MARK: Changes

  /// As an update writes it: null for nil, a deletion for what is to be gone.
  private func change(_ property: Property, since note: Any) -> Any {
    let value = property.value(of: self)
    switch property.role {
    case .file where (value as? any FileForm)?.isDeleted == true: return FieldValue.delete()
    case .link where (value as? any Forgetting)?.isForgotten == true: return FieldValue.delete()
    case .list where encoded(property) == nil:
      return MemberChanges(from: note, to: property.stored(of: self)).values
    default: break
    }
    return stored(property) ?? NSNull()
  }

  /// Begins an update: what it has to write, and what lands when it is over. Nil if nothing has changed.
  func takeOff() -> (changes: [FieldChange], flight: Flight)? {
    adoptChildren()
    let base = tracking.latestNotes
    var changes: [FieldChange] = []
    var carried: Set<Int> = []
    for (index, property) in activeProperties where isPending(index, property, since: base) {
      guard tracking.byHand[property.name] == nil else { continue }
      carried.insert(index)
      if property.role == .list, encoded(property) == nil {
        changes += MemberChanges(from: base[index], to: property.stored(of: self))
          .fields(below: property.name)
      } else {
        changes.append(FieldChange(path: [property.name], value: change(property, since: base[index])))
      }
    }
    changes += tracking.byHand.map { FieldChange(path: [$0], value: $1) }
    guard !changes.isEmpty else { return nil }
    return (changes, begin(carried))
  }

  /// Begins a write of the whole document.
  func takeOffWhole() -> Flight { begin(Set(schema.properties.indices)) }

  private func begin(_ carried: Set<Int>) -> Flight {
    tracking.lastFlight += 1
    let flight = Flight(
      number: tracking.lastFlight, notes: notes(), carried: carried, byHand: tracking.byHand)
    tracking.byHand = [:]
    tracking.flights.append(flight)
    for property in schema.properties { property.forgetTouch(self) }
    return flight
  }

  /// The write is over.
  func land(_ flight: Flight, _ error: (any Error)?) {
    guard let index = tracking.flights.firstIndex(where: { $0.number == flight.number }) else { return }
    tracking.flights.remove(at: index)
    guard error == nil else {
      tracking.byHand = flight.byHand.merging(tracking.byHand) { $1 }
      if isSaved { tracking.unwritten.formUnion(flight.carried) }
      return
    }
    tracking.unwritten.subtract(flight.carried)
    // A later one may have been told before.
    guard flight.number > tracking.lastLanded else { return }
    tracking.lastLanded = flight.number
    tracking.notes = flight.notes
    dropDeletedFiles()
  }

  /// What was marked is gone now, here as well.
  private func dropDeletedFiles() {
    for (index, property) in activeProperties where property.role == .file {
      guard let form = property.value(of: self) as? any FileForm, form.files.contains(where: \.isDeleted)
      else { continue }
      _ = property.assign(form.withoutDeleted, to: self)
      property.forgetTouch(self)
      tracking.notes[index] = property.note(of: self)
    }
  }
}

/// What is remembered of something in its stored form.
protocol StoredNote {
  var storedForm: Any? { get }
}

/// What has changed in a list, by the ids of its members.
struct MemberChanges {
  private let old: [String: Any]
  private let new: [String: Any]

  init(from note: Any, to stored: Any?) {
    old = (note as? any StoredNote)?.storedForm as? [String: Any] ?? [:]
    new = stored as? [String: Any] ?? [:]
  }

  /// The changed fields of each member, all of those of a new one, a deletion for one that is gone.
  var values: [String: Any] {
    var values: [String: Any] = [:]
    for id in Set(old.keys).union(new.keys) {
      guard let after = new[id] else {
        values[id] = FieldValue.delete()
        continue
      }
      guard old[id] != nil else {
        values[id] = after
        continue
      }
      let changed = changedFields(id)
      if !changed.isEmpty { values[id] = changed }
    }
    return values
  }

  private func changedFields(_ id: String) -> [String: Any] {
    let (before, after) = (old[id] as? [String: Any] ?? [:], new[id] as? [String: Any] ?? [:])
    var changed: [String: Any] = [:]
    for name in Set(before.keys).union(after.keys) where !UntypedForm.areSame(before[name], after[name]) {
      changed[name] = after[name] ?? NSNull()
    }
    return changed
  }

  func fields(below key: String) -> [FieldChange] {
    values.sorted { $0.key < $1.key }.flatMap { id, value -> [FieldChange] in
      guard old[id] != nil, let changed = value as? [String: Any] else {
        return [FieldChange(path: [key, id], value: value)]
      }
      return changed.sorted { $0.key < $1.key }.map { FieldChange(path: [key, id, $0], value: $1) }
    }
  }
}
