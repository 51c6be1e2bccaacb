// What the chat stores: rooms, and below each of them its members and what was said.

import Ballcap
import FirebaseFirestore
import FirebaseStorage

final class Room: Object, DataRepresentable, DataCacheable, HierarchicalStructurable {
  struct Model: Codable, Modelable {
    var title = ""
    /// Counted by the commits that add transcripts.
    var messages: IncrementableInt = 0
    var members: OperableArray<String> = []
  }

  enum CollectionKeys: String { case transcripts, members }

  override class var name: String { "rooms" }

  var data: Room.Model?

  var transcripts: DataSource<Document<Transcript>>.Query { collection(path: .transcripts) }
  var members: DataSource<Document<Member>>.Query { collection(path: .members) }
}

struct Transcript: Codable, Modelable {
  var from = ""
  var text = ""
  var at: ServerTimestamp = .pending
}

struct Member: Codable, Modelable {
  var name = ""
  /// A picture, in the storage.
  var avatar: File?
}

/// Who sits at this terminal, and where; so that the next start goes on there.
struct Seat: Codable, Modelable {
  var name = ""
  var room = "lobby"
}
