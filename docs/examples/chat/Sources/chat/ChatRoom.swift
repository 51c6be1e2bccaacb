// One room: its messages, their authors and its members.

import Ballcap
import FirebaseFirestore
import Foundation

/// Provides the operations of one room. A call that writes returns when its write is on disk.
struct ChatRoom: Sendable {
  let id: String

  /// Returns the room with this name, and creates it if it does not exist.
  static func named(_ id: String) async throws -> ChatRoom {
    if try await Room.get(id: id) == nil {
      let room = Room(id: id)
      room[\.title] = id.capitalized
      try await room.save()
    }
    return ChatRoom(id: id)
  }

  /// All rooms with their message counts, the busiest first.
  static func all() async throws -> [(title: String, messages: Int64, members: Int)] {
    let rooms = Room.order(by: "messages", descending: true).dataSource()
    try await rooms.get()
    return rooms.map { room in
      (room[\.title], room[\.messages].rawValue, room[\.members].count)
    }
  }

  var room: Room { Room(id: id) }

  func enter(_ name: String) async throws {
    let room = room
    let place = room.collection(path: .members).document(name)
    if try await Document<Member>.get(documentReference: place) == nil {
      try await Document<Member>(documentReference: place, from: Member(name: name)).save()
    }
    try await room.merge(data: ["members": FieldValue.arrayUnion([name])])
  }

  func leave(_ name: String) async throws {
    try await room.merge(data: ["members": FieldValue.arrayRemove([name])])
  }

  /// Adds the message and increments the count in one atomic commit.
  func say(_ text: String, as name: String) async throws {
    let room = room
    let place = room.collection(path: .transcripts).document()
    let transcript = Document<Transcript>(documentReference: place, from: Transcript(from: name, text: text))
    try await Batch()
      .save(transcript)
      .set(["messages": FieldValue.increment(Int64(1))], reference: room.documentReference)
      .commit()
  }

  /// Uploads the picture before the document refers to it.
  func setAvatar(_ name: String, _ picture: Data, _ type: File.MIMEType) async throws {
    let place = room.collection(path: .members).document(name)
    guard let member = try await Document<Member>.get(documentReference: place) else { return }
    let file = File(member, name: "avatar", data: picture, mimeType: type, metadata: ["by": name])
    try await StorageBatch().save(file).commit()
    member[\.avatar] = file
    try await member.update()
  }

  /// One line per member who is present, with the stored details of the picture. Members who left keep
  /// their document and picture.
  func memberLines() async throws -> [String] {
    let here = Set(try await Room.get(id: id)?[\.members] ?? [])
    let members = room.members.order(by: "name").dataSource()
    try await members.get()
    var lines: [String] = []
    for member in members where here.contains(member.id) {
      guard let avatar = member[\.avatar] else {
        lines.append(member[\.name])
        continue
      }
      let bytes = try await avatar.getData().count
      lines.append("\(member[\.name])  (\(avatar.name), \(avatar.mimeType.rawValue), \(bytes) bytes)")
    }
    return lines
  }

  /// Calls `show` with the last messages, and then with each new message, until the task is cancelled.
  func follow(last count: Int, _ show: @Sendable (Line) -> Void) async throws {
    let transcripts = room.transcripts.order(by: "at").limit(toLast: count).dataSource()
    for try await change in transcripts.changes {
      for transcript in change.changes.insertions {
        show(Line(transcript[\.from], transcript[\.text], transcript[\.at]))
      }
    }
  }
}

/// A message as shown on the screen.
struct Line: Sendable {
  let text: String

  init(_ from: String, _ text: String, _ at: ServerTimestamp) {
    var time = "--:--"
    if case .resolved(let timestamp) = at {
      let parts = Calendar.current.dateComponents([.hour, .minute], from: timestamp.dateValue())
      time = String(format: "%02d:%02d", parts.hour ?? 0, parts.minute ?? 0)
    }
    self.text = "\(time)  \(from): \(text)"
  }
}
