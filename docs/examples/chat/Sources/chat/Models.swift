// The documents of the chat: rooms, with their members and transcripts in subcollections.

import Ballcap
import FirebaseFirestore
import FirebaseStorage

final class Room: Object, DataRepresentable, DataCacheable, HierarchicalStructurable {
  struct Model: Codable, Modelable {
    var title = ""
    /// Incremented by each commit that adds a transcript.
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
  /// A picture in Storage.
  var avatar: File?
}

/// The user name and room of this terminal, stored so that the next start resumes there.
struct Seat: Codable, Modelable {
  var name = ""
  var room = "lobby"
}
