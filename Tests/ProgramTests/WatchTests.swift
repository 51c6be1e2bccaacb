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
    #expect(try dugout.run("watch", folder.path).output.contains("Nothing was committed"))
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

  @Test func watchFollowsTheWriterOfAStoreInUse() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try #require(dugout.run("watch", folder.path).status == 0)
    let store = try DocumentStore.open(folder.path)
    let other = try dugout.run("watch", folder.path, "other")
    #expect(other.status == 69 && other.complaint.contains("Readers are watch."), "\(other.complaint)")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: dugout.path)
    process.arguments = ["watch", folder.path]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var text = ""
    for id in ["eros", "mars"] {
      try store.commit([.set(try DocumentPath(["rooms", id]), StoredMap())])
      // The read blocks until the command prints the commit, and ends if the command does.
      while !text.contains("+ rooms/\(id)") {
        let data = output.fileHandleForReading.availableData
        try #require(!data.isEmpty, "the command has ended: \(text)")
        text += String(decoding: data, as: UTF8.self)
      }
    }
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && process.terminationReason == .exit)
    try store.close()
    // The place of the reader has not moved.
    let again = try dugout.run("watch", folder.path).output
    #expect(again.contains("+ rooms/eros") && again.contains("+ rooms/mars"))
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
