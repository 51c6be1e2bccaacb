// The change feed on the command line.

import DocumentStore
import Foundation
import Testing

@Suite struct WatchTests {
  private let dugout = Program("dugout")

  @Test func watchTellsWhatWasCommittedSinceTheLastTime() throws {
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
    let told = try dugout.run("watch", folder.path)
    #expect(told.status == 0)
    for line in ["  + rooms/eros", "  ~ rooms/eros", "  - rooms/eros"] { #expect(told.output.contains(line)) }
    #expect(try dugout.run("watch", folder.path).output.contains("Nothing was committed"))
    #expect(try dugout.run("watch", folder.path, "--forget").output.contains("Nothing is kept"))
    #expect(try dugout.run("watch", folder.path).output.contains("From now on"))
  }
}
