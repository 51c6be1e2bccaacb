// The examples of docs/streambasekit.md, verbatim; GuideTests runs them.

import FirebaseFirestore
import Foundation
import StreamBaseKit

class Message: BaseItem {
  var from: String?
  var text: String?
  var likes = 0

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    from = dict?["from"] as? String
    text = dict?["text"] as? String
    likes = dict?["likes"] as? Int ?? 0
  }

  override var dict: [String: Any] {
    var dict = super.dict
    dict["from"] = from
    dict["text"] = text
    dict["likes"] = likes
    return dict
  }
}

func openStream(_ database: Firestore, _ table: any StreamTable) -> (StreamBase, StreamTableAdapter) {
  let messages = database.collection("messages")
  let stream = StreamBase(type: Message.self, ref: messages, limit: 50, ascending: false)
  let adapter = StreamTableAdapter(table: table)
  stream.delegate = adapter
  return (stream, adapter)
}

func popular(_ database: Firestore) -> StreamBase {
  let builder = QueryBuilder(database.collection("messages"))
  builder.ordering = .child("likes")
  builder.ascending = false
  builder.limit = 10
  builder.end = 1
  return StreamBase(type: Message.self, queryBuilder: builder)
}

func hide(_ author: String, in stream: StreamBase) {
  stream.autoFetch = true
  stream.predicate = { ($0 as? Message)?.from != author }
}

func fetchOlder(_ stream: StreamBase, _ done: @escaping () -> Void) {
  guard let oldest = stream.last?.key else { return done() }
  stream.fetchMore(20, start: oldest, done: done)
}

func withPlaceholders(_ messages: StreamBase) -> (UnionStream, TransientStream) {
  let sending = TransientStream()
  return (UnionStream(sources: messages, sending), sending)
}

func showSending(_ text: String, _ sending: TransientStream) -> Message {
  let message = Message(key: "~sending")
  message.text = text
  sending.reset([message])
  return message
}

func rowsOfChat(_ stream: StreamBase) -> [String] {
  let rows = stream.reversed().map { ($0 as? Message)?.text ?? "" }
  return stream.hasMore ? ["Earlier messages"] + rows : rows
}

func byFame(_ messages: StreamBase) -> PartitionedStream {
  PartitionedStream(stream: messages, sectionTitles: ["Liked", "Others"]) { item in
    ((item as? Message)?.likes ?? 0) > 0 ? 0 : 1
  }
}

func sideBySide(_ database: Firestore, _ table: any StreamTable) -> [(StreamBase, StreamTableAdapter)] {
  ["messages", "drafts"].enumerated().map { section, collection in
    let stream = StreamBase(type: Message.self, ref: database.collection(collection))
    let adapter = StreamTableAdapter(table: table, section: section)
    stream.delegate = adapter
    return (stream, adapter)
  }
}

class Room: BaseItem {
  var title: String?
  var messageCount = 0

  override func update(_ dict: [String: Any]?) {
    title = dict?["title"] as? String
    messageCount = dict?["message_count"] as? Int ?? 0
  }

  override var dict: [String: Any] {
    var dict = super.dict
    dict["title"] = title
    return dict
  }
}

func register(_ base: ResourceBase) {
  base.errorHandler = { error in print(error.localizedDescription) }
  base.resource(Room.self, path: "/room/@")
  base.resource(Message.self, path: "/room_message/$room/@")
}

func enter(_ room: Room, _ atHome: ResourceContext) -> (ResourceContext, CollectionReference) {
  let inRoom = atHome.push(["room": room])
  return (inRoom, inRoom.collectionRef(Message.self))
}

func say(_ text: String, _ inRoom: ResourceContext) -> Message {
  let message = Message()
  message.text = text
  inRoom.create(message)
  return message
}

func count(_ base: ResourceBase) {
  base.counter(Room.self, name: "message_count", countingType: Message.self)
  base.counter(Room.self, name: "liked_count", countingType: Message.self) {
    (($0 as? Message)?.likes ?? 0) > 0
  }
}

class ChatBase: ResourceBase {
  var log: [String] = []

  override func willCreateInstance(
    _ instance: any BaseItemProtocol, key: String, context: ResourceContext,
    done: @escaping ResourceDoneHandler
  ) {
    if let message = instance as? Message, message.text?.isEmpty ?? true {
      return done(NSError(domain: "chat", code: 1, userInfo: [NSLocalizedDescriptionKey: "Say something."]))
    }
    done(nil)
  }

  override func logAction(
    _ path: String, old: DocumentSnapshot?, new: (any BaseItemProtocol)?, extraContext: ResourceDict
  ) {
    log.append("\(new == nil ? "destroyed" : old == nil ? "created" : "updated") \(path)")
  }
}
