// Tracks the changes of an object since its document was last read or written.
//
//   1. Construction, reads and writes record a note of the value of each property (`pringRemember`).
//   2. A property has changed if its value differs from its note, if a `@Field` recorded an assignment, or if
//      a failed update should have written the property.
//   3. An update writes the changes since the previous update started. Changes that are made after the start
//      of an update belong to the next update.
//   4. When an update succeeds, the notes from its start become the notes of the object. These notes cover
//      all properties, including those that an earlier update wrote. If that earlier update failed, the paths
//      that it should have written are owed until a later update writes them.

import FirebaseFirestore
import FirebaseStorage
import Foundation

/// The recorded state of an object's properties, and its pending writes.
struct Tracking {
  /// The notes, one for each property of the schema.
  var notes: [Any] = []
  /// Changes that were set by field name instead of through a property.
  var changesByName: [String: Any] = [:]
  /// Paths of fields that failed updates did not write. Each value is the number of the last failed update of
  /// that path.
  var failedPaths: [[String]: Int] = [:]
  /// Files that failed updates should have deleted.
  var undeletedFiles: [StorageReference] = []
  /// Pending writes, oldest first.
  var inFlightWrites: [InFlightWrite] = []
  var lastWriteNumber = 0
  /// The number of the write whose notes are in `notes`.
  var lastSucceededNumber = 0

  /// The notes of the last write that started, unless that write failed.
  var latestNotes: [Any] {
    // The last write may have succeeded while an earlier write is still pending.
    guard let last = inFlightWrites.last, last.number > lastSucceededNumber else { return notes }
    return last.notes
  }

  /// The owed paths of each property, by property name. A path is relative to its property. An empty path
  /// means the whole property.
  var owed: [String: Set<[String]>] { paths { _, _ in true } }

  /// The owed paths that no pending update writes.
  var owedWithoutPendingWrite: [String: Set<[String]>] {
    paths { path, failed in !inFlightWrites.contains { $0.number > failed && $0.covers(path) } }
  }

  private func paths(where isIncluded: ([String], Int) -> Bool) -> [String: Set<[String]>] {
    var paths: [String: Set<[String]>] = [:]
    for (path, failed) in failedPaths where isIncluded(path, failed) {
      paths[path[0], default: []].insert(Array(path.dropFirst()))
    }
    return paths
  }
}

/// A pending write of an object.
struct InFlightWrite {
  var number: Int
  /// The notes, recorded at the start of the write.
  var notes: [Any]
  /// Paths of the fields that the write replaces. Each path starts with a property name.
  var writtenPaths: Set<[String]>
  var changesByName: [String: Any]
  /// Files to delete after the write has succeeded.
  var removals: [StorageReference] = []

  /// Whether the write replaces the field at the path or a field that contains it.
  func covers(_ path: [String]) -> Bool {
    path.indices.contains { writtenPaths.contains(Array(path[...$0])) }
  }
}

/// A change to one field of the document, or to one entry of a map field.
struct FieldChange {
  var path: [String]
  var value: Any
}

extension Object {
  /// The changes that the next update writes. Assigning a dictionary discards all earlier changes, and the
  /// next update writes the entries of the dictionary instead.
  public var updateValue: [String: Any] {
    get {
      pringAdoptChildren()
      var changes: [String: Any] = [:]
      let owed = pringTracking.owed
      for (index, property) in pringActiveProperties
      where isPending(index, property, since: pringTracking.notes, owed: owed[property.name]) {
        changes[property.name] = change(
          property, since: pringTracking.notes[index], owed: owed[property.name])
      }
      for write in pringTracking.inFlightWrites { changes.merge(write.changesByName) { $1 } }
      return changes.merging(pringTracking.changesByName) { $1 }
    }
    set {
      pringRemember()
      pringTracking.changesByName = newValue
    }
  }

  /// Adds a change of a field to the next update. The field need not be a property.
  public func update(key: String, value: Any) { pringTracking.changesByName[key] = value }

  // MARK: Notes

  /// Records the present values of the properties as the stored values.
  func pringRemember() {
    pringTracking = Tracking(notes: notes(), lastWriteNumber: pringTracking.lastWriteNumber)
    for property in pringSchema.properties { property.clearTouched(self) }
  }

  private func notes() -> [Any] {
    pringSchema.properties.map { property in
      pringEncoded(property).map { EncodedNote(storedForm: $0) } ?? property.note(of: self)
    }
  }

  /// The note of a property whose stored form the subclass encodes.
  private struct EncodedNote { var storedForm: Any }

  private func isPending(
    _ index: Int, _ property: Property, since notes: [Any], owed: Set<[String]>?
  ) -> Bool {
    guard property.role != .collection else { return false }
    if property.role == .link, !isSaved, property.value(of: self) is any AnyRelation { return false }
    if property.isTouched(self) || owed != nil { return true }
    let encoded = pringEncoded(property)
    if let note = notes[index] as? EncodedNote { return !UntypedForm.areSame(encoded, note.storedForm) }
    return encoded != nil || property.hasChanged(self, since: notes[index])
  }

  // MARK: Changes

  /// Returns the value that an update writes for a property. A nil property becomes null. A property whose
  /// file or link was marked as deleted becomes a field deletion.
  private func change(_ property: Property, since note: Any, owed: Set<[String]>?) -> Any {
    let value = property.value(of: self)
    switch property.role {
    case .file where (value as? any FileForm)?.isDeleted == true: return FieldValue.delete()
    case .link where (value as? any MarkableAsDeleted)?.isMarkedDeleted == true: return FieldValue.delete()
    case .list where isWrittenByMembers(property, owed):
      return MemberChanges(from: note, to: property.stored(of: self), owed: owed).values
    default: break
    }
    return pringStored(property) ?? NSNull()
  }

  private func isWrittenByMembers(_ property: Property, _ owed: Set<[String]>?) -> Bool {
    property.role == .list && pringEncoded(property) == nil && owed?.contains([]) != true
  }

  /// Starts an update. Returns its changes and its write (the pending write), or nil if nothing has changed.
  /// The caller passes the write to `pringEndWrite` when the write ends.
  func pringBeginUpdate() -> (changes: [FieldChange], write: InFlightWrite)? {
    pringAdoptChildren()
    let base = pringTracking.latestNotes
    let owedPaths = pringTracking.owedWithoutPendingWrite
    var changes: [FieldChange] = []
    for (index, property) in pringActiveProperties {
      let owed = owedPaths[property.name]
      guard isPending(index, property, since: base, owed: owed),
        pringTracking.changesByName[property.name] == nil
      else {
        continue
      }
      if isWrittenByMembers(property, owed) {
        changes += MemberChanges(from: base[index], to: property.stored(of: self), owed: owed)
          .fields(below: property.name)
      } else {
        changes.append(
          FieldChange(path: [property.name], value: change(property, since: base[index], owed: owed)))
      }
    }
    let writtenPaths = Set(changes.map(\.path))
    changes += pringTracking.changesByName.map { FieldChange(path: [$0], value: $1) }
    guard !changes.isEmpty else { return nil }
    return (changes, begin(writtenPaths))
  }

  /// Starts a write of the whole document.
  func pringBeginFullWrite() -> InFlightWrite { begin(Set(pringSchema.properties.map { [$0.name] })) }

  private func begin(_ writtenPaths: Set<[String]>) -> InFlightWrite {
    pringTracking.lastWriteNumber += 1
    let write = InFlightWrite(
      number: pringTracking.lastWriteNumber, notes: notes(), writtenPaths: writtenPaths,
      changesByName: pringTracking.changesByName)
    pringTracking.changesByName = [:]
    pringTracking.inFlightWrites.append(write)
    for property in pringSchema.properties { property.clearTouched(self) }
    return write
  }

  /// Ends a write.
  func pringEndWrite(_ write: InFlightWrite, _ error: (any Error)?) {
    guard let index = pringTracking.inFlightWrites.firstIndex(where: { $0.number == write.number }) else {
      return
    }
    pringTracking.inFlightWrites.remove(at: index)
    guard error == nil else {
      pringTracking.changesByName = write.changesByName.merging(pringTracking.changesByName) { $1 }
      guard isSaved else { return }
      for path in write.writtenPaths {
        pringTracking.failedPaths[path] = max(pringTracking.failedPaths[path] ?? 0, write.number)
      }
      pringTracking.undeletedFiles += write.removals
      return
    }
    pringTracking.failedPaths = pringTracking.failedPaths.filter { path, failed in
      failed > write.number || !write.covers(path)
    }
    // A write that started later may have succeeded before this one.
    guard write.number > pringTracking.lastSucceededNumber else { return }
    pringTracking.lastSucceededNumber = write.number
    pringTracking.notes = write.notes
    dropDeletedFiles()
  }

  /// Removes the files that were marked as deleted from their properties.
  private func dropDeletedFiles() {
    for (index, property) in pringActiveProperties where property.role == .file {
      guard let form = property.value(of: self) as? any FileForm, form.files.contains(where: \.isDeleted)
      else { continue }
      _ = property.assign(form.withoutDeleted, to: self)
      property.clearTouched(self)
      pringTracking.notes[index] = property.note(of: self)
    }
  }
}

/// A note that contains the stored form.
protocol StoredNote {
  var storedForm: Any? { get }
}

/// The changed and owed members of a list, by member id. An owed path consists of a member id, or of a member
/// id and a field name.
struct MemberChanges {
  private let old: [String: Any]
  private let new: [String: Any]
  private let owed: Set<[String]>

  init(from note: Any, to stored: Any?, owed: Set<[String]>? = nil) {
    old = (note as? any StoredNote)?.storedForm as? [String: Any] ?? [:]
    new = stored as? [String: Any] ?? [:]
    self.owed = owed ?? []
  }

  /// The changed fields of each changed member, all fields of a new member, and a deletion for a removed
  /// member.
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
