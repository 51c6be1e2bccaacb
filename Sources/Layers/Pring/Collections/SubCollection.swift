// A collection below a document, as a property of the document's object.
//
// The members are the objects that were inserted or loaded here, not necessarily all documents of the
// collection. Insertions and removals since the last write of the parent are stored by id. Only the last
// action for an id is stored. A successful write removes the actions that it included.

import FirebaseCore
public import FirebaseFirestore
public import FirebaseStorage
public import Foundation
import LayerKit

/// A collection below the document of its parent. A `NestedCollection` contains the documents of its members.
/// A `ReferenceCollection` contains links to documents in other collections.
open class SubCollection<T: Document>: AnySubCollection, ExpressibleByArrayLiteral {
  public typealias ArrayLiteralElement = T

  public weak var parent: Object?
  public var key: String?
  public var batchID: String?
  var pringMembers: [T]
  /// The last reference of the parent. Needed when the collection outlives its parent object, as in
  /// `room.doc("a").items`.
  var pringLastParent: DocumentReference?

  private enum Action {
    case insert
    case remove(hard: Bool)
  }

  /// The action for a member in the parent's next write.
  private struct PendingAction {
    var number: Int
    var action: Action
    var member: T?
  }

  private var pending: [ExactKey: PendingAction] = [:]
  private var lastNumber = 0

  /// Creates a collection with these objects, which are saved with the parent.
  public init(_ elements: [ArrayLiteralElement]) {
    pringMembers = elements
    for element in elements { note(.insert, element.id, member: element) }
  }

  public required convenience init(arrayLiteral elements: ArrayLiteralElement...) { self.init(elements) }

  // MARK: Location

  public var path: String { reference.path }

  /// The reference of the collection. Traps if the collection belongs to no object.
  public var reference: CollectionReference {
    guard let key, let place = parent?.reference ?? pringLastParent else {
      ProgrammerError.trap(
        "A collection is found below the document of its object: make it a property of a class that inherits from "
          + "Object.")
    }
    return place.collection(key)
  }

  public func setParent(_ object: Object, forKey key: String) {
    let isNew = parent !== object || self.key != key
    parent = object
    self.key = key
    // The members of an array literal were inserted before the parent was known.
    if isNew { for member in pringMembers { pringAttach(member) } }
  }

  /// Whether the parent is saved.
  public var isSaved: Bool { parent?.isSaved ?? false }

  // MARK: Members

  public var count: Int { pringMembers.count }

  public var references: [String: Any] {
    Dictionary(pringMembers.map { ($0.id, $0.value) }, uniquingKeysWith: { $1 })
  }

  public func setValue(_ value: Any?, forKey key: String) {
    for member in pringMembers { (member as? Object)?[key] = value }
  }

  /// Returns the objects at these indexes.
  public func objects(at indexes: IndexSet) -> [Element] { indexes.map { pringMembers[$0] } }

  /// Inserts a member, or replaces an equal member. The next write of the parent writes the new member.
  public func insert(_ newMember: Element) {
    pringAttach(newMember)
    if let index = pringMembers.firstIndex(where: { $0 == newMember }) {
      pringMembers[index] = newMember
    } else {
      pringMembers.append(newMember)
    }
    note(.insert, newMember.id, member: newMember)
  }

  /// Inserts objects.
  public func insert(_ newMembers: [Element]) {
    for member in newMembers { insert(member) }
  }

  /// Removes a member. The next write of the parent deletes the member's document from the collection.
  public func remove(_ member: Element) { pringRemove(member.id, hard: false, member: member) }

  /// Removes the member with this id.
  public func remove(_ id: String) { pringRemove(id, hard: false, member: nil) }

  func pringRemove(_ id: String, hard: Bool, member: Element?) {
    let known = member ?? pringMembers.first { ExactKey($0.id) == ExactKey(id) }
    pringMembers.removeAll { ExactKey($0.id) == ExactKey(id) }
    note(.remove(hard: hard), id, member: known)
    if let known { pringDetach(known) }
  }

  private func note(_ action: Action, _ id: String, member: T?) {
    lastNumber += 1
    pending[ExactKey(id)] = PendingAction(number: lastNumber, action: action, member: member)
  }

  /// Points an inserted member at its document below the parent.
  func pringAttach(_ member: T) {
    guard parent != nil, key != nil else { return }
    let place = reference.document(member.id)
    guard member.reference != place else { return }
    member.setReference(place)
    // This collection has no document of the member yet, even if another collection has one.
    (member as? Object)?.isSaved = false
  }

  /// Points a removed member at the collection of its class, where the member counts as not saved.
  func pringDetach(_ member: T) {
    member.setReference(T.reference.document(member.id))
    (member as? Object)?.isSaved = false
  }

  // MARK: Stored documents

  /// Passes whether the collection in the database has a document with this id.
  public func contains(_ id: String, block: @escaping (Bool) -> Void) {
    reference.document(id).getDocument { snapshot, _ in block(snapshot?.exists ?? false) }
  }

  /// Deletes the document from this collection at once, without a write of the parent.
  public func delete(id: String, block: (((any Error)?) -> Void)? = nil) {
    pringMembers.removeAll { ExactKey($0.id) == ExactKey(id) }
    pending[ExactKey(id)] = nil
    reference.document(id).delete(completion: block)
  }

  /// Loads the result of the query, or all documents if there is no query. The loaded objects replace the
  /// members.
  public func get(_ query: DataSource<T>.Query? = nil, block: ((QuerySnapshot?, [T]) -> Void)?) {
    (query ?? self.query).objects { [self] snapshot, objects, error in
      if error == nil { pringMembers = objects }
      block?(snapshot, objects)
    }
  }

  /// Returns an object for this id, without a read. The object counts as saved.
  public func doc(_ id: String) -> T {
    let object = T(id: id, value: [:])
    object.setReference(reference.document(id))
    return object
  }

  /// A human-readable description.
  public var description: String { "\(type(of: self)) \(pringMembers)" }

  // MARK: Writing

  @discardableResult
  public func pack(_ type: BatchType, batch: WriteBatch) -> WriteBatch {
    packMembers(type, batch)
    return batch
  }

  private func packMembers(_ type: BatchType, _ batch: WriteBatch) {
    if type == .delete {
      for member in pringMembers { pringPackRemoval(member.id, member, hard: false, batch: batch) }
      return
    }
    for member in pringWrittenMembers {
      pringAttach(member)
      pringPackMember(member, type, batch: batch)
    }
    for (id, entry) in pending.sorted(by: { $0.value.number < $1.value.number }) {
      guard case .remove(let hard) = entry.action else { continue }
      pringPackRemoval(id.text, entry.member, hard: hard, batch: batch)
    }
    let carried = pending.mapValues(\.number)
    Packing.of(batch).onEnd { [self] error in
      guard error == nil else { return }
      for (id, number) in carried where pending[id]?.number == number { pending[id] = nil }
    }
  }

  /// The members that a write includes: all members if the parent is new, otherwise only the inserted
  /// members.
  var pringWrittenMembers: [T] {
    let inserted = pending.sorted { $0.value.number < $1.value.number }.compactMap { _, entry -> T? in
      if case .insert = entry.action { entry.member } else { nil }
    }
    guard !isSaved else { return inserted }
    return pringMembers + inserted.filter { member in !pringMembers.contains { $0 === member } }
  }

  func pringPackMember(_ member: T, _ type: BatchType, batch: WriteBatch) {
    member.pack(type, batch: batch)
  }

  func pringPackRemoval(_ id: String, _ member: T?, hard: Bool, batch: WriteBatch) {
    batch.deleteDocument(reference.document(id))
  }

  /// Adds the deletions of the loaded members to the batch. Also adds the deletions of the members that are
  /// loaded in their own collections.
  func pringPackMemberDeletions(_ batch: WriteBatch) {
    for member in pringMembers {
      let place = reference.document(member.id)
      if let object = member as? Object, object.reference == place {
        object.pringPackDeletionWithMembers(batch)
      } else {
        batch.deleteDocument(place)
      }
    }
  }

  public func batch(_ type: BatchType, completion batchID: String) {
    guard self.batchID != batchID else { return }
    self.batchID = batchID
    for member in type == .delete ? [] : pringWrittenMembers { member.batch(type, completion: batchID) }
    pending = [:]
  }

  // MARK: Files

  public func shouldUploadFiles(_ id: String) -> Bool {
    pringWrittenMembers.contains { $0.shouldUploadFiles(id) }
  }

  @discardableResult
  public func saveFiles(
    _ id: String, container: UploadContainer? = nil, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask] {
    let all = container ?? UploadContainer()
    for object in pringWrittenObjects { object.pringCollectFiles(into: all, "\(key ?? "").\(object.id).") }
    guard container == nil, !all.files.isEmpty else {
      block?(nil)
      return [:]
    }
    return all.begin(on: reference.firestore.callbackQueue, block)
  }

  /// Deletes the files of the loaded members.
  public func deleteFiles(
    _ id: String, container: DeleteContainer? = nil, block: (((any Error)?) -> Void)? = nil
  ) {
    let all = container ?? DeleteContainer()
    for member in pringMembers { member.deleteFiles(id, container: all, block: nil) }
    guard container == nil else {
      block?(nil)
      return
    }
    all.begin(on: reference.firestore.callbackQueue, block)
  }
}

extension SubCollection: PlacedCollection {}

extension SubCollection: WrittenObjects {
  var pringWrittenObjects: [Object] { pringWrittenMembers.compactMap { $0 as? Object } }
}

// MARK: One document

extension SubCollection {
  /// Reads the document with this id in this collection.
  public func get(_ id: String, block: @escaping (Element?, (any Error)?) -> Void) {
    reference.document(id).getDocument { snapshot, error in
      block(snapshot.flatMap { T(snapshot: $0) }, error)
    }
  }

  /// Listens to the document with this id in this collection.
  public func listen(
    _ id: String, block: @escaping (Element?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    T.pringListen(to: reference.document(id), block)
  }

  /// Calls `block` with the object of this id, now and after each change, until the disposer is freed.
  public func listen(
    _ id: String, block: @escaping (Element?, (any Error)?) -> Void
  ) -> Disposer<Element> {
    Disposer(.value(T.pringListen(to: reference.document(id), block)))
  }
}

// MARK: The loaded members

extension SubCollection: Collection {
  public typealias Element = T

  public var startIndex: Int { 0 }
  public var endIndex: Int { pringMembers.count }
  /// The first object; nil if there is none.
  public var first: T? { pringMembers.first }
  /// The last object; nil if there is none.
  public var last: T? { pringMembers.last }
  public subscript(i: Int) -> T { pringMembers[i] }

  /// Returns the index of the member with the same id.
  public func index(of element: T) -> Int? {
    pringMembers.firstIndex { ExactKey($0.id) == ExactKey(element.id) }
  }

  /// Returns the index of the first member that satisfies the predicate; nil if there is none.
  public func index(where predicate: (T) throws -> Bool) rethrows -> Int? {
    try pringMembers.firstIndex(where: predicate)
  }

  public func index(after i: Int) -> Int { i + 1 }
  public func index(_ i: Int, offsetBy n: Int) -> Int { i + n }

  public func index(_ i: Int, offsetBy n: Int, limitedBy limit: Int) -> Int? {
    pringMembers.index(i, offsetBy: n, limitedBy: limit)
  }
}

// MARK: Queries

extension SubCollection: QuerySteps {
  public typealias QueryElement = T

  /// The query of all documents of the collection. The documents of a reference collection are links.
  public var query: DataSource<T>.Query {
    DataSource.Query(reference, hasRealities: !(self is ReferenceCollection<T>))
  }

  public func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<T>.Query {
    query.refined(step)
  }
}
