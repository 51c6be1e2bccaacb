// A terminal chat built on streams: rooms count their messages, and a row at the top fetches earlier
// messages.
//
//   streamchat [DIRECTORY]

import FirebaseFirestore
import Foundation
import StreamBaseKit

@main
struct StreamChat {
  static let help = """
    /rooms       all rooms
    /join ROOM   another room
    /more        earlier messages
    /unsay       take back what was said last
    /quit        leave; the next start goes on here
    Anything else is said to the room.
    """

  static func main() {
    let folder = CommandLine.arguments.dropFirst().first ?? "streamchat-data"
    FirebaseApp.configure(options: FirebaseOptions(directory: URL(fileURLWithPath: folder)))
    do {
      // The first read opens the store, and throws if it cannot be opened.
      _ = try Firestore.firestore().document("room/lobby").read()
    } catch {
      FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
      exit(1)
    }
    // Streams belong to the main queue. A separate thread therefore reads the lines, while the main thread
    // runs the main queue.
    let reader = Thread {
      let chat = DispatchQueue.main.sync { StreamChat() }
      chat.show { $0.screen.lines }
      while let line = readLine(), line != "/quit" { chat.take(line) }
      chat.show { _ in ["Good-bye."] }
      FirebaseApp.app()?.delete { _ in exit(0) }
    }
    reader.start()
    dispatchMain()
  }

  /// Used on the main queue only.
  private final class State: @unchecked Sendable {
    let home: ResourceContext
    let rooms: StreamBase
    var screen: RoomScreen
    let name = NSUserName()

    init() {
      let base = ChatBase(firebase: Firestore.firestore())
      base.errorHandler = { error in
        // It is no error if the room already exists.
        guard error.code != FirestoreErrorCode.Code.alreadyExists.rawValue else { return }
        print(error.localizedDescription)
      }
      home = ResourceContext(base: base, resources: nil)
      rooms = StreamBase(type: Room.self, ref: home.collectionRef(Room.self))
      screen = RoomScreen(Room(key: "lobby"), home)
      open("lobby")
    }

    func open(_ key: String) {
      let room = Room(key: key)
      room.title = key.capitalized
      home.create(room)
      screen = RoomScreen(room, home)
    }
  }

  private let state = State()

  /// Runs the command in a line, and shows the screen when the command has completed.
  private func take(_ line: String) {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    switch words.first {
    case nil: return
    case "/help"?: return show { _ in [Self.help] }
    case "/rooms"?: return show { state in state.rooms.compactMap { $0 as? Room }.map(Self.line) }
    case "/join"?:
      let name = words.dropFirst().joined().trimmingCharacters(in: .whitespaces)
      guard Self.isRoomName(name) else {
        return show { _ in ["A room has a name without slashes that is not one or two dots."] }
      }
      run { $0.open(name) }
    case "/more"?:
      let fetched = DispatchSemaphore(value: 0)
      run { $0.screen.fetchMore { fetched.signal() } }
      fetched.wait()
    case "/unsay"?: run { $0.screen.unsay() }
    case let command? where command.hasPrefix("/"): return show { _ in ["What is \(line)? Try /help."] }
    default: run { $0.screen.say(line, as: $0.name) }
    }
    show { $0.screen.lines }
  }

  /// Whether a record can have this name as its key. A path with any other name would end the program.
  private static func isRoomName(_ name: String) -> Bool {
    !["", ".", ".."].contains(name) && !name.contains("/")
  }

  private static func line(_ room: Room) -> String { "\(room.title ?? ""): \(room.messageCount) messages" }

  private func run(_ body: @Sendable (State) -> Void) {
    DispatchQueue.main.sync { body(state) }
  }

  /// Waits long enough for a delayed batch of updates to be delivered, and then shows the lines.
  private func show(_ lines: @Sendable (State) -> [String]) {
    Thread.sleep(forTimeInterval: 0.4)
    let lines = DispatchQueue.main.sync { lines(state) }
    FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
  }
}
