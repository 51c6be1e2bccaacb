// What has changed since the document was read or written last.
//
//   1. After construction, reading and writing, each property is noted (`pringRemember`).
//   2. A property has changed when it differs from its note, was touched (`@Field`), or was to be written by an update
//      that failed.
//   3. An update takes off with the changes since the update before it; what changes meanwhile is for the next one.
//   4. When it lands, the notes of its start are what is noted. They are of all properties, also of what an update
//      before it was to write: if that one failed, the paths that it was to write stay behind, until one that took off
//      later has written them.

import FirebaseFirestore
import FirebaseStorage
import Foundation

/// What an object remembers of its properties.
struct Tracking {
  /// One for each property of the schema.
  var notes: [Any] = []
  /// Entries that nobody's property stands for.
  var byHand: [String: Any] = [:]
  /// Paths of fields that an update did not write, with the number of the last one that failed to.
  var unwritten: [[String]: Int] = [:]
  /// Files that a failed update was to remove.
  var unremoved: [StorageReference] = []
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

  /// What failed updates did not write, by the names of the properties: paths below them, an empty one for the whole.
  var owed: [String: Set<[String]>] { paths { _, _ in true } }

  /// The same without what an update under way is writing.
  var owedByNobody: [String: Set<[String]>] {
    paths { path, failed in !flights.contains { $0.number > failed && $0.covers(path) } }
  }

  private func paths(where isOwed: ([String], Int) -> Bool) -> [String: Set<[String]>] {
    var paths: [String: Set<[String]>] = [:]
    for (path, failed) in unwritten where isOwed(path, failed) {
      paths[path[0], default: []].insert(Array(path.dropFirst()))
    }
    return paths
  }
}

/// A write of an object on its way.
struct Flight {
  var number: Int
  /// As of its start.
  var notes: [Any]
  /// Paths of what it writes, each as a whole, the name of a property first.
  var carried: Set<[String]>
  var byHand: [String: Any]
  /// Files that go when it has landed.
  var removals: [StorageReference] = []

  /// Whether it writes the field, or one around it.
  func covers(_ path: [String]) -> Bool {
    path.indices.contains { carried.contains(Array(path[...$0])) }
  }
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
      pringAdoptChildren()
      var changes: [String: Any] = [:]
      let owed = pringTracking.owed
      for (index, property) in pringActiveProperties
      where isPending(index, property, since: pringTracking.notes, owed[property.name]) {
        changes[property.name] = change(property, since: pringTracking.notes[index], owed[property.name])
      }
      for flight in pringTracking.flights { changes.merge(flight.byHand) { $1 } }
      return changes.merging(pringTracking.byHand) { $1 }
    }
    set {
      pringRemember()
      pringTracking.byHand = newValue
    }
  }

  /// Has the next update write one field, of any name.
  public func update(key: String, value: Any) { pringTracking.byHand[key] = value }

  // MARK: Notes

  /// From here on, everything is as it is stored.
  func pringRemember() {
    pringTracking = Tracking(notes: notes(), lastFlight: pringTracking.lastFlight)
    for property in pringSchema.properties { property.forgetTouch(self) }
  }

  private func notes() -> [Any] {
    pringSchema.properties.map { property in
      pringEncoded(property).map { EncodedNote(storedForm: $0) } ?? property.note(of: self)
    }
  }

  /// Of a property that the subclass encodes.
  private struct EncodedNote { var storedForm: Any }

  private func isPending(
    _ index: Int, _ property: Property, since notes: [Any], _ owed: Set<[String]>?
  ) -> Bool {
    guard property.role != .collection else { return false }
    if property.role == .link, !isSaved, property.value(of: self) is any AnyRelation { return false }
    if property.isTouched(self) || owed != nil { return true }
    let encoded = pringEncoded(property)
    if let note = notes[index] as? EncodedNote { return !UntypedForm.areSame(encoded, note.storedForm) }
    return encoded != nil || property.hasChanged(self, since: notes[index])
  }

  // MARK: Changes

  /// As an update writes it: null for nil, a deletion for what is to be gone.
  private func change(_ property: Property, since note: Any, _ owed: Set<[String]>?) -> Any {
    let value = property.value(of: self)
    switch property.role {
    case .file where (value as? any FileForm)?.isDeleted == true: return FieldValue.delete()
    case .link where (value as? any Forgetting)?.isForgotten == true: return FieldValue.delete()
    case .list where isWrittenByMembers(property, owed):
      return MemberChanges(from: note, to: property.stored(of: self), owed).values
    default: break
    }
    return pringStored(property) ?? NSNull()
  }

  private func isWrittenByMembers(_ property: Property, _ owed: Set<[String]>?) -> Bool {
    property.role == .list && pringEncoded(property) == nil && owed?.contains([]) != true
  }

  /// Begins an update: what it has to write, and what lands when it is over. Nil if nothing has changed.
  func pringTakeOff() -> (changes: [FieldChange], flight: Flight)? {
    pringAdoptChildren()
    let base = pringTracking.latestNotes
    let allOwed = pringTracking.owedByNobody
    var changes: [FieldChange] = []
    for (index, property) in pringActiveProperties {
      let owed = allOwed[property.name]
      guard isPending(index, property, since: base, owed), pringTracking.byHand[property.name] == nil else {
        continue
      }
      if isWrittenByMembers(property, owed) {
        changes += MemberChanges(from: base[index], to: property.stored(of: self), owed)
          .fields(below: property.name)
      } else {
        changes.append(
          FieldChange(path: [property.name], value: change(property, since: base[index], owed)))
      }
    }
    let carried = Set(changes.map(\.path))
    changes += pringTracking.byHand.map { FieldChange(path: [$0], value: $1) }
    guard !changes.isEmpty else { return nil }
    return (changes, begin(carried))
  }

  /// Begins a write of the whole document.
  func pringTakeOffWhole() -> Flight { begin(Set(pringSchema.properties.map { [$0.name] })) }

  private func begin(_ carried: Set<[String]>) -> Flight {
    pringTracking.lastFlight += 1
    let flight = Flight(
      number: pringTracking.lastFlight, notes: notes(), carried: carried, byHand: pringTracking.byHand)
    pringTracking.byHand = [:]
    pringTracking.flights.append(flight)
    for property in pringSchema.properties { property.forgetTouch(self) }
    return flight
  }

  /// The write is over.
  func pringLand(_ flight: Flight, _ error: (any Error)?) {
    guard let index = pringTracking.flights.firstIndex(where: { $0.number == flight.number }) else { return }
    pringTracking.flights.remove(at: index)
    guard error == nil else {
      pringTracking.byHand = flight.byHand.merging(pringTracking.byHand) { $1 }
      guard isSaved else { return }
      for path in flight.carried {
        pringTracking.unwritten[path] = max(pringTracking.unwritten[path] ?? 0, flight.number)
      }
      pringTracking.unremoved += flight.removals
      return
    }
    pringTracking.unwritten = pringTracking.unwritten.filter { path, failed in
      failed > flight.number || !flight.covers(path)
    }
    // A later one may have been told before.
    guard flight.number > pringTracking.lastLanded else { return }
    pringTracking.lastLanded = flight.number
    pringTracking.notes = flight.notes
    dropDeletedFiles()
  }

  /// What was marked is gone now, here as well.
  private func dropDeletedFiles() {
    for (index, property) in pringActiveProperties where property.role == .file {
      guard let form = property.value(of: self) as? any FileForm, form.files.contains(where: \.isDeleted)
      else { continue }
      _ = property.assign(form.withoutDeleted, to: self)
      property.forgetTouch(self)
      pringTracking.notes[index] = property.note(of: self)
    }
  }
}

/// What is remembered of something in its stored form.
protocol StoredNote {
  var storedForm: Any? { get }
}

/// What has changed in a list, by the ids of its members, or is owed: an id, or an id and a field.
struct MemberChanges {
  private let old: [String: Any]
  private let new: [String: Any]
  private let owed: Set<[String]>

  init(from note: Any, to stored: Any?, _ owed: Set<[String]>? = nil) {
    old = (note as? any StoredNote)?.storedForm as? [String: Any] ?? [:]
    new = stored as? [String: Any] ?? [:]
    self.owed = owed ?? []
  }

  /// The changed fields of each member, all of those of a new one, a deletion for one that is gone.
  var values: [String: Any] {
    var values: [String: Any] = [:]
    for id in Set(old.keys).union(new.keys).union(owed.compactMap(\.first)) {
      guard let after = new[id] else {
        values[id] = FieldValue.delete()
        continue
      }
      guard !isWhole(id) else {
        values[id] = after
        continue
      }
      let changed = changedFields(id)
      if !changed.isEmpty { values[id] = changed }
    }
    return values
  }

  private func isWhole(_ id: String) -> Bool { old[id] == nil || owed.contains([id]) }

  private func changedFields(_ id: String) -> [String: Any] {
    let (before, after) = (old[id] as? [String: Any] ?? [:], new[id] as? [String: Any] ?? [:])
    var changed: [String: Any] = [:]
    for name in Set(before.keys).union(after.keys) where !UntypedForm.areSame(before[name], after[name]) {
      changed[name] = after[name] ?? NSNull()
    }
    for path in owed where path.count == 2 && path[0] == id { changed[path[1]] = after[path[1]] ?? NSNull() }
    return changed
  }

  func fields(below key: String) -> [FieldChange] {
    values.sorted { $0.key < $1.key }.flatMap { id, value -> [FieldChange] in
      guard !isWhole(id), let changed = value as? [String: Any] else {
        return [FieldChange(path: [key, id], value: value)]
      }
      return changed.sorted { $0.key < $1.key }.map { FieldChange(path: [key, id, $0], value: $1) }
    }
  }
}
