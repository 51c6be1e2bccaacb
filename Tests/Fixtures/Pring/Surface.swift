// Code as written for the original Pring, without the parts that need Objective-C's runtime. It uses
// every call of the layer. It must compile in Swift 5 and Swift 6 mode, and is never run.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import Pring

private class Base: Object {
  @objc enum Rank: Int { case low, high }

  dynamic var name: String?
  dynamic var age: Int = 0
  dynamic var rank: Rank = .low
  dynamic var tags: Set<String> = ["a"]
  dynamic var map: [String: Any] = [:]
  dynamic var place: GeoPoint?
  dynamic var thumbnail: File?
  dynamic var pictures: [File] = []
  dynamic var nested: Inner?
  let list: List<Inner> = []
  let items: NestedCollection<Item> = []
  dynamic var others: NestedCollection<Item> = []
  let friends: ReferenceCollection<Base> = []
  let owner: Reference<Base> = .init()
  let guest: Relation<Base> = .init()
  @Field var touched: String?

  override class var modelVersion: Int { return 2 }
  override class var modelName: String { return "base" }
  override class var path: String { return "custom/path/base" }
  override class var reference: CollectionReference { return Firestore.firestore().collection(path) }
  override class var storageRef: StorageReference { return Storage.storage().reference().child(path) }
  override class var shouldBeReplicated: Bool { return true }
  override var storageRef: StorageReference { return Storage.storage().reference().child("x").child(id) }
  override var ignore: [String] { return ["age"] }

  override func encode(_ key: String, value: Any?) -> Any? {
    switch key {
    case "rank": return self.rank.rawValue
    default: return nil
    }
  }

  override func decode(_ key: String, value: Any?) -> Bool {
    switch key {
    case "rank":
      guard let raw = value as? Int, let rank = Rank(rawValue: raw) else { return false }
      self.rank = rank
      return true
    default: return false
    }
  }
}

private class Inner: Object { dynamic var text: String? }

private final class Item: Object {
  dynamic var name: String?
  dynamic var price: Double = 0
  let deeper: NestedCollection<Inner> = []
}

private func objects(snapshot: DocumentSnapshot) {
  let base = Base()
  _ = [Base(id: "a"), Base(id: "a", value: ["name": "x"]), Base(snapshot: snapshot)!]
  let texts: [String] = [Base.path, Base.modelName, base.path, base.id, base.description]
  let dictionaries: [[String: Any]] = [base.rawValue, base.value, base.updateValue]
  let times: (Timestamp, Timestamp) = (base.createdAt, base.updatedAt)
  base.createdAt = Timestamp(date: Date())
  base.id = "b"
  base.snapshot = snapshot
  base.setReference(Firestore.firestore().document("a/b"))
  base.update(key: "name", value: FieldValue.delete())
  base.updateValue = [:]
  base["name"] = "x"
  let isSame: Bool = base == Base() && base.isSaved && Set([base]).contains(base)
  let children: [Mirror.Child] = base.allChildrenUpToRootObject
  let parent: Object? = base.parent
  let sorted: [Base] = [base].sort(sortDescriptors: [NSSortDescriptor(keyPath: \Base.age, ascending: true)])
  _ = (texts, dictionaries, times, isSame, children, parent, base.key as String?, sorted, base.uploadQueue)
  _ = (Base.modelVersion, Base.reference, Base.storageRef, base["name"] as? String, base.batchID as String?)
}

private func writing(_ base: Base) {
  base.save()
  base.save { (reference: DocumentReference?, error: Error?) in _ = (reference, error) }
  let tasks: [String: StorageUploadTask] = base.save { ref, error in print(ref!.documentID, error as Any) }
  tasks["thumbnail"]?.cancel()
  base.save(Firestore.firestore().batch())
  base.save(Firestore.firestore().batch()) { _, error in print(error as Any) }
  base.update()
  base.update { error in print(error?.localizedDescription as Any) }
  base.update(Firestore.firestore().batch(), block: { _ in })
  base.delete()
  base.delete { error in print(error as Any) }
  let batch: WriteBatch = Firestore.firestore().batch()
  batch.add(.save, object: base)
  base.pack(.update, batch: batch)
  base.batch(.update, completion: "id")
  batch.add(.delete, object: base).commit { error in print(error as Any) }
}

private func reading(_ base: Base) -> [AnyObject] {
  Base.get("a") { (base: Base?, error: Error?) in print(base?.name as Any, error as Any) }
  let first: ListenerRegistration = Base.listen("a") { base, error in print(base as Any, error as Any) }
  let second: Disposer<Base> = Base.listen("a") { base, error in print(base as Any, error as Any) }
  let third: ListenerRegistration = base.listen { base, error in print(base as Any, error as Any) }
  let fourth: Disposer<Base> = base.listen { base, error in print(base as Any, error as Any) }
  base.reference.get(Base()) { other, error in print(other as Any, error as Any) }
  first.remove()
  third.remove()
  second.dispose()
  let any: AnyDisposer = fourth.toAny()
  any.dispose()
  let nothing = AnyDisposer()
  let kind = Disposer<Base>.ObserveType.none
  return [second, fourth, any, nothing, Disposer<Base>(kind), NoDisposer(), any.base as AnyObject]
}

private func collections(_ base: Base) {
  let item = Item()
  base.items.insert(item)
  base.items.insert([item])
  base.items.remove(item)
  base.items.remove("a")
  base.items.contains("a") { isThere in print(isThere) }
  base.items.delete(id: "a")
  base.items.delete(id: "a") { error in print(error as Any) }
  base.items.get { snapshot, items in print(snapshot as Any, items) }
  base.items.get(base.items.where("name", isEqualTo: "a")) { _, items in print(items.count) }
  base.items.get("a") { item, error in print(item as Any, error as Any) }
  let listener: ListenerRegistration = base.items.listen("a") { item, error in
    print(item as Any, error as Any)
  }
  let disposer: Disposer<Item> = base.items.listen("a") { item, error in print(item as Any, error as Any) }
  listener.remove()
  disposer.dispose()
  base.items.doc("x").deeper.doc("y").update()
  let names: [String?] = base.items.map { $0.name }
  let first: Item? = base.items.first
  let index: Int? = base.items.index(of: item)
  let places: [Item] = base.items.objects(at: IndexSet(integer: 0))
  _ = (
    names, first, index, places, base.items[0], base.items.count, base.items.isEmpty, base.items.references
  )
  _ = (base.items.path, base.items.reference, base.items.isSaved, base.items.description)
  base.friends.insert(base)
  base.friends.remove(base)
  base.friends.remove(base, hard: true)
  base.friends.remove("a", hard: true)
  base.friends.doc("x").items.insert(item)
  base.friends.pack(.save)
  base.owner.set(base)
  base.owner.get { owner, error in print(owner as Any, error as Any) }
  base.owner.delete()
  base.owner.object = base
  base.owner.documentReference = base.reference
  base.guest.set(base)
  base.guest.id = "x"
  base.guest.get { guest, error in print(guest as Any, error as Any) }
  base.guest.delete()
  _ = (
    base.owner.id, base.owner.value, base.guest.value, base.guest.object, base.owner.parent, base.owner.key
  )
  base.list.append(Inner())
  base.list.remove(base.list[0])
  let inner: Inner = base.list["a"]
  _ = (inner, base.list.keys, base.list.count, base.list.first, base.list.value, base.list.updateValue)
  base.list.setValue([:])
}

private func files(_ base: Base) {
  let file = File(data: Data(), name: "a", mimeType: .jpeg)
  _ = [File(name: "a"), File(data: Data()), File(data: Data(), mimeType: .octetStream("bin"))]
  _ = [
    File(url: URL(fileURLWithPath: "/a")), File(url: URL(fileURLWithPath: "/a"), mimeType: .custom("a", "b")),
  ]
  base.thumbnail = file
  base.thumbnail = File.delete()
  file.isDeleted = true
  file.additionalData = ["a": 1]
  file.metadata = StorageMetadata()
  let task: StorageDownloadTask? = file.getData(1000) { data, error in print(data as Any, error as Any) }
  file.getData { data, error in print(data as Any, error as Any) }?.cancel()
  _ = (task, file.ref, file.name, file.url, file.data, file.isSaved, file.shouldBeSaved, file.downloadURL)
  _ = (file.value, file.uploadTask, file.downloadTask, file.parent, file.key, file.description)
  _ = (base.shouldUploadFiles("a"), base.timeout)
  base.saveFiles("a") { error in print(error as Any) }
  base.deleteFiles("a", container: nil) { error in print(error as Any) }
}

private func queries(_ base: Base, _ snapshot: DocumentSnapshot) {
  _ = Base.where(\.name, isEqualTo: "a").where(\Base.age, isLessThan: 1).where(\.age, isLessThanOrEqualTo: 1)
  _ = Base.where(\Base.age, isGreaterThan: 1).where(\.age, isGreaterThanOrEqualTo: 1).where(
    \.tags, arrayContains: "a")
  _ = Base.where("name", isEqualTo: "a").where("age", isLessThan: 1).where("age", isLessThanOrEqualTo: 1)
  _ = Base.where("age", isGreaterThan: 1).where("age", isGreaterThanOrEqualTo: 1).where(
    "tags", arrayContains: "a")
  _ = Base.order(by: \Base.age).order(by: \.updatedAt, descending: true).order(by: "a").order(
    by: "b", descending: true)
  _ = Base.limit(to: 1).start(at: [1]).start(after: [1]).end(at: [1]).end(before: [1])
  _ = Base.query.start(atDocument: snapshot).start(afterDocument: snapshot)
  _ = Base.query.end(atDocument: snapshot).end(beforeDocument: snapshot)
  _ = base.items.where(\Item.price, isEqualTo: 1).order(by: \Item.price).limit(to: 1)
  _ = base.items.order(by: "price", descending: true).query(base)
  _ = base.friends.where(\Base.name, arrayContains: 1).filter(using: NSPredicate(value: true))
  _ = base.friends.filter(using: NSPredicate { _, _ in true })
  _ = base.friends.query.listen { snapshot, error in print(snapshot as Any, error as Any) }
  base.items.query.get { snapshot, error in print(snapshot as Any, error as Any) }
  _ = DataSource<Base>.Query(Base.reference)
  _ = DataSource<Base>.Query(Base.reference.limit(to: 1), reference: Base.reference, hasRealities: false)
}

extension DataSource.Query { fileprivate func query(_ base: Base) -> Self { return self } }

private final class Screen {
  var dataSource: DataSource<Base>?
  var inner: DataSource<Item>.Query?

  func show() {
    let options: Options = Options()
    options.timeout = 5
    options.includeMetadataChanges = false
    options.listeningChangeTypes = [.added, .modified]
    options.predicate = NSPredicate { _, _ in true }
    options.sortDescriptors = [NSSortDescriptor(keyPath: \Base.updatedAt, ascending: false)]
    self.dataSource = Base.order(by: \Base.updatedAt).limit(to: 30).dataSource(options: options)
      .on({ [weak self] (snapshot, changes) in
        _ = self
        switch changes {
        case .initial: print("reload")
        case .update(let deletions, let insertions, let modifications):
          print(deletions, insertions, modifications, snapshot as Any)
        case .error(let error): print(error)
        }
      })
      .on(parse: { (_, base, done) in
        base.owner.get { (_, _) in done(base) }
      })
      .onCompleted { (_, bases) in print(bases.keys) }
      .onError { (_, error) in print(error.kind == .timeout, error.description) }
      .listen()
    dataSource?.get()
    dataSource?.next()
    dataSource?.next { isLast in print(isLast) }
    dataSource?.removeDocument(at: 0)
    dataSource?.removeDocument(at: 0) { (key, error) in print(key, error as Any) }
    let disposer = dataSource?.observeObject(at: 0) { base, error in print(base as Any, error as Any) }
    disposer?.dispose()
    dataSource?.stop()
    _ = (
      dataSource?.isLast, dataSource?.count, dataSource?.first, dataSource?[0],
      dataSource?.documents.index(of: "a")
    )
    let local: DataSource<Base> = [Base()]
    local.insert(Base())
    local.remove(local[0])
    local.forEach { print($0) }
    let change: Change = (deletions: [0], insertions: [1], modifications: [])
    _ = (local, change, DataSource([Base()]), CollectionChange.update(change))
  }
}

private func transactions(_ base: Base, _ done: @escaping @Sendable (Error?) -> Void) {
  Firestore.firestore().runTransaction({ (transaction, errorPointer) -> Any? in
    let document: DocumentSnapshot
    do {
      document = try transaction.getDocument(Base.reference.document("a"))
    } catch let error as NSError {
      errorPointer?.pointee = error
      return nil
    }
    let count = document.data()?["count"] as? Int ?? 0
    transaction.updateData(["count": count + 1], forDocument: document.reference)
    return count + 1
  }) { (_, error) in
    done(error)
  }
}

private func types() -> [Any] {
  let kinds: [DataType] = [DataType(key: "a", value: 1), DataType(key: "a", value: "", data: ["a": "b"])]
  let batchTypes: [BatchType] = [.save, .update, .delete]
  func kind(_ type: DataType) -> String {
    switch type {
    case .string(let key, let raw, let value): return key + raw + value
    case .collection(let key, _, let collection): return key + collection.path
    default: return ""
    }
  }
  let parts: [StorageLinkable & HasParent] = [Reference<Base>(), Relation<Base>()]
  let error: Error? = Optional<DocumentError>.none
  return [
    kinds.map(kind), batchTypes, parts, error as Any, UploadContainer?.none as Any,
    DeleteContainer?.none as Any,
  ]
}
