// The outbox: changes of objects that a remote must still confirm.
//
//   queue         applies a change locally at once and stores a record of it, in one commit
//   acknowledge   records that the remote has applied it
//   take back     undoes a change that the remote refused or the user cancelled: reapplies the other
//                 pending changes to the remote's state
//
// Invariant:   object = remote state + pending changes in order

import ByteStore
package import DocumentStore

/// The outbox of a store whose buckets mirror a remote. A stateless value that is cheap to create.
package struct ObjectOutbox: Sendable {
  let objects: ObjectStore
  private var store: DocumentStore { objects.store }

  init(_ objects: ObjectStore) { self.objects = objects }

  // MARK: Queries

  /// All pending changes, in order.
  package func changes() throws(DocumentStoreError) -> [QueuedChange] {
    try store.documents(Self.inOrder(StructuredQuery(.collection(OutboxRecord.changes))))
      .compactMap(OutboxRecord.change)
  }

  /// Whether any change is pending.
  package func hasChanges() throws(DocumentStoreError) -> Bool { try lastNumber() > 0 }

  /// The greatest number in the queue, so that numbers are never reused. Includes damaged records, but skips
  /// records without a valid number. 0 if there are none.
  private func lastNumber() throws(DocumentStoreError) -> Int64 {
    let all = try Self.inOrder(StructuredQuery(.collection(OutboxRecord.changes)))
    var count = 1
    while true {
      let records = try store.documents(all.limited(to: .last(count)))
      if let number = records.reversed().lazy.compactMap({ OutboxRecord.number($0.path) }).first {
        return number
      }
      guard records.count == count else { return 0 }
      count *= 2
    }
  }

  /// Whether the object has pending changes.
  package func isWaiting(_ path: ObjectPath) throws(DocumentStoreError) -> Bool {
    try store.document(at: OutboxRecord.base(path)) != nil
  }

  private static func inOrder(_ query: StructuredQuery) throws(DocumentStoreError) -> StructuredQuery {
    try query.ordered(by: OrderBy(.documentID))
  }

  /// A query for the changes of all objects with this name, in any bucket. Completing a change reads only
  /// these changes, even if many others are pending.
  package static func changes(of name: ObjectName) throws(DocumentStoreError) -> StructuredQuery {
    try inOrder(
      StructuredQuery(.collection(OutboxRecord.changes))
        .filtered(by: .field(OutboxRecord.nameField, .equal, .string(name.text))))
  }

  private func changes(
    of path: ObjectPath, in transaction: StoreTransaction
  ) throws(DocumentStoreError) -> [QueuedChange] {
    try transaction.documents(Self.changes(of: path.name)).compactMap(OutboxRecord.change)
      .filter { $0.path == path }
  }

  /// The objects in a folder that have pending changes, and whether each object exists locally. The range
  /// starts after the entry `last` and ends with the entry `end`, inclusive. `prefix` is empty or ends with a
  /// slash.
  package func waiting(
    inBucket bucket: String, below prefix: String, after last: String?, upTo end: String?
  ) throws(DocumentStoreError) -> [ObjectName: Bool] {
    var query = try Self.inOrder(StructuredQuery(.collection(OutboxRecord.bases(ofBucket: bucket))))
    if let last, last != prefix {
      query =
        ObjectEntry.isFolder(last)
        ? try query.starting(.before, [.string(ShiftedText.endID(ofFolder: last))])
        : try query.starting(.after, [.string(ShiftedText.id(of: last))])
    } else {
      query = try query.starting(.before, [.string(ShiftedText.id(of: prefix))])
    }
    if let end, !ObjectEntry.isFolder(end) {
      query = try query.ending(.after, [.string(ShiftedText.id(of: end))])
    } else if let folder = end ?? (prefix.isEmpty ? nil : prefix) {
      query = try query.ending(.before, [.string(ShiftedText.endID(ofFolder: folder))])
    }
    var waiting: [ObjectName: Bool] = [:]
    for record in try store.documents(query) {
      guard let name = ObjectName(id: record.path.id) else { continue }
      waiting[name] = try objects.object(at: ObjectPath(bucket: bucket, name: name)) != nil
    }
    return waiting
  }

  // MARK: Queueing

  /// Finishes an upload: the object exists locally at once, and the change is queued. Slow work is done
  /// before the lock is taken. `queued` is called in the order of the changes' numbers, while no other change
  /// is being created.
  package func finish(
    _ upload: ObjectUpload, token: String, queued: @escaping (QueuedChange) -> Void = { _ in }
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange) {
    let before = try objects.object(at: upload.path)
    var newChange: QueuedChange?
    let queue = ObjectQueue(outbox: self, session: upload.session) { change in
      newChange = change
      queued(change)
    }
    let object = try upload.finish(token: token, for: queue)
    guard let newChange else { preconditionFailure("a change was queued") }
    if let before, before.blob != object.blob { _ = try? objects.collect(before.blob) }
    return (object, newChange)
  }

  /// Changes attributes locally and queues the change. Returns nil if the object does not exist locally.
  package func update(
    _ path: ObjectPath, _ changes: AttributeChanges, queued: (QueuedChange) -> Void = { _ in }
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange)? {
    try queueing { number throws(DocumentStoreError) in
      var change = QueuedChange(number: number, path: path, kind: .update(changes), session: "")
      var updated: StoredObject?
      let time = try objects.change { transaction throws(DocumentStoreError) in
        updated = nil
        guard let document = try transaction.document(at: path.document) else { return nil }
        var object = try objects.object(of: document)
        changes.apply(to: &object.attributes)
        try object.attributes.check()
        object.incrementMetageneration()
        updated = object
        try add(change, document, in: transaction)
        let transforms = [FieldTransform(StoredObject.changedField, .serverTimestamp)]
        try transaction.write(.set(path.document, object.fields, transforms: transforms))
        return nil
      }
      guard var object = updated else { return nil }
      object.changed = time
      change.time = time
      queued(change)
      return (object, change)
    }
  }

  /// Deletes an object locally and queues the deletion. Queues it even if the object does not exist locally,
  /// because the remote may have the object. Returns nil if pending changes already delete the object.
  package func delete(
    _ path: ObjectPath, queued: (QueuedChange) -> Void = { _ in }
  ) throws(DocumentStoreError) -> QueuedChange? {
    try queueing { number throws(DocumentStoreError) in
      let change = QueuedChange(number: number, path: path, kind: .delete, session: "")
      var isGone = false
      _ = try objects.change { transaction throws(DocumentStoreError) in
        let before = try transaction.document(at: path.document)
        isGone = false
        if before == nil { isGone = try transaction.document(at: OutboxRecord.base(path)) != nil }
        guard !isGone else { return nil }
        try add(change, before, in: transaction)
        if before != nil { try transaction.write(.delete(path.document)) }
        return nil
      }
      guard !isGone else { return nil }
      queued(change)
      return change
    }
  }

  /// Queues a change as part of the change's transaction. Does the last reads and the first writes of the
  /// transaction.
  func add(
    _ change: QueuedChange, _ before: StoredDocument?, in transaction: StoreTransaction
  ) throws(DocumentStoreError) {
    let base = OutboxRecord.base(change.path)
    let hasBase = try transaction.document(at: base) != nil
    if !hasBase {
      let object = try before.map { document throws(DocumentStoreError) in try objects.object(of: document) }
      try transaction.write(.set(base, OutboxRecord.baseFields(object)))
    }
    try write(change, transaction)
  }

  private func write(
    _ change: QueuedChange, _ transaction: StoreTransaction
  ) throws(DocumentStoreError) {
    try transaction.write(
      .set(
        OutboxRecord.change(change.number), OutboxRecord.fields(change),
        transforms: OutboxRecord.transforms(change)))
  }

  func queueing<Value>(
    _ body: (Int64) throws(DocumentStoreError) -> Value
  ) throws(DocumentStoreError) -> Value {
    try objects.state.queueing.withLock { queueing throws(DocumentStoreError) in
      let before: Int64
      if let known = queueing.last { before = known } else { before = try lastNumber() }
      queueing.last = before + 1
      return try body(before + 1)
    }
  }

  // MARK: Answers

  /// Records that the remote applied the change, with the metadata that the remote assigned to the content.
  /// Returns the remote's object; nil if the change is no longer pending.
  package func acknowledge(
    _ change: QueuedChange, _ remoteMetadata: RemoteObjectMetadata?
  ) throws(DocumentStoreError) -> StoredObject?? {
    try dequeue(change) { base, stored in
      var object = stored.applied(to: base)
      if let remoteMetadata { object?.take(remoteMetadata) }
      return object
    }
  }

  /// Records that the remote has no such object, so the change could not be applied.
  package func acknowledgeAbsence(_ change: QueuedChange) throws(DocumentStoreError) {
    _ = try dequeue(change) { _, _ in nil }
  }

  /// Undoes a change that the remote has not applied and will not apply. Returns false if the change is no
  /// longer pending.
  @discardableResult
  package func rollBackChange(_ change: QueuedChange) throws(DocumentStoreError) -> Bool {
    try dequeue(change) { base, _ in base } != nil
  }

  /// Removes a change from the queue, and updates the object and the record of the remote's state. Returns
  /// the remote's new object; nil if the change is no longer pending.
  private func dequeue(
    _ change: QueuedChange, _ body: (_ base: StoredObject?, _ stored: QueuedChange) -> StoredObject?
  ) throws(DocumentStoreError) -> StoredObject?? {
    var result: StoredObject??
    // An array, for a deterministic order.
    var contents: [BlobID] = []
    _ = try objects.change { transaction throws(DocumentStoreError) in
      result = nil
      let (path, place) = (change.path, OutboxRecord.base(change.path))
      guard let record = try transaction.document(at: OutboxRecord.change(change.number)),
        let stored = OutboxRecord.change(record)
      else { return nil }
      let rest = try changes(of: path, in: transaction).filter { $0.number != change.number }
      let before = try transaction.document(at: path.document).flatMap(StoredObject.init)
      let base = try transaction.document(at: place).flatMap { StoredObject(at: path, $0.fields) }
      contents = [before, base, stored.put].compactMap { $0?.blob }
      // Use the stored record, because it has the change's commit times.
      let now = body(base, stored)
      let object = rest.reduce(now) { $1.applied(to: $0) }
      try transaction.write(.delete(OutboxRecord.change(change.number)))
      try transaction.write(rest.isEmpty ? .delete(place) : .set(place, OutboxRecord.baseFields(now)))
      if object != before {
        try transaction.write(object.map { .set(path.document, $0.fields) } ?? .delete(path.document))
      }
      result = .some(now)
      return nil
    }
    // Remove contents that no record references any more.
    for (place, id) in contents.enumerated() where !contents[..<place].contains(id) {
      _ = try? objects.collect(id)
    }
    return result
  }

  // MARK: Remote state

  /// Stores a content from the remote. Pending changes of the object stay applied on top of the remote's
  /// state.
  func receive(
    _ blob: FinishedBlob, _ object: StoredObject, endsArrival number: StagedNumber?
  ) throws(DocumentStoreError) {
    try objects.receive(blob, object, endsArrival: number)
  }

  /// Updates an object's attributes from the remote. Does nothing if a change is pending, or if the local
  /// content is not the content that the metadata describes. Returns the resulting object.
  package func receive(
    _ attributes: ObjectAttributes, _ remoteMetadata: RemoteObjectMetadata, at path: ObjectPath
  ) throws(DocumentStoreError) -> StoredObject? {
    _ = try objects.change { transaction throws(DocumentStoreError) in
      guard try transaction.document(at: OutboxRecord.base(path)) == nil,
        let document = try transaction.document(at: path.document)
      else { return nil }
      var object = try objects.object(of: document)
      guard object.remoteGeneration == remoteMetadata.generation else { return nil }
      object.attributes = attributes
      object.incrementMetageneration()
      object.changed = .epoch
      object.take(remoteMetadata)
      try transaction.write(.set(path.document, object.fields, transforms: object.missingTimes))
      return nil
    }
    return try objects.object(at: path)
  }

  /// Records that the remote has no object at this path. Deletes the local object, unless changes of it are
  /// pending.
  package func receiveAbsence(of path: ObjectPath) throws(DocumentStoreError) {
    var contents: Set<BlobID> = []
    _ = try objects.change { transaction throws(DocumentStoreError) in
      contents = []
      let place = OutboxRecord.base(path)
      let base = try transaction.document(at: place)
      let before = try transaction.document(at: path.document)
      if let base {
        if let blob = StoredObject(at: path, base.fields)?.blob { contents.insert(blob) }
        try transaction.write(.set(place, OutboxRecord.baseFields(nil)))
      } else if let before {
        if let blob = StoredObject(before)?.blob { contents.insert(blob) }
        try transaction.write(.delete(path.document))
      }
      return nil
    }
    for id in contents { _ = try? objects.collect(id) }
  }

  // MARK: Attaching a remote

  package func isRemoteMirror() throws(DocumentStoreError) -> Bool {
    try store.document(at: OutboxRecord.remote) != nil
  }

  /// Marks the buckets as mirrors of a remote.
  package func becomeRemoteMirror() throws(DocumentStoreError) {
    try store.commit([.set(OutboxRecord.remote, StoredMap())])
  }

  /// All local objects. Called when a remote is attached, to find the objects that were stored before.
  package func localObjects() throws(DocumentStoreError) -> [StoredObject] {
    try store.documents(StructuredQuery(.collectionGroup(ReservedPath.objects)))
      .compactMap(StoredObject.init)
  }

  /// Queues the upload of a local object that the remote does not have.
  package func upload(_ object: StoredObject, session: String) throws(DocumentStoreError) {
    try queueing { number throws(DocumentStoreError) in
      _ = try objects.change { transaction throws(DocumentStoreError) in
        let place = OutboxRecord.base(object.path)
        guard try transaction.document(at: place) == nil,
          let document = try transaction.document(at: object.path.document)
        else { return nil }
        let change = QueuedChange(
          number: number, path: object.path, kind: .put(try objects.object(of: document)), session: session)
        try transaction.write(.set(place, OutboxRecord.baseFields(nil)))
        try write(change, transaction)
        return nil
      }
    }
  }
}

/// The outbox and the upload session for a change that stores a content for an object.
struct ObjectQueue {
  let outbox: ObjectOutbox
  let session: String
  /// Called while no other change is being created.
  let queued: (QueuedChange) -> Void
}

extension ObjectStore {
  package var outbox: ObjectOutbox { ObjectOutbox(self) }

  /// Stores the remote's object. If changes are pending, only the separate record of the remote's state is
  /// written.
  fileprivate func receive(
    _ blob: FinishedBlob, _ object: StoredObject, endsArrival number: StagedNumber?
  ) throws(DocumentStoreError) {
    let put = state.beginPut()
    defer { state.endPut(put) }
    let hold = try hold(blob)
    defer { release(of: hold) }
    var old: BlobID?
    do throws(DocumentStoreError) {
      try change { transaction throws(DocumentStoreError) in
        let place = OutboxRecord.base(object.path)
        let isWaiting = try transaction.document(at: place) != nil
        let target = isWaiting ? place : object.path.document
        old = try transaction.document(at: target).flatMap { StoredObject(at: object.path, $0.fields)?.blob }
        try transaction.write(.set(target, object.fields, transforms: object.missingTimes))
        if let home = hold.newPlace { try transaction.write(BlobRecord.mutation(blob.id, at: home)) }
        if let number { try transaction.write(.delete(ArrivalRecord.path(number))) }
        return nil
      }
      noteReplaced(hold)
    } catch {
      forget(hold, after: error)
      throw error
    }
    if let old, old != blob.id { _ = try? collect(old) }
  }
}
