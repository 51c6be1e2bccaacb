// The change feed on the command line.

import DocumentStore
import Foundation
import Testing

@Suite struct WatchTests {
  private let dugout = Program("dugout")

  @Test func watchPrintsCommitsSinceTheLastRun() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    #expect(try dugout.run("watch", folder.path).output.contains("From now on, commits are kept for watch"))
    #expect(
      try dugout.run("watch", folder.path).output == """
        Commits since the last time for watch, and no later ones: --follow waits for them.
        Nothing was committed since the last time.

        """)
    try folder.changeStore { store in
      let path = try DocumentPath(["rooms", "eros"])
      try store.commit([.set(path, StoredMap([("n", .integer(1))]))])
      try store.commit([.set(path, StoredMap([("n", .integer(2))]))])
      try store.commit([.delete(path)])
    }
    let json = try dugout.run("watch", folder.path, "other", "--json")
    #expect(json.output.contains("\"new\":true"))
    let outcome = try dugout.run("watch", folder.path)
    #expect(outcome.status == 0)
    let lines = ["  + rooms/eros", "  ~ rooms/eros", "  - rooms/eros"]
    #expect(lines.filter { !outcome.output.contains($0) } == [], "\(outcome.output)")
    #expect(try dugout.run("watch", folder.path).output.contains("Nothing was committed"))
    #expect(try dugout.run("watch", folder.path, "--forget").output.contains("Nothing is kept"))
    #expect(try dugout.run("watch", folder.path).output.contains("From now on"))
  }

  /// Regression: the output failed on a full disk, and the next watch reported no commits.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "needs /dev/full"))
  func commitsNotYetPrintedArePrintedByTheNextWatch() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try #require(dugout.run("watch", folder.path).status == 0)
    try folder.changeStore { store in
      try store.commit([.set(try DocumentPath(["rooms", "eros"]), StoredMap())])
    }
    let full = try Program(path: "/bin/sh").run(
      "-c", "\"$0\" watch \"$1\" > /dev/full", dugout.path, folder.path)
    #expect(full.status == 74 && full.complaint.contains("could not be written"), "\(full.complaint)")
    #expect(try dugout.run("watch", folder.path).output.contains("  + rooms/eros"))
    #expect(try dugout.run("watch", folder.path).output.contains("Nothing was committed"))
  }

  /// A `dugout watch --follow` whose output is read as it comes.
  private final class Follower {
    private let process = Process()
    private let output = Pipe()
    private(set) var text = ""

    init(_ dugout: Program, _ arguments: String...) throws {
      process.executableURL = URL(fileURLWithPath: dugout.path)
      process.arguments = arguments
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    /// Waits for a text in complete lines. The read blocks until the command prints, and ends if the command
    /// does.
    func wait(for said: String) throws {
      while !text.contains(said) || !text.hasSuffix("\n") {
        let data = output.fileHandleForReading.availableData
        try #require(!data.isEmpty, "the command has ended: \(text)")
        text += String(decoding: data, as: UTF8.self)
      }
    }

    /// Interrupts the command as Ctrl-C does, and expects it to end without an error.
    func end() {
      process.interrupt()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0 && process.terminationReason == .exit)
    }
  }

  /// Changes the store. The follower opens it for writing at its start, for a moment after its first line.
  private func change(_ folder: borrowing TemporaryFolder, _ body: (DocumentStore) throws -> Void) throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      let store: DocumentStore
      do throws(DocumentStoreError) {
        store = try DocumentStore.open(folder.path)
      } catch {
        guard case .locked = error, ContinuousClock.now < deadline else { throw error }
        continue
      }
      try body(store)
      return try store.close()
    }
  }

  private func commit(_ id: String, to store: DocumentStore) throws {
    try store.commit([.set(try DocumentPath(["rooms", id]), StoredMap())])
  }

  @Test func followingPrintsTheCommitsOfTheWriterOfAStoreInUse() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try #require(dugout.run("watch", folder.path).status == 0)
    let store = try DocumentStore.open(folder.path)
    let other = try dugout.run("watch", folder.path, "other", "--follow")
    #expect(other.status == 69 && other.complaint.contains("Readers are watch."), "\(other.complaint)")
    let follower = try Follower(dugout, "watch", folder.path, "--follow")
    for id in ["eros", "mars"] {
      try commit(id, to: store)
      try follower.wait(for: "+ rooms/\(id)")
    }
    #expect(
      follower.text.hasPrefix(
        "Commits since the last time for watch, and then each one as it is made, until Ctrl-C.\n"
          + "The place of watch stays, because the store is open for writing elsewhere.\n"),
      "\(follower.text)")
    // Without --follow, the command prints the commits so far and ends.
    let once = try dugout.run("watch", folder.path)
    #expect(once.status == 0 && once.output.contains("+ rooms/eros") && once.output.contains("+ rooms/mars"))
    #expect(once.output.contains("\nThe place of watch stays"), "\(once)")
    follower.end()
    try store.close()
    // The place of the reader has not moved.
    let again = try dugout.run("watch", folder.path).output
    #expect(again.contains("+ rooms/eros") && again.contains("+ rooms/mars"))
  }

  @Test func followingWaitsForAWriterAndMovesThePlaceAtItsEnd() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let follower = try Follower(dugout, "watch", folder.path, "mirror", "--follow")
    try follower.wait(for: "From now on, commits are kept for mirror.\n")
    #expect(follower.text.hasPrefix("Each commit as it is made, until Ctrl-C.\n"), "\(follower.text)")
    // An app can open the store meanwhile, and another one after it.
    for id in ["eros", "mars"] {
      try change(folder) { store in
        try commit(id, to: store)
        try follower.wait(for: "+ rooms/\(id)")
      }
    }
    follower.end()
    #expect(try dugout.run("watch", folder.path, "mirror").output.contains("Nothing was committed"))
    let both = try dugout.run("watch", folder.path, "mirror", "--follow", "--forget")
    #expect(both.status == 2, "\(both)")
  }

  @Test func followingPrintsAnObjectForEachReading() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try #require(dugout.run("watch", folder.path).status == 0)
    try folder.changeStore { try commit("eros", to: $0) }
    let follower = try Follower(dugout, "watch", folder.path, "--follow", "--json")
    try follower.wait(for: "rooms/eros")
    try change(folder) { store in
      try commit("mars", to: store)
      try follower.wait(for: "rooms/mars")
    }
    follower.end()
    let lines = follower.text.split(separator: "\n")
    for line in lines {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect((object?["commits"] as? [Any])?.count == 1, "\(line)")
    }
    #expect(lines.count == 2, "\(follower.text)")
  }

  /// Regression: a query was taken for the name of a reader, and a reader with this name was registered.
  @Test func aQueryIsNotAReaderName() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    var wrong: [String] = []
    for name in ["users", "users where age > 3", "users/ada/users"] {
      let outcome = try dugout.run("watch", folder.path, name)
      if outcome.status != 2 || !outcome.complaint.contains("Live queries are in \"dugout shell\"") {
        wrong.append("\(name): \(outcome)")
      }
    }
    #expect(wrong == [])
    let nobody = try dugout.run("watch", folder.path, "--forget")
    #expect(nobody.status == 1)
    #expect(nobody.complaint.contains("nothing is kept for watch. The feed has no readers."))
    try #require(dugout.run("watch", folder.path, "mirror").status == 0)
    let other = try dugout.run("watch", folder.path, "mirrror", "--forget")
    #expect(other.status == 1 && other.complaint.contains("Readers are mirror."), "\(other.complaint)")
    // A new collection with the name of a reader does not affect the reader.
    try #require(dugout.run("set", folder.path, "mirror/1", "{}").status == 0)
    #expect(try dugout.run("watch", folder.path, "mirror").output.contains("  + mirror/1"))
    #expect(try dugout.run("watch", folder.path, "mirror", "--forget").status == 0)
  }
}
