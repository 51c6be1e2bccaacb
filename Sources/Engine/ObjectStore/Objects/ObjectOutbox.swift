// Changing objects of which a remote has the last word.
//
//   queue         a change happens here at once, and its record waits; both are one commit
//   acknowledge   the remote has it: what the remote has is different now
//   take back     the remote refused it, or its user did: what the remote has stays, and what waits is laid over it anew
//
// The law:   object = what the remote has + the changes that wait, in their order

import ByteStore
package import DocumentStore

/// The queue of a store whose buckets are those of a remote. A value that can be made anew at any time.
package struct ObjectOutbox: Sendable {
  let objects: ObjectStore
  private var store: DocumentStore { objects.store }

  init(_ objects: ObjectStore) { self.objects = objects }

  // MARK: Looking

  /// All that waits, in order.
  package func changes() throws(DocumentStoreError) -> [QueuedChange] {
    try store.documents(Self.inOrder(StructuredQuery(.collection(OutboxRecord.changes))))
      .compactMap(OutboxRecord.change)
  }

  /// Whether anything waits.
  package func hasChanges() throws(DocumentStoreError) -> Bool { try lastNumber() > 0 }

  /// The greatest number that a record has, and be it damaged: no other one takes its place. What has none is no record of
  /// ours, and is passed over. 0 if there is none.
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

  /// Whether the object is not yet as the remote has it.
  package func isWaiting(_ path: ObjectPath) throws(DocumentStoreError) -> Bool {
    try store.document(at: OutboxRecord.base(path)) != nil
  }

  private static func inOrder(_ query: StructuredQuery) throws(DocumentStoreError) -> StructuredQuery {
    try query.ordered(by: OrderBy(.documentID))
  }

  /// Of all objects with this name, whatever their buckets are: to settle a change reads no others, however many wait.
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

  /// The objects of a folder of which changes wait, and whether they are here: those behind the entry `last`, up to the
  /// entry `end` and what is in it. `prefix` is empty or ends with a slash.
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

  /// Finishes an upload: the object is here at once, and the change waits. What takes long is done before others have to
  /// wait for it. `queued` is called in the order of the changes' numbers, while no other one is made.
  package func finish(
    _ upload: ObjectUpload, token: String, queued: @escaping (QueuedChange) -> Void = { _ in }
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange) {
    let before = try objects.object(at: upload.path)
    var made: QueuedChange?
    let queue = ObjectQueue(outbox: self, session: upload.session) { change in
      made = change
      queued(change)
    }
    let object = try upload.finish(token: token, for: queue)
    guard let made else { preconditionFailure("a change that was made") }
    if let before, before.blob != object.blob { _ = try? objects.collect(before.blob) }
    return (object, made)
  }

  /// Nil if there is no such object here.
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
        object.countChange()
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

  /// Also of an object that is not here: the remote may have it. Nil if what waits has left nothing to delete.
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

  /// Part of the transaction that makes a change: its last reads, and its first writes.
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

  /// The remote has done it: a content has the standing that the remote gave it. Returns what the remote has then; nil if
  /// the change does not wait any more.
  package func acknowledge(
    _ change: QueuedChange, _ standing: ObjectStanding?
  ) throws(DocumentStoreError) -> StoredObject?? {
    try settle(change) { base, stored in
      var object = stored.applied(to: base)
      if let standing { object?.take(standing) }
      return object
    }
  }

  /// The remote has no such object, so that it could not be changed.
  package func findAbsent(_ change: QueuedChange) throws(DocumentStoreError) {
    _ = try settle(change) { _, _ in nil }
  }

  /// It has not happened, and will not. False for what is not waiting any more.
  @discardableResult
  package func takeBack(_ change: QueuedChange) throws(DocumentStoreError) -> Bool {
    try settle(change) { base, _ in base } != nil
  }

  /// What the remote has then; nil if the change does not wait any more.
  private func settle(
    _ change: QueuedChange, _ body: (_ base: StoredObject?, _ stored: QueuedChange) -> StoredObject?
  ) throws(DocumentStoreError) -> StoredObject?? {
    var result: StoredObject??
    // In an order that is always the same.
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
      // With the times of its commit, which the record has.
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
    // What no record has any more.
    for (place, id) in contents.enumerated() where !contents[..<place].contains(id) {
      _ = try? objects.collect(id)
    }
    return result
  }

  // MARK: What the remote has

  /// A content that came from the remote. What waits stays laid over it.
  func receive(
    _ blob: FinishedBlob, _ object: StoredObject, endsArrival number: StagedNumber?
  ) throws(DocumentStoreError) {
    try objects.receive(blob, object, endsArrival: number)
  }

  /// What the remote says of the content that is here. Nothing happens if a change waits by now, or another content has
  /// come. Returns the object as it is then.
  package func receive(
    _ attributes: ObjectAttributes, _ standing: ObjectStanding, at path: ObjectPath
  ) throws(DocumentStoreError) -> StoredObject? {
    _ = try objects.change { transaction throws(DocumentStoreError) in
      guard try transaction.document(at: OutboxRecord.base(path)) == nil,
        let document = try transaction.document(at: path.document)
      else { return nil }
      var object = try objects.object(of: document)
      guard object.remoteGeneration == standing.generation else { return nil }
      object.attributes = attributes
      object.countChange()
      object.changed = .epoch
      object.take(standing)
      try transaction.write(.set(path.document, object.fields, transforms: object.timesToCome))
      return nil
    }
    return try objects.object(at: path)
  }

  /// The remote has no such object.
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

  // MARK: Whose the buckets are

  package func isRemotes() throws(DocumentStoreError) -> Bool {
    try store.document(at: OutboxRecord.remote) != nil
  }

  /// From now on the buckets are a remote's.
  package func belongToRemote() throws(DocumentStoreError) {
    try store.commit([.set(OutboxRecord.remote, StoredMap())])
  }

  /// Objects that were here before there was a remote.
  package func ownObjects() throws(DocumentStoreError) -> [StoredObject] {
    try store.documents(StructuredQuery(.collectionGroup(ReservedPath.objects)))
      .compactMap(StoredObject.init)
  }

  /// Has an object that is here, and that the remote does not know, wait for it.
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

/// Where the change goes that gives an object a content.
struct ObjectQueue {
  let outbox: ObjectOutbox
  let session: String
  /// Called while no other change is made.
  let queued: (QueuedChange) -> Void
}

extension ObjectStore {
  package var outbox: ObjectOutbox { ObjectOutbox(self) }

  /// The object as the remote has it, unless changes of it wait: then it stands beside it.
  fileprivate func receive(
    _ blob: FinishedBlob, _ object: StoredObject, endsArrival number: StagedNumber?
  ) throws(DocumentStoreError) {
    let put = state.beginPut()
    defer { state.endPut(put) }
    let hold = try hold(blob)
    defer { letGo(of: hold) }
    var old: BlobID?
    do throws(DocumentStoreError) {
      try change { transaction throws(DocumentStoreError) in
        let place = OutboxRecord.base(object.path)
        let isWaiting = try transaction.document(at: place) != nil
        let target = isWaiting ? place : object.path.document
        old = try transaction.document(at: target).flatMap { StoredObject(at: object.path, $0.fields)?.blob }
        try transaction.write(.set(target, object.fields, transforms: object.timesToCome))
        if let home = hold.newPlace { try transaction.write(BlobRecord.mutation(blob.id, at: home)) }
        if let number { try transaction.write(.delete(ArrivalRecord.path(number))) }
        return nil
      }
      mended(hold)
    } catch {
      forget(hold, after: error)
      throw error
    }
    if let old, old != blob.id { _ = try? collect(old) }
  }
}
