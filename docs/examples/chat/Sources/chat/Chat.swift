// A terminal chat: rooms, members with pictures, and all messages. It needs no network, shows changes
// live, and resumes in the room where the last run ended.
//
//   chat [DIRECTORY]

import Ballcap
import FirebaseFirestore
import Foundation

@main
struct Chat {
  static let help = """
    /rooms          all rooms
    /join ROOM      another room
    /who            who is here
    /name NAME      another name
    /avatar FILE    your picture
    /quit           leave; the next start goes on here
    Anything else is said to the room.
    """

  static func main() async {
    let folder = CommandLine.arguments.dropFirst().first ?? "chat-data"
    FirebaseApp.configure(options: FirebaseOptions(directory: URL(fileURLWithPath: folder)))
    do {
      var chat = try await Chat()
      try await chat.run()
    } catch {
      Terminal.complain(error.localizedDescription)
      exit(1)
    }
    // Closes the store.
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
  }

  private let seat: Document<Seat>
  private var room: ChatRoom
  private var following: Task<Void, any Error>?

  /// Restores the room and the user name of the last run.
  init() async throws {
    let known = try await Document<Seat>.get(id: "terminal")
    seat = known ?? Document<Seat>(id: "terminal", from: Seat(name: Self.userName))
    room = try await ChatRoom.named(seat[\.room])
    Terminal.show(known == nil ? "Welcome, \(seat[\.name])." : "Welcome back, \(seat[\.name]).")
    Terminal.show(Self.help)
  }

  /// The user name, or a default if there is none, as in some containers.
  private static var userName: String {
    let name = NSUserName().filter { isName(String($0)) }
    return name.isEmpty ? "guest" : name
  }

  private mutating func run() async throws {
    try await enter(seat[\.room])
    for await line in Terminal.lines() {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      let argument = words.count > 1 ? words[1] : ""
      switch words.first {
      case nil: continue
      case "/quit": return await end()
      case "/help": Terminal.show(Self.help)
      case "/rooms": try await showRooms()
      case "/who": for member in try await room.memberLines() { Terminal.show("  \(member)") }
      case "/join" where Self.isName(argument): try await move(to: argument)
      case "/name" where Self.isName(argument): try await rename(to: argument)
      case "/avatar" where !argument.isEmpty: try await setAvatar(argument)
      case let command? where command.hasPrefix("/"): Terminal.show("What is \(line)? Try /help.")
      default: try await say(line)
      }
    }
    await end()
  }

  /// Whether the text can be a component of a path.
  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
  }

  // MARK: Rooms

  private mutating func enter(_ id: String) async throws {
    room = try await ChatRoom.named(id)
    for friend in Friend.all { try await room.enter(friend.name) }
    seat[\.room] = id
    try await sit(as: seat[\.name])
    Terminal.show("-- \(id) --")
    follow()
  }

  /// Stores the user name, and uses it from now on.
  private func sit(as name: String) async throws {
    try await room.enter(name)
    seat[\.name] = name
    try await seat.save()
  }

  /// Shows the messages of the room as they are added, including those from other writers.
  private mutating func follow() {
    let room = room
    following = Task { try await room.follow(last: 20) { Terminal.show($0.text) } }
  }

  private mutating func move(to id: String) async throws {
    following?.cancel()
    try await room.leave(seat[\.name])
    try await enter(id)
  }

  private func showRooms() async throws {
    for room in try await ChatRoom.all() {
      Terminal.show("  \(room.title): \(room.messages) messages, \(room.members) members")
    }
  }

  // MARK: Members

  private func say(_ text: String) async throws {
    try await room.say(text, as: seat[\.name])
    let (friend, answer) = Friend.answering(text)
    try await room.say(answer, as: friend.name)
  }

  private func rename(to name: String) async throws {
    try await room.leave(seat[\.name])
    try await sit(as: name)
    Terminal.show("You are \(name) now.")
  }

  private func setAvatar(_ path: String) async throws {
    guard let picture = Foundation.FileManager.default.contents(atPath: path) else {
      return Terminal.show("There is no file \(path).")
    }
    let type: File.MIMEType = path.hasSuffix(".png") ? .png : .jpeg
    try await room.setAvatar(seat[\.name], picture, type)
    Terminal.show("\(seat[\.name]) has a picture of \(picture.count) bytes.")
  }

  /// Allows time for showing the last message.
  private func end() async {
    try? await Task.sleep(for: .milliseconds(300))
    following?.cancel()
    Terminal.show("Good-bye.")
  }
}
