// The story: it starts the processes, kills them by turns, and compares the conversations in the end.

import Foundation

/// A phone as the story sees it: its process, and what it was asked to say.
final class PhoneProcess {
  let name: String
  private let directory: String
  private let port: String
  private var child: Child
  private(set) var said: [String] = []
  /// The numbers of the messages that the phone has not yet reported as written.
  private var unanswered: [Int] = []

  init(_ name: String, in folder: URL, port: String) async throws {
    self.name = name
    self.port = port
    directory = folder.appendingPathComponent(name).path
    child = try await Self.start(name, directory, port: port)
  }

  private static func start(_ name: String, _ directory: String, port: String) async throws -> Child {
    let child = try Child(name, ["phone", name, directory, port])
    _ = try await child.next()
    return child
  }

  /// Asks for a message, without waiting until it is written.
  func say(_ text: String) throws {
    said.append(text)
    unanswered.append(said.count)
    try child.send("say \(said.count) \(text)")
  }

  /// Waits until all messages are on stable storage.
  func written() async throws {
    for number in unanswered {
      let answer = try await child.next()
      guard answer == "written \(number)" else { throw Problem("\(name) has answered \(answer)") }
    }
    unanswered = []
  }

  /// Kills the process and starts it again. Messages without an answer are asked for again, because it is not
  /// known whether they were written.
  func killAndRestart() async throws {
    await child.kill()
    child = try await Self.start(name, directory, port: port)
    for number in unanswered { try child.send("say \(number) \(said[number - 1])") }
  }

  func show(isCached: Bool = false) async throws {
    try child.send(isCached ? "show cached" : "show")
    Lines.write("\(name) has \(try await child.next())")
  }

  /// The conversation and the counts, once it has this number of messages. Throws after five minutes.
  @discardableResult
  func list(count: Int) async throws -> [String] {
    try child.send("list \(count)")
    var lines: [String] = []
    while case let line = try await child.next(), line != "end" { lines.append(line) }
    let found = lines.count { $0.hasPrefix("message") }
    guard found == count else { throw Problem("\(name) has \(found) messages instead of \(count): \(lines)") }
    return lines
  }

  func end() async throws { try await child.end() }
}

struct Problem: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

final class Story {
  private static let roundCount = 6

  private let folder: URL
  private var server: Child
  private let port: String
  private let ada: PhoneProcess
  private let bob: PhoneProcess
  private var phones: [PhoneProcess] { [ada, bob] }
  private var messageCount: Int { phones.map(\.said.count).reduce(0, +) }

  static func run() async throws {
    // A message to a process that has been killed is an error, and does not end this process.
    signal(SIGPIPE, SIG_IGN)
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("two-phones-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    do {
      let story = try await Story(folder)
      try await story.play()
      try await story.playInHaste()
      try await story.compare()
      try await story.end()
    } catch {
      throw Problem("\(error). The databases are in \(folder.path)")
    }
    try FileManager.default.removeItem(at: folder)
  }

  private init(_ folder: URL) async throws {
    self.folder = folder
    (server, port) = try await Self.startServer(folder, port: "0")
    ada = try await PhoneProcess("ada", in: folder, port: port)
    bob = try await PhoneProcess("bob", in: folder, port: port)
  }

  private static func startServer(_ folder: URL, port: String) async throws -> (Child, port: String) {
    let child = try Child("server", ["server", folder.appendingPathComponent("server").path, port])
    let line = try await child.next()
    guard line.hasPrefix("port ") else { throw Problem("the server has answered \(line)") }
    return (child, String(line.dropFirst(5)))
  }

  private func restartServer() async throws { (server, _) = try await Self.startServer(folder, port: port) }

  // MARK: Scenes

  private func play() async throws {
    Lines.write("-- A server and two phones are running.")
    try await say("Is there still milk?", as: ada)
    try await bob.list(count: 1)
    try await bob.show()

    Lines.write("-- The server is killed. Both phones write.")
    await server.kill()
    try await say("No. I will buy some.", as: bob)
    try await say("And bread, please.", as: ada)
    for phone in phones { try await phone.show(isCached: true) }

    Lines.write("-- Ada's phone is killed. It starts again, still without a server.")
    try await ada.killAndRestart()
    try await say("And two lemons.", as: ada)
    try await ada.show()

    Lines.write("-- The server starts again.")
    try await restartServer()
    try await agree()
  }

  /// Waits until both phones have all messages.
  private func agree() async throws {
    for phone in phones {
      try await phone.list(count: messageCount)
      try await phone.show()
    }
  }

  private func say(_ text: String, as phone: PhoneProcess) async throws {
    try phone.say(text)
    try await phone.written()
  }

  /// Kills the processes by turns while both phones write.
  private func playInHaste() async throws {
    for round in 1...Self.roundCount {
      for number in 1...5 {
        for phone in phones { try phone.say("Message \(number) of round \(round)") }
      }
      switch round % 3 {
      case 1:
        Lines.write("-- Round \(round): the server is killed while both phones write.")
        await server.kill()
        for phone in phones { try await phone.written() }
        try await restartServer()
      case 2:
        Lines.write("-- Round \(round): Ada's phone is killed while it writes.")
        try await ada.killAndRestart()
      default:
        Lines.write("-- Round \(round): all three are killed.")
        await server.kill()
        for phone in phones { try await phone.killAndRestart() }
        try await restartServer()
      }
      for phone in phones { try await phone.written() }
      try await agree()
    }
  }

  // MARK: The end

  private func compare() async throws {
    let expected = phones.flatMap { phone in phone.said.map { "message \(phone.name): \($0)" } }
    let counts = phones.map { "count \($0.name) \($0.said.count)" }
    let conversations = [try await ada.list(count: messageCount), try await bob.list(count: messageCount)]
    for (phone, conversation) in zip(phones, conversations) {
      guard conversation.filter({ $0.hasPrefix("message") }).sorted() == expected.sorted() else {
        throw Problem("\(phone.name) shows other messages: \(conversation), expected: \(expected)")
      }
      guard conversation.filter({ $0.hasPrefix("count") }) == counts else {
        throw Problem("\(phone.name) shows \(conversation.suffix(2)), expected: \(counts)")
      }
    }
    guard conversations[0] == conversations[1] else {
      throw Problem("The phones show different orders: \(conversations)")
    }
    let shares = phones.map { "\($0.said.count) by \($0.name)" }.joined(separator: " and ")
    Lines.write("Both phones show the same \(messageCount) messages, each once: \(shares).")
  }

  private func end() async throws {
    for phone in phones { try await phone.end() }
    try await server.end()
  }
}
