// Code as written for the original Ballcap, changed only in its two imports. It uses every call of the
// layer that does not concern files; FileSurface has the others. It must compile in Swift 5 and Swift 6
// mode, and is never run.

import Ballcap
import FirebaseFirestore

private final class Shop: Object, DataRepresentable, DataListenable, DataCacheable, HierarchicalStructurable {
  override class var name: String { "shops" }
  struct Model: Codable, Modelable, Hashable {
    var title: String = ""
    var amount: IncrementableInt = 0
    var weight: IncrementableDouble = 0.5
    var tags: OperableArray<String> = ["a"]
    var seen: ServerTimestamp = .pending
    var opened: Timestamp = Timestamp(seconds: 0, nanoseconds: 0)
    var owner: DocumentReference?
  }
  enum CollectionKeys: String { case items }
  var data: Shop.Model?
  var listener: ListenerRegistration?
  var note = ""
}

/// A model outside of any class.
private struct Article: Codable, Modelable {
  static var name: String { "articles" }
  var title: String = ""
  var count: Int = 0
  var published: ServerTimestamp = .pending
}

/// In nested types of an object class, `ServerTimestamp` also means Ballcap's type.
private final class Visit: Object, DataRepresentable {
  struct Model: Codable, Modelable {
    var seen: ServerTimestamp = .pending
    var parts: [Part] = []

    struct Part: Codable, Equatable {
      var added: ServerTimestamp = .resolved(Timestamp(seconds: 0, nanoseconds: 0))
    }
  }
  var data: Visit.Model?

  func touch() {
    guard case ServerTimestamp.resolved(let time)? = data?.seen, time < Timestamp() else { return }
    data?.seen = ServerTimestamp.pending
  }
}

/// Firestore's wrapper needs its full name here, beside Ballcap's type.
private struct Stamped: Codable, Modelable {
  @FirebaseFirestore.ServerTimestamp var at: Timestamp?
  var seen: Ballcap.ServerTimestamp = .pending
}

private func identity() {
  let names: [String] = [Shop.name, Shop.path, Article.name, Article.path, Shop().id, Shop().path]
  let collections: [CollectionReference] = [Shop.collectionReference, Article.collectionReference]
  let parents: [DocumentReference?] = [Shop.parent, Article.parent]
  let description: String = Article().debugDescription + Shop().description
  _ = (names, collections, parents, description)
  let shop = Shop(id: "a")
  shop.set(documentReference: Shop.collectionReference.document("b"))
  let times: (Timestamp, Timestamp) = (shop.createdAt, shop.updatedAt)
  let snapshot: DocumentSnapshot? = shop.snapshot
  let isSame: Bool = shop == Shop(id: "b") && Set([shop]).contains(shop) && times.0 <= times.1
  _ = (snapshot, isSame, shop.shouldIncludedInTimestamp)
  BallcapApp.configure(Firestore.firestore().document("version/1"))
  BallcapApp.configure()
}

private func initialisers(snapshot: DocumentSnapshot) throws {
  let collection = Firestore.firestore().collection("other")
  let reference = collection.document("x")
  _ = [
    Shop(), Shop(collectionReference: collection), Shop(id: "a"),
    Shop(id: "a", collectionReference: collection),
  ]
  _ = Shop(id: "a", from: ["title": "x"])
  _ = Shop(id: "a", from: Shop.Model(), collectionReference: collection)
  _ = try Shop(documentReference: reference, from: [:])
  _ = Shop(documentReference: reference, from: Shop.Model())
  _ = try Shop(snapshot: snapshot)
  let document: Document<Article> = Document()
  _ = [document, Document<Article>(id: "a"), Document<Article>("ID"), Document(id: "a", from: [:])!]
  let copy: Document<Article> = document.copy()
  copy[\.title] = copy[\.title] + "!"
  copy.data?.count += 1
  let cached: Article? = copy.cache
  _ = cached
}

private func writing() {
  var finished = 0
  let document = Document<Article>(id: "a")
  document.save()
  document.save { _ in finished += 1 }
  document.save() { error in if error == nil { finished += 1 } }
  document.update()
  document.update { (error: Error?) in print(error as Any) }
  document.delete(completion: { _ in })
  document.save(reference: Article.collectionReference.document("b")) { _ in }
  document.update(reference: Article.collectionReference.document("b"))
  document.delete(reference: nil, completion: nil)
  document.merge(data: ["title": "x"])
  document.merge(reference: Article.collectionReference.document("b"), data: [:]) { _ in }
  let shop = Shop()
  shop.data?.amount = .increment(1)
  shop.data?.weight = .increment(0.5)
  shop.data?.tags = .arrayUnion(["b"])
  shop.update { error in finished += error == nil ? 1 : 0 }
  let others = [document]
  let collection = Firestore.firestore().collection("other")
  let batch = Batch()
  batch.save(document).save(shop, merge: true).update(document).delete(document)
  batch.save(document, to: collection).update(document, in: collection).delete(document, in: collection)
  batch.save(others, to: collection).update(others, in: collection).delete(others, in: collection)
  batch.save(document: document)
  batch.update(document: document)
  batch.delete(document: shop)
  batch.set(["a": 1], reference: collection.document("x"))
  batch.commit()
  Batch(firestore: Firestore.firestore()).commit { error in print(error as Any) }
  print(finished)
}

private func reading() {
  var titles: [String] = []
  let document: Document<Article> = Document<Article>(id: "a").get { document, error in
    if let title = document?.data?.title { titles.append(title) }
  }
  document.get()
  document.get(.cacheThenServer) { document, _ in print(document as Any) }
  Document<Article>.get(id: "a") { document, error in titles.append(document?.id ?? "") }
  Document<Article>.get(documentReference: Article.collectionReference.document("a"), source: .cache) {
    _, _ in
  }
  Shop.get(id: "a", source: .server) { shop, error in print(shop?[\.title] as Any) }
  let disposer: Disposer = Document<Article>.listen(id: "a") { document, error in titles.append("") }
  let other = Shop.listen(documentReference: Shop().documentReference, includeMetadataChanges: false) {
    _, _ in
  }
  let shop: Shop = Shop(id: "a").listen { shop, error in print(shop as Any) }
  shop.listen()
  let third: Disposer = shop.listen { shop, error in print(shop as Any) }
  let bag = DisposeBag()
  disposer.disposed(by: bag)
  bag.insert(other)
  let any: AnyDisposer = third.toAny()
  any.dispose()
  _ = [AnyDisposer().base, NoDisposer()]
  let empty = Disposer(.none)
  empty.dispose()
  shop.listener?.remove()
}

private func hierarchy() {
  let shop = Shop(id: "a")
  let items: CollectionReference = shop.collection(path: .items)
  print(shop.collection(path: .items).path, items)
  let query: DataSource<Document<Article>>.Query = shop.collection(path: .items)
  let article: Document<Article> = items.child(id: "x", type: Document<Article>.self)
  _ = (query, article)
}

/// A class whose objects exist only below other objects, and that has no model.
private final class Folder: Object, HierarchicalStructurable {
  enum CollectionKeys: String { case pages }
}

private func folders() {
  let folders = [Folder(), Folder(id: "a"), Folder(collectionReference: Folder.collectionReference)]
  let pages: CollectionReference = folders[0].collection(path: .pages)
  let query: DataSource<Document<Article>>.Query = folders[1].collection(path: .pages)
  _ = (pages, query)
}

private func disposing(_ registration: ListenerRegistration) {
  let kinds: [Disposer.ObserveType] = [.none, .array(registration), .value(registration)]
  let listener: ListenerRegistration? = kinds[1].listener
  let disposables: [ReferenceObservationDisposable] = [
    Disposer(kinds[2]), NoDisposer(), AnyDisposer(Disposer()),
  ]
  for disposable in disposables { disposable.dispose() }
  _ = listener
  do {
    throw DataCacheableError.serverValueHasNotBeenDetermined
  } catch DataCacheableError.serverValueHasNotBeenDetermined {
  } catch {}
}

private final class Screen {
  typealias Source = DataSource<Document<Article>>
  var source: Source?
  var rows: [Document<Article>] = []
  var isLast = false

  func show() {
    source = Document<Article>.order(by: "title").limit(to: 20).dataSource()
      .retrieve(from: { snapshot, documentSnapshot, done in
        Document<Article>.get(id: documentSnapshot.documentID) { article, error in done(article) }
      })
      .sorted(by: { $0.updatedAt > $1.updatedAt })
      .onChanged({ (snapshot, change) in
        self.rows = change.after
        let deleted = change.changes.deletions.compactMap { change.before.firstIndex(of: $0) }
        let inserted = change.changes.insertions.compactMap { change.after.firstIndex(of: $0) }
        let modified = change.changes.modifications.compactMap { change.after.firstIndex(of: $0) }
        print(deleted, inserted, modified, change.after.keys)
      })
      .onError({ (snapshot, error) in
        switch error {
        case .timeout: print("late")
        }
        print("error")
      })
      .listen()
    var option = Source.Option()
    option.timeout = 3
    let other = Source(reference: Document<Article>.query, option: option)
    other.get { self.isLast = $0 }
    other.next { isLast in self.isLast = isLast }
    other.get().next()
    other.onChanged(nil).onError(nil).retrieve(from: nil)
    other.stop()
    _ = (other.isLast, other.query, other.option, other.documents, other.count)
    let list: Source = [Document(), Document()]
    list.add(document: Document())
    list.remove(document: Document())
    list.insert(Document())
    list.remove(list[0])
    list.documents = []
    list.forEach { print($0.id) }
    for article in list { print(article[\.title]) }
    _ = (list.first, list.last, list.startIndex, list.index(after: 0), list.firstIndex(of: Document()) as Any)
    _ = list.index(where: { $0.id == "a" })
    _ = Source([Document()]).map { $0.data?.title }
  }

  func queries(_ snapshot: DocumentSnapshot) -> [Source.Query] {
    let listener: FIRQuerySnapshotBlock = { snapshot, error in print(snapshot as Any, error as Any) }
    let registration: ListenerRegistration = Document<Article>.query.listen(listener: listener)
    registration.remove()
    Source.Query(Firestore.firestore().collectionGroup("articles")).get(completion: listener)
    return [
      Document<Article>.where("count", isEqualTo: 1).where("title", isEqualTo: "a"),
      Document<Article>.where("count", isLessThan: 1).where("count", isGreaterThan: 0),
      Document<Article>.where("count", in: [1]).where("tags", arrayContains: 1),
      Document<Article>.where("count", arrayContainsAny: [1]).order(by: "count", descending: true),
      Document<Article>.order(by: "count").start(at: [1]).end(at: [2]),
      Document<Article>.order(by: "count").start(after: [1]).end(before: [2]),
      Document<Article>.start(atDocument: snapshot).end(beforeDocument: snapshot),
      Document<Article>.limit(to: 3).filter(using: NSPredicate(value: true)),
    ]
  }
}

private func values(_ timestamp: Timestamp) {
  let numbers: [IncrementableInt] = [1, .value(2), .increment(3), IncrementableInt(rawValue: 4)!]
  let array: OperableArray<Int> = [1, 2]
  for element in array { print(element) }
  if case .value(let elements) = array { print(elements) }
  print(numbers.first!.rawValue, array.first as Any, array.isEmpty, array.count, array[0])
  print(timestamp == Timestamp(), timestamp < Timestamp(), timestamp >= Timestamp())
  print(ServerTimestamp(rawValue: timestamp)!.rawValue, Ballcap.ServerTimestamp.resolved(timestamp))
}
