// Adds the writes of an object, and of everything that is saved with it, to a batch.

public import FirebaseFirestore
private import FirebaseStorage
import Foundation
import LayerKit

extension Object {
  /// Adds the writes of this object and of its children. An object that is already in the batch is not added
  /// again. For a new object, the whole document is written; for a saved object, only its changes. A deletion
  /// deletes only the document of this object.
  @discardableResult
  public func pack(_ type: BatchType, batch: WriteBatch) -> WriteBatch {
    let packing = Packing.of(batch)
    guard packing.add(self, type) else { return batch }
    pringAdoptChildren()
    switch (type, isSaved) {
    case (.delete, _): packDeletion(batch, packing)
    case (.save, false), (.update, false): packWhole(batch, packing)
    case (.save, true), (.update, true): packChanges(batch, packing)
    }
    if type != .delete { packChildren(type, batch) }
    return batch
  }

  /// Adds the deletion of the document, and of the documents of the loaded members of its collections.
  func pringPackDeletionWithMembers(_ batch: WriteBatch) {
    pack(.delete, batch: batch)
    if Packing.of(batch).addMembers(of: self) { packMemberDeletions(batch) }
  }

  private func packMemberDeletions(_ batch: WriteBatch) {
    for (_, property) in pringActiveProperties {
      let value = property.value(of: self)
      switch property.role {
      case .value, .file, .list, .link: break
      case .nested: (value as? Object)?.packMemberDeletions(batch)
      case .collection: (value as? any PlacedCollection)?.pringPackMemberDeletions(batch)
      }
    }
  }

  private func packWhole(_ batch: WriteBatch, _ packing: Packing) {
    let inFlightWrite = pringBeginFullWrite()
    var fields = value
    // The document of an unsaved object does not exist yet, so it has no field to delete.
    for (key, entry) in inFlightWrite.changesByName {
      fields[key] = (entry as? FieldValue) == FieldValue.delete() ? nil : entry
    }
    pringLogUnstoredProperties(of: fields)
    batch.setReported(fields, forDocument: reference)
    packing.onEnd { [self] error in
      pringEndWrite(inFlightWrite, error)
      guard error == nil else { return }
      isSaved = true
      readTimes()
    }
  }

  private func packChanges(_ batch: WriteBatch, _ packing: Packing) {
    let old = pringNoteFiles.filter(\.isSaved).compactMap(\.ref) + pringTracking.undeletedFiles
    guard case (let changes, var inFlightWrite)? = pringBeginUpdate() else { return }
    let changed = changes + [FieldChange(path: ["updatedAt"], value: FieldValue.serverTimestamp())]
    batch.mergeReported(changed.map { ($0.path, $0.value) }, forDocument: reference)
    var kept = Set(pringFiles.filter { !$0.isDeleted }.compactMap(\.ref?.fullPath))
    // Each file is deleted only once, even if it occurs several times.
    inFlightWrite.removals = old.filter { kept.insert($0.fullPath).inserted }
    pringTracking.undeletedFiles = []
    packing.remove(inFlightWrite.removals)
    packing.onEnd { [self, inFlightWrite] error in
      pringEndWrite(inFlightWrite, error)
      if error == nil { readTimes() }
    }
  }

  private func packDeletion(_ batch: WriteBatch, _ packing: Packing) {
    batch.deleteDocument(reference)
    packing.onEnd { [self] error in
      guard error == nil else { return }
      isSaved = false
      pringRemember()
    }
  }

  /// Reads `createdAt` and `updatedAt` of the committed document from the database.
  private func readTimes() {
    if let snapshot = reference.publishedSnapshot(), snapshot.exists { pringTimes.update(from: snapshot) }
  }

  /// Adds the writes of collections, references and relations, including those of nested objects.
  private func packChildren(_ type: BatchType, _ batch: WriteBatch) {
    for (_, property) in pringActiveProperties {
      switch property.role {
      case .value, .file, .list: break
      case .nested: (property.value(of: self) as? Object)?.packChildren(type, batch)
      case .collection, .link: (property.value(of: self) as? any Batchable)?.pack(type, batch: batch)
      }
    }
  }

  /// Marks this object and its children as written. A second call with the same batch id does nothing. If
  /// this process commits the batch, the objects are marked without this call.
  public func batch(_ type: BatchType, completion batchID: String) {
    guard self.batchID != batchID else { return }
    self.batchID = batchID
    isSaved = type != .delete
    pringRemember()
    if type != .delete { markChildren(type, batchID) }
  }

  private func markChildren(_ type: BatchType, _ batchID: String) {
    for (_, property) in pringActiveProperties {
      switch property.role {
      case .value, .file, .list: break
      case .nested: (property.value(of: self) as? Object)?.markChildren(type, batchID)
      case .collection, .link: (property.value(of: self) as? any Batchable)?.batch(type, completion: batchID)
      }
    }
  }
}

extension Object {
  /// Logs, in debug builds, each property of a new document that is neither stored nor listed in `ignore`.
  /// Each property is logged once.
  func pringLogUnstoredProperties(of fields: [String: Any]) {
    #if DEBUG
    let ignored = Set(ignore)
    for (name, reason) in pringSchema.hidden where !ignored.contains(name) { logOnce(name, reason) }
    for (_, property) in pringActiveProperties where property.isUntyped && fields[property.name] == nil {
      guard let value = property.unwrappedValue(of: self) else { continue }
      logOnce(property.name, "encode does not say how a \(type(of: value)) is stored")
    }
    #endif
  }

  private func logOnce(_ name: String, _ reason: String) {
    guard pringSchema.isFirstLog(of: name) else { return }
    let message =
      "[Pring] \(type(of: self)).\(name) is not stored: \(reason). If that is as it should be, name it in "
      + "ignore.\n"
    // Failure to log must not fail the write.
    try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
  }
}
