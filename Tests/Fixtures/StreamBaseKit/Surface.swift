// Code as written for the original StreamBaseKit, except for names that Swift itself has changed. It
// uses every call of the layer. It must compile in Swift 5 and Swift 6 mode, and is never run.

import FirebaseFirestore
import Foundation
import StreamBaseKit

// MARK: Items

private class Board: StreamBaseItem {
  var title: String?

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    title = dict?["title"] as? String
  }

  override var dict: [String: Any] {
    var d = super.dict
    d["title"] = title
    return d
  }
}

private class Note: BaseItem {
  var body: String?
  var selected = false

  required init(key: String?) { super.init(key: key) }

  override func clone() -> BaseItemProtocol { return super.clone() }

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    body = dict?["body"] as? String
  }

  override var dict: [String: Any] {
    var d = super.dict
    d["body"] = body
    return d
  }
}

private class Plain: BaseItemProtocol {
  var key: String?
  var dict: [String: Any] { return [:] }
  required init(key: String?) { self.key = key }
  func update(_ dict: [String: Any]?) {}
  func clone() -> BaseItemProtocol { return Plain(key: key) }
}

private class Named: KeyedObject {
  var key: String? { return "name" }
}

private func arrays() {
  let array = KeyedArray<Note>(objects: Note(key: "a"), Note(key: "b"))
  _ = KeyedArray<Named>(rawArray: [])
  let raw: [Note] = array.rawArray
  let place: Int? = array.find("a")
  let isThere: Bool = array.has("a")
  array.append(Note(key: "c"), Note(key: "d"))
  array.extend([Note(key: "e")])
  array.insert(Note(key: "f"), atIndex: 0)
  array.removeAtIndex(0)
  array.reset(KeyedArray<Note>(rawArray: raw))
  array.reset(raw)
  array.clear()
  for note in array { print(note.key ?? "", array[0].key ?? "", array.count) }
  print(place as Any, isThere, Note() == Note(key: "a"))
}

// MARK: Streams

private class Controller: NSObject, StreamBaseDelegate {
  var stream: StreamBase!
  var partitioned: PartitionedStream!
  var union: UnionStream!
  let placeholders = TransientStream()

  func connect(_ ref: CollectionReference) {
    stream = StreamBase(type: Note.self, ref: ref)
    stream = StreamBase(type: Note.self, ref: ref, limit: 50, ascending: false, ordering: .Key)
    stream = StreamBase(type: Note.self, ref: ref, limit: 50, ordering: .Child("body"))
    let ordering: StreamBase.Ordering = .child("body")
    let builder = QueryBuilder(ref: ref)
    builder.limit = 10
    builder.ascending = true
    builder.ordering = ordering == .key ? .key : .child("body")
    builder.start = "a"
    builder.end = "z"
    stream = StreamBase(type: Note.self, queryBuilder: builder)
    stream = StreamBase(type: Note.self, queryBuilder: QueryBuilder(ref))
    stream.batchDelay = nil
    stream.batchDelay = 0.2
    stream.afterPredicateLimit = 20
    let predicate: StreamBase.Predicate = { item in (item as! Note).body != nil }
    stream.predicate = predicate
    stream.delegate = self
    let comparator: StreamBase.Comparator = stream.comparator
    print(comparator(Note(key: "a"), Note(key: "b")))
    let pager: StreamBase.QueryPager = { start, end, limit in ref.limit(to: limit ?? 1) }
    _ = pager(nil, nil, 1)
    let partitioner: PartitionedStream.Partitioner = { item in (item as! Note).selected ? 0 : 1 }
    partitioned = PartitionedStream(
      stream: stream, sectionTitles: ["selected", "others"], partitioner: partitioner)
    partitioned.delegate = self
    union = UnionStream(sources: stream, placeholders)
    union.delegate = self
  }

  func look() {
    let found: BaseItem? = stream.find("a")
    let path: IndexPath? = stream.findIndexPath("a")
    let after: IndexPath? = stream.findFirstIndexPathAfter(Note(key: "m"))
    let before: IndexPath? = stream.findLastIndexPathBefore(Note(key: "m"))
    print(found as Any, path as Any, after as Any, before as Any)
    for item in stream { print(item.key ?? "") }
    print(stream.count, stream[0].key!, stream.startIndex, stream.endIndex, stream.map { $0.key! })
    print(partitioned.numSections, partitioned.sectionTitles, partitioned.map[0].section)
    let indexPath = IndexPath(row: 1, section: 0)
    print(partitioned[indexPath], partitioned[0, 1], partitioned[0].count, indexPath.row)
    for item in partitioned.items { print(item) }
    print(partitioned.find("a") as Any, partitioned.findIndexPath("a") as Any)
    print(union.find("a") as Any, union.findIndexPath("a") as Any, union[0], union.count)
    let streams: [StreamBaseProtocol] = [stream, partitioned, union]
    streams[0].delegate = self
  }

  func change() {
    stream.fetchMore(20, start: stream[stream.count - 1].key!)
    stream.fetchMore(20, start: "a", end: "z") { print("done") }
    stream.handleItemChanged(stream[0])
    stream.batching { items in items.clear() }
    placeholders.reset([Note(key: "a")])
    placeholders.reset(nil)
    placeholders.add(Note(key: "b"), Note(key: "c"))
    placeholders.remove(Note(key: "b"))
    let empty = StreamBase()
    print(empty.count)
  }

  func streamWillChange() {}
  func streamDidChange() {}
  func streamItemsAdded(_ paths: [IndexPath]) { print(paths[0].row, paths[0].item) }
  func streamItemsDeleted(_ paths: [IndexPath]) { print(paths[0].section) }
  func streamItemsChanged(_ paths: [IndexPath]) {}
  func streamDidFinishInitialLoad(_ error: NSError?) {}
}

private class NoteStream: StreamBase {
  override func didConstructItem(_ item: BaseItem) { (item as! Note).selected = false }
  override func handleItemChanged(_ item: BaseItem) { super.handleItemChanged(item) }
}

private class Busy: TransientStream {
  let inflight = Inflight()
  override func add(_ items: BaseItem...) {}
}

// MARK: Resources

private class Environment: ResourceBase {
  override init(firebase: Firestore) {
    super.init(firebase: firebase)
    let registry: ResourceRegistry = self
    registry.resource(Board.self, path: "/boards/@")
    registry.resource(Note.self, "/notes/$board/@")
    registry.counter(Board.self, name: "note_count", countingType: Note.self)
    registry.counter(Board.self, "notes", Note.self)
    let predicate: CounterPredicate = { note in (note as! Note).body != nil }
    registry.counter(Board.self, name: "said_count", countingType: Note.self, predicate: predicate)
    let handler: ResourceErrorHandler = { error in print(error.localizedDescription) }
    errorHandler = handler
  }

  override func willCreateInstance(
    _ instance: BaseItemProtocol, key: String, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    if instance is Note, context.get("board") == nil {
      done(NSError(domain: "notes", code: 1, userInfo: nil))
    } else {
      done(nil)
    }
  }

  override func didCreateInstance(_ instance: BaseItemProtocol, context: ResourceContext) {}

  override func didCreateAndPersistInstance(
    _ instance: BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  override func willUpdateInstance(
    _ instance: BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) { super.willUpdateInstance(instance, context: context, done: done) }

  override func didUpdateInstance(_ instance: BaseItemProtocol, context: ResourceContext) {}

  override func didUpdateAndPersistInstance(
    _ instance: BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  override func willDestroyInstance(
    _ instance: BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) { done(nil) }

  override func didDestroyInstance(_ instance: BaseItemProtocol, context: ResourceContext) {}

  override func didDestroyAndPersistInstance(
    _ instance: BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {}

  override func logAction(
    _ path: String, old: DocumentSnapshot?, new: BaseItemProtocol?, extraContext: ResourceDict
  ) {
    firebase.collection("log").addDocument(data: [
      "path": path, "old": old?.data() ?? NSNull(), "new": new?.dict ?? NSNull(),
      "with": extraContext.keys.sorted(),
    ])
  }

  override func ref(_ instance: BaseItemProtocol, context: ResourceContext) -> DocumentReference {
    return super.ref(instance, context: context)
  }
}

private func resources(_ firestore: Firestore) {
  let base = Environment(firebase: firestore)
  let root = ResourceContext(base: base, resources: nil)
  let board = Board(key: "b")
  let context = root.push(["board": board])
  let other = ResourceContext(parent: root, resources: ["board": board])
  let note = Note()
  note.body = "hello"
  context.create(note)
  context.update(note)
  context.createOrUpdate(note, exists: true)
  context.toggle(note, exists: false)
  context.destroy(note)
  base.create(note, context: other)
  base.update(note, context: other)
  base.destroy(note, context: other)
  other.reset(["board": board])
  other.reset()
  let ref: DocumentReference = context.ref(note)
  let collection: CollectionReference = context.collectionRef(Note.self)
  print(base.ref(note, context: context), base.collectionRef(Note.self, context: context))
  print(ResourceBase.refToPath(ref), ResourceBase.splitPath("/a/b"), collection.path)
  print(base.findResourcePath(Note.self, context: nil) as Any, base, context, base.firebase)
  for (name, object) in context { print(name, object.key as Any) }
  for level in context.stack { print(level.get("board")?.key as Any) }
}
