// Tests of reading from data sources that nothing retains, and of the lifetime of a source.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Pring

extension PringTests {
  @Suite(.timeLimit(.minutes(1))) final class ReadsOnce {
    private let app = TestApp()

    private func make(_ ids: String...) async throws {
      for id in ids { try await Item(id: id).save() }
    }

    private func room(_ ids: String...) async throws -> Room {
      let room = Room(id: "r")
      for id in ids { room.members.insert(Member(id: id)) }
      try await room.save()
      return room
    }

    /// References a source weakly, so that the test sees when the source is freed.
    private final class Watched<T: Document> {
      weak var source: DataSource<T>?
      init(_ source: DataSource<T>) { self.source = source }
    }

    /// Announces its release. If a callback of a data source captures it, that is the release of the source.
    private final class ReleaseSignal {
      private let released: CallbackValues<Void>
      init(_ released: CallbackValues<Void>) { self.released = released }
      deinit { released.add(()) }
    }

    private func isGone<T>(_ watched: Watched<T>) -> Bool { app.onCallbackQueue { watched.source == nil } }

    // MARK: One read

    @Test func aReadOfLinksCompletesWithoutARetainedDataSource() async throws {
      let room = try await room("ada", "eve")
      let keys = await callbackValue { heard in
        room.members.query.dataSource().onCompleted { _, members in heard(members.keys) }.get()
      }
      #expect(keys == ["ada", "eve"])
    }

    @Test func insertionsAndPageEndArriveWithoutARetainedDataSource() async throws {
      let room = try await room("ada", "eve")
      let heard = CallbackValues<String>()
      room.members.query.dataSource()
        .on { _, change in if case .update(let change) = change { heard.add("+\(change.insertions)") } }
        .onCompleted { _, members in heard.add("completed \(members.count)") }
        .next { heard.add("last \($0)") }
      #expect(await heard.next(4) == ["last false", "+[0]", "+[1]", "completed 2"])
    }

    @Test func anAsyncParsedObjectArrivesWithoutARetainedDataSource() async throws {
      try await make("a", "b")
      let names = await callbackValue { heard in
        Item.query.dataSource()
          .on(parse: { _, item, done in
            // The objects are transferred to another thread. The caller does not use them before `done` is
            // called.
            nonisolated(unsafe) let (item, done) = (item, done)
            DispatchQueue.global().async {
              item.name = "parsed"
              done(item)
            }
          })
          .onCompleted { _, items in heard(items.map(\.name)) }
          .get()
      }
      #expect(names == ["parsed", "parsed"])
    }

    @Test func aReadTimesOutWithoutARetainedDataSource() async throws {
      try await make("a")
      let options = Options()
      options.timeout = 0
      let heard = CallbackValues<String>()
      Item.query.dataSource(options: options).on(parse: { _, _, _ in })
        .onError { _, error in heard.add("\(error.kind)") }
        .onCompleted { _, items in heard.add("completed \(items.count)") }
        .get()
      #expect(await heard.next(2) == ["timeout", "completed 0"])
    }

    // MARK: Lifetime

    @Test func aDataSourceReadOnceIsReleasedAfterItsPage() async throws {
      let room = try await room("ada")
      let watched = CallbackValues<Watched<Member>>()
      let released = CallbackValues<Void>()
      _ = await callbackValue { heard in
        let signal = ReleaseSignal(released)
        let source = room.members.query.dataSource()
          .onCompleted { _, members in withExtendedLifetime(signal) { heard(members.count) } }.get()
        watched.add(Watched(source))
      }
      await released.next()
      #expect(isGone(await watched.next()))
    }

    @Test func aDataSourceWithAStuckParseIsReleasedAtTheTimeout() async throws {
      try await make("a")
      let options = Options()
      options.timeout = 0
      let watched = CallbackValues<Watched<Item>>()
      let released = CallbackValues<Void>()
      _ = await callbackValue { heard in
        let signal = ReleaseSignal(released)
        let source = Item.query.dataSource(options: options).on(parse: { _, _, _ in })
          .onCompleted { _, items in withExtendedLifetime(signal) { heard(items.count) } }.get()
        watched.add(Watched(source))
      }
      await released.next()
      #expect(isGone(await watched.next()))
    }

    @Test func aListeningDataSourceEndsWhenReleased() async throws {
      let room = try await room("ada")
      let heard = CallbackValues<Int>()
      let released = CallbackValues<Void>()
      var signal: ReleaseSignal? = ReleaseSignal(released)
      var source: DataSource<Member>? = room.members.query.dataSource()
        .onCompleted { [signal] _, members in withExtendedLifetime(signal) { heard.add(members.count) } }
        .listen()
      signal = nil
      let watched = Watched(try #require(source))
      #expect(await heard.next() == 1)
      app.onCallbackQueue { source = nil }
      // The callback that was heard may still return.
      await released.next()
      #expect(isGone(watched))
      room.members.insert(Member(id: "eve"))
      try await room.update()
      app.onCallbackQueue { heard.add(-1) }
      #expect(await heard.next() == -1)
    }

    @Test func changesInProgressDoNotRetainAListeningDataSource() async throws {
      try await make("a")
      let asked = CallbackValues<(Item, (Item) -> Void)>()
      let released = CallbackValues<Void>()
      var signal: ReleaseSignal? = ReleaseSignal(released)
      var source: DataSource<Item>? = Item.query.dataSource()
        .on(parse: { _, item, done in asked.add((item, done)) })
        .onCompleted { [signal] _, _ in withExtendedLifetime(signal) {} }
        .listen()
      signal = nil
      let watched = Watched(try #require(source))
      let (item, done) = await asked.next()
      app.onCallbackQueue { source = nil }
      await released.next()
      #expect(isGone(watched))
      done(item)
    }

    // MARK: With a listener

    /// The bug: a page that waited for the listener's snapshot was never reported after the listener was
    /// stopped.
    @Test func aPageAwaitingTheListenersSnapshotArrivesAfterTheListenerStops() async throws {
      try await make("a", "b")
      let asked = CallbackValues<String>()
      let heard = CallbackValues<[String]>()
      let options = Options()
      // With a shorter timeout, the timeout would deliver the page.
      options.timeout = 3600
      let source = Item.order(by: "createdAt").limit(to: 1).dataSource(options: options)
        .on(parse: { _, item, done in
          if item.id == "b" { done(item) }
          asked.add(item.id)
        })
        .onCompleted { _, items in heard.add(items.keys) }
        .listen()
      #expect(await asked.next() == "a")
      app.onCallbackQueue { _ = source.get() }
      #expect(await asked.next() == "b")
      app.onCallbackQueue { source.stop() }
      #expect(await heard.next() == ["b"])
    }
  }
}
