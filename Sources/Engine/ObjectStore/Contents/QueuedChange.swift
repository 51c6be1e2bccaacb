// Object changes that a remote has not acknowledged, and the remote's state of these objects.
//
//   record of a change      __outbox__ / changes / __objects__ / number, 20 digits
//   what the remote has     __outbox__ / =bucket / __objects__ / =name    shifted as in ObjectName.swift
//   that there is a remote  __outbox__ / remote
//
// An object's own record shows the state that the user sees. While changes of the object are pending, the
// remote's state is stored separately, in case a change is refused or cancelled. Both kinds of records lie
// in collections of objects, so the index on contents finds their references, too, and keeps the contents
// alive.

package import DocumentStore

/// One pending change of one object.
package struct QueuedChange: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case put(StoredObject)
    case update(AttributeChanges)
    case delete
  }

  /// Ascending in queue order.
  package var number: Int64
  package var path: ObjectPath
  package var kind: Kind
  /// The id of the upload session at the remote.
  package var session: String
  /// The local commit time of the change.
  package var time = StoredTimestamp.epoch

  package var put: StoredObject? { if case .put(let object) = kind { object } else { nil } }

  /// The object after this change; nil if it does not exist.
  func applied(to object: StoredObject?) -> StoredObject? {
    switch kind {
    case .put(let new): return new
    case .delete: return nil
    case .update(let changes):
      guard var object else { return nil }
      changes.apply(to: &object.attributes)
      object.incrementMetageneration()
      object.changed = time
      return object
    }
  }
}

enum OutboxRecord {
  private static let outbox = "__outbox__"
  static let changes = CollectionPath(unchecked: [outbox, "changes", ReservedPath.objects])
  static let remote = DocumentPath(unchecked: [outbox, "remote"])

  private static let kind = "kind"
  private static let bucket = "bucket"
  private static let name = "name"
  private static let session = "session"
  private static let absent = "absent"
  private static let time = "queued"
  private static let timeField = StoredFieldPath(unchecked: [time])
  /// `replace` is from an earlier version: it holds all attributes instead of the changed ones.
  private static let (put, replace, delete, update) = (Int64(0), Int64(1), Int64(2), Int64(3))

  /// Indexed to find the changes of an object. The index also finds changes of objects with this name in
  /// other buckets.
  static let nameField = StoredFieldPath(unchecked: [name])

  static func change(_ number: Int64) -> DocumentPath {
    let digits = String(number)
    let id = String(repeating: "0", count: max(0, 20 - digits.count)) + digits
    return DocumentPath(unchecked: changes.segments + [id])
  }

  /// Nil if the path is not a valid path of a change. A record at an invalid path could not be found by its
  /// number.
  static func number(_ path: DocumentPath) -> Int64? {
    // A store never reaches numbers near the maximum.
    guard let number = Int64(path.id), (1..<Int64.max / 2).contains(number) else { return nil }
    return change(number) == path ? number : nil
  }

  static func base(_ path: ObjectPath) -> DocumentPath {
    DocumentPath(unchecked: bases(ofBucket: path.bucket).segments + [path.name.id])
  }

  /// One record for each object whose local state differs from the remote's.
  static func bases(ofBucket bucket: String) -> CollectionPath {
    CollectionPath(unchecked: [outbox, ShiftedText.id(of: bucket), ReservedPath.objects])
  }

  static func fields(_ change: QueuedChange) -> StoredMap {
    var fields: StoredMap
    switch change.kind {
    case .put(let object):
      fields = object.fields
      fields[kind] = .integer(put)
    case .update(let changes):
      fields = StoredMap([(kind, .integer(update))])
      changes.add(to: &fields)
    case .delete: fields = StoredMap([(kind, .integer(delete))])
    }
    fields[bucket] = .string(change.path.bucket)
    fields[name] = .string(change.path.name.text)
    fields[session] = .string(change.session)
    return fields
  }

  static func transforms(_ change: QueuedChange) -> [FieldTransform] {
    [FieldTransform(timeField, .serverTimestamp)] + (change.put == nil ? [] : StoredObject.commitTimes)
  }

  /// Nil if the document is not a valid record of a change.
  static func change(_ document: StoredDocument) -> QueuedChange? {
    let fields = document.fields
    guard let number = number(document.path), case .integer(let kind)? = fields[kind],
      let bucket = fields[bucket]?.plainText, let session = fields[session]?.plainText,
      let name = fields[name]?.plainText.flatMap({ try? ObjectName($0) })
    else { return nil }
    let path = ObjectPath(bucket: bucket, name: name)
    let what: QueuedChange.Kind
    switch kind {
    case put:
      guard let object = StoredObject(at: path, fields) else { return nil }
      what = .put(object)
    case replace: what = .update(AttributeChanges(replacingAllWith: ObjectAttributes(fields)))
    case update: what = .update(AttributeChanges(fields))
    case delete: what = .delete
    default: return nil
    }
    var change = QueuedChange(number: number, path: path, kind: what, session: session)
    if case .timestamp(let time)? = fields[time] { change.time = time }
    return change
  }

  static func baseFields(_ object: StoredObject?) -> StoredMap {
    object?.fields ?? StoredMap([(absent, .boolean(true))])
  }
}
