// Runs every example of the guide, and checks that the guide shows exactly this code.

import FirebaseFirestore
import Foundation
import StreamBaseKit
import StreamHarness
import Testing

extension StreamBaseKitTests {
  @Suite struct Guide {
    private let world = StreamWorld()
    private var firestore: Firestore { world.firestore }

    private func on<Value>(_ body: () -> Value) -> Value { world.on(body) }

    private func wait(_ condition: () -> Bool) async { await world.wait(condition) }

    private func put(_ messages: [(String, String, Int)], in collection: String = "messages") async throws {
      for (key, from, likes) in messages {
        try await firestore.collection(collection).document(key)
          .setData(["from": from, "text": key.uppercased(), "likes": likes])
      }
    }

    private func keys(_ stream: some Sequence<BaseItem>) -> [String] { on { stream.map { $0.key! } } }

    @Test func guideSnippetsMatchTheTestedCode() throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let code = try String(contentsOf: root.appendingPathComponent("Guide.swift"), encoding: .utf8)
      let page = try String(
        contentsOf: root.appendingPathComponent("../../../docs/streambasekit.md").standardizedFileURL,
        encoding: .utf8)
      let fences = page.matches(of: #/(?s)```swift\n(.*?)```/#).map { String($0.1) }
      #expect(fences.count > 12)
      var missing: [String] = []
      for fence in fences {
        // The file has one list of imports for all examples, so the imports of the fence are skipped.
        let lines = fence.split(separator: "\n", omittingEmptySubsequences: false)
        let start = lines.firstIndex { !$0.hasPrefix("import ") && !$0.isEmpty } ?? 0
        if !code.contains(lines[start...].joined(separator: "\n")) { missing.append(fence) }
      }
      #expect(missing == [])
      #expect((1...27).filter { !page.contains("\n\($0). ") } == [])
    }

    @Test func aStreamFillsATable() async throws {
      try await put([("a", "ada", 0), ("b", "eve", 2)])
      final class Shown { var stream: StreamBase? }
      let shown = Shown()
      let table = ModelTable(sections: 1) { _ in
        shown.stream?.count ?? 0
      } key: {
        shown.stream?[$0[1]].key
      }
      let (stream, adapter) = on { openStream(firestore, table) }
      shown.stream = stream
      await wait { table.sections[0].count == 2 }
      #expect(table.sections == [["b", "a"]] && table.problem == nil)
      on { hide("eve", in: stream) }
      await wait { table.sections[0] == ["a"] }
      withExtendedLifetime(adapter) {}
    }

    @Test func ordersRangesAndPagesMatchTheGuide() async throws {
      try await put((0..<9).map { ("m\($0)", "ada", $0 % 3) })
      let liked = on { popular(firestore) }
      await wait { liked.count == 6 }
      #expect(keys(liked) == ["m8", "m5", "m2", "m7", "m4", "m1"])
      let recent = on {
        StreamBase(
          type: Message.self, ref: firestore.collection("messages"), limit: 2, ascending: false)
      }
      await wait { recent.count == 3 }
      #expect(on { rowsOfChat(recent) } == ["Earlier messages", "M6", "M7", "M8"])
      await withCheckedContinuation { done in on { fetchOlder(recent) { done.resume() } } }
      await wait { recent.count == 9 }
      #expect(on { rowsOfChat(recent) } == (0..<9).map { "M\($0)" })
    }

    @Test func guideUnionsAndSectionsCombineAndSplitStreams() async throws {
      try await put([("a", "ada", 1), ("b", "eve", 0)])
      try await put([("d", "ada", 0)], in: "drafts")
      let messages = on { StreamBase(type: Message.self, ref: firestore.collection("messages")) }
      await wait { messages.count == 2 }
      let sections = on { byFame(messages) }
      #expect(on { sections[0].map { $0.key! } } == ["a"] && on { sections[1].map { $0.key! } } == ["b"])
      let (union, sending) = on { withPlaceholders(messages) }
      #expect(on { showSending("hello", sending) }.text == "hello")
      await wait { union.count == 3 }
      #expect(keys(union) == ["a", "b", "~sending"])
      final class Shown { var streams: [(StreamBase, StreamTableAdapter)] = [] }
      let shown = Shown()
      let table = ModelTable(sections: 2) {
        shown.streams.isEmpty ? 0 : shown.streams[$0].0.count
      } key: {
        shown.streams[$0[0]].0[$0[1]].key
      }
      on { shown.streams = sideBySide(firestore, table) }
      await wait { table.sections == [["a", "b"], ["d"]] }
      #expect(table.problem == nil)
      on { shown.streams = [] }
    }

    @Test func resourcesAreCreatedCountedAndLogged() async throws {
      let base = ChatBase(firebase: firestore)
      register(base)
      count(base)
      let home = ResourceContext(base: base, resources: nil)
      let lobby = Room(key: "lobby")
      on { home.create(lobby) }
      let (inRoom, messages) = on { enter(lobby, home) }
      #expect(messages.path == "room_message/lobby/items")
      let first = on { say("hello", inRoom) }
      let second = on { say("again", inRoom) }
      on { _ = say("", inRoom) }
      #expect(on { first.key! < second.key! })
      on {
        second.likes = 1
        inRoom.update(second)
        inRoom.destroy(first)
      }
      await wait { base.log.count == 5 }
      #expect(
        on { base.log } == [
          "created /room/lobby", "created /room_message/lobby/\(first.key!)",
          "created /room_message/lobby/\(second.key!)", "updated /room_message/lobby/\(second.key!)",
          "destroyed /room_message/lobby/\(first.key!)",
        ])
      let room = try await firestore.document("room/lobby").getDocument()
      #expect(room.get("message_count") as? Int == 1 && room.get("liked_count") as? Int == 1)
    }
  }
}
