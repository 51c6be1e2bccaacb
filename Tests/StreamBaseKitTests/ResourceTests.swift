// Tests of creating, changing and destroying records, and of the hooks of subclasses.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@testable import StreamBaseKit

class Board: BaseItem {
  var title: String?
  var noteCount: Int?

  override func update(_ dict: [String: Any]?) {
    title = dict?["title"] as? String
    noteCount = dict?["note_count"] as? Int
  }

  override var dict: [String: Any] {
    var dict = super.dict
    dict["title"] = title
    dict["note_count"] = noteCount
    return dict
  }
}

/// A base that records the calls of its hooks.
class HearingBase: ResourceBase {
  var heard: [String] = []
  var logs: [(path: String, old: Bool, new: Bool, extra: [String])] = []
  var finished = 0
  /// Decides when a hook calls `done`, and with which argument.
  var decide: (@escaping ResourceDoneHandler) -> Void = { $0(nil) }
  var afterLocalWrite: () -> Void = {}

  override func willCreateInstance(
    _ instance: any BaseItemProtocol, key: String, context: ResourceContext,
    done: @escaping ResourceDoneHandler
  ) {
    heard.append("will create")
    decide(done)
  }
  override func didCreateInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {
    heard.append("did create \(instance.key != nil)")
    afterLocalWrite()
  }
  override func didCreateAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {
    heard.append("persisted creation \(error?.code ?? 0)")
    finished += 1
  }
  override func willUpdateInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    heard.append("will update")
    decide(done)
  }
  override func didUpdateInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {
    heard.append("did update")
    afterLocalWrite()
  }
  override func didUpdateAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {
    heard.append("persisted update \(error?.code ?? 0)")
    finished += 1
  }
  override func willDestroyInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, done: @escaping ResourceDoneHandler
  ) {
    heard.append("will destroy")
    decide(done)
  }
  override func didDestroyInstance(_ instance: any BaseItemProtocol, context: ResourceContext) {
    heard.append("did destroy")
    afterLocalWrite()
  }
  override func didDestroyAndPersistInstance(
    _ instance: any BaseItemProtocol, context: ResourceContext, error: NSError?
  ) {
    heard.append("persisted destruction \(error?.code ?? 0)")
    finished += 1
  }
  override func logAction(
    _ path: String, old: DocumentSnapshot?, new: (any BaseItemProtocol)?, extraContext: ResourceDict
  ) {
    heard.append("log")
    logs.append((path, old?.exists == true, new != nil, extraContext.keys.sorted()))
  }
}

extension StreamBaseKitTests {
  @Suite struct Resources {
    private let world: StreamWorld
    private let base: HearingBase
    private let context: ResourceContext
    private let errors = Errors()

    private final class Errors { var all: [NSError] = [] }

    init() {
      world = StreamWorld()
      base = HearingBase(firebase: world.firestore)
      base.errorHandler = { [errors] in errors.all.append($0) }
      base.resource(Board.self, path: "/boards/@")
      base.resource(Note.self, path: "/notes/$board/@")
      context = ResourceContext(
        base: base, resources: ["board": Board(key: "b"), "user": BaseItem(key: "ada")])
    }

    /// Runs operations and waits until `count` of them have ended.
    private func run(_ count: Int = 1, _ body: () -> Void) async {
      let target = world.on {
        let target = base.finished + count
        body()
        return target
      }
      await world.wait { base.finished >= target }
    }

    private func stored(_ path: String) async throws -> DocumentSnapshot {
      try await world.firestore.document(path).getDocument()
    }

    // MARK: Order of events

    @Test func aCreationWritesUnderANewKeyAndCallsEachHook() async throws {
      let note = Note()
      note.text = "hello"
      await run {
        context.create(note)
        #expect(base.heard == ["will create", "log", "did create true"])
      }
      #expect(base.heard.last == "persisted creation 0")
      let key = try #require(note.key)
      #expect(key.utf8.count == 20)
      #expect(try await stored("notes/b/items/\(key)").data() as? [String: String] == ["text": "hello"])
      #expect(base.logs[0] == ("/notes/b/\(key)", false, true, ["user"]))
    }

    @Test func anUpdateReplacesEachFieldAndRemovesNulls() async throws {
      final class Loose: BaseItem {
        var fields: [String: Any] = [:]
        override func update(_ dict: [String: Any]?) { fields = dict ?? [:] }
        override var dict: [String: Any] { fields }
      }
      base.resource(Loose.self, path: "/loose/@")
      let loose = Loose(key: "l")
      loose.fields = ["a": 1, "b": ["x": 1, "y": 2], "c": NSNull(), "d.e": 4]
      await run { context.create(loose) }
      #expect(try await stored("loose/l").data()?.keys.sorted() == ["a", "b", "d.e"])
      loose.fields = ["a": NSNull(), "b": ["z": 3], "d.e": 5]
      await run { context.update(loose) }
      let data = try await stored("loose/l").data()
      #expect(data?.keys.sorted() == ["b", "d.e"])
      #expect(data?["b"] as? [String: Int] == ["z": 3] && data?["d.e"] as? Int == 5)
      #expect(base.heard.suffix(4) == ["will update", "log", "did update", "persisted update 0"])
      await run { context.destroy(loose) }
      #expect(try await !stored("loose/l").exists)
      #expect(base.heard.suffix(4) == ["will destroy", "log", "did destroy", "persisted destruction 0"])
      #expect(base.logs.map(\.old) == [false, true, true] && base.logs.map(\.new) == [true, true, false])
    }

    @Test func fault17HooksAfterAWriteReadTheWrittenRecord() async throws {
      nonisolated(unsafe) var texts: [String?] = []
      base.afterLocalWrite = { [world] in
        world.firestore.document("notes/b/items/n").getDocument { snapshot, _ in
          texts.append(snapshot?.get("text") as? String)
        }
      }
      let note = Note("n", text: "created")
      await run { context.create(note) }
      note.text = "updated"
      await run { context.update(note) }
      await run { context.destroy(note) }
      await world.wait { texts.count == 3 }
      #expect(world.on { texts } == ["created", "updated", nil])
    }

    @Test func thePersistHookWaitsForTheRemote() async throws {
      let authority = try DocumentStore.openInMemory()
      let remote = try LoopbackRemote(authority: authority)
      let world = StreamWorld { $0.remote = remote }
      let (base, context) = world.on {
        let base = HearingBase(firebase: world.firestore)
        base.resource(Note.self, path: "/notes/@")
        return (base, ResourceContext(base: base, resources: nil))
      }
      try await world.firestore.disableNetwork()
      world.on { context.create(Note("n", text: "t")) }
      let cached = try await world.firestore.document("notes/n").getDocument(source: .cache)
      #expect(cached.get("text") as? String == "t")
      #expect(world.on { base.heard } == ["will create", "log", "did create true"])
      try await world.firestore.enableNetwork()
      await world.wait { base.finished == 1 }
      #expect(world.on { base.heard.last } == "persisted creation 0")
      #expect(try authority.document(at: DocumentPath(["notes", "n"])) != nil)
      try await world.firestore.terminate()
    }

    /// The bug: while a server timestamp is pending, the item has the local time as an estimate. An update of
    /// the item stored this estimate, although the server was still to set the time.
    @Test func anUpdateKeepsAPendingServerTimestamp() async throws {
      let remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      let world = StreamWorld { $0.remote = remote }
      let (base, context) = world.on {
        let base = HearingBase(firebase: world.firestore)
        base.resource(Dated.self, path: "/notes/@")
        return (base, ResourceContext(base: base, resources: nil))
      }
      try await world.firestore.disableNetwork()
      for key in ["left", "given"] {
        world.notes.document(key).setData(["date": FieldValue.serverTimestamp()], completion: nil)
      }
      let stream = world.on {
        let stream = StreamBase(type: Dated.self, ref: world.notes)
        stream.batchDelay = nil
        return stream
      }
      await world.wait { stream.count == 2 }
      let estimate = try #require(world.on { (stream.find("left") as? Dated)?.date })
      let own = Timestamp(seconds: 5, nanoseconds: 0)
      world.on {
        let given = stream.find("given") as? Dated
        given?.date = own
        for case let item as Dated in stream {
          item.text = "new"
          context.update(item)
        }
      }
      await world.wait { base.heard.count { $0 == "did update" } == 2 }
      try await world.firestore.enableNetwork()
      await world.wait { base.finished == 2 }
      let left = try await world.notes.document("left").getDocument(source: .server)
      #expect(left.get("text") as? String == "new")
      let date = try #require(left.get("date") as? Timestamp)
      #expect(date != estimate)
      let given = try await world.notes.document("given").getDocument(source: .server)
      #expect(given.get("date") as? Timestamp == own)
      try await world.firestore.terminate()
    }

    @Test func writesOfARecordAreAppliedInCallOrder() async throws {
      let note = Note("n", text: "1")
      await run(5) {
        context.create(note)
        context.destroy(note)
        context.create(note)
        note.text = "2"
        context.update(note)
        context.update(note)
      }
      #expect(try await stored("notes/b/items/n").get("text") as? String == "2")
      #expect(errors.all.isEmpty)
    }

    @Test func aHookMayRefuseOrCompleteLater() async throws {
      base.decide = { $0(NSError(domain: "test", code: 42)) }
      let note = Note("n")
      world.on { context.create(note) }
      #expect(errors.all.map(\.code) == [42] && base.heard == ["will create"])
      base.decide = { done in
        let done = Transferred(done)
        Thread {
          done.value(nil); done.value(nil)
        }.start()
      }
      note.key = nil
      await run {
        context.create(note)
        #expect(note.key == nil)
      }
      #expect(note.key != nil)
      #expect(base.heard.filter { $0.hasPrefix("did create") }.count == 1)
    }

    // MARK: Paths

    @Test func everyResourcePathMapsToACollectionAndADocument() {
      final class Message: BaseItem {}
      final class Root: BaseItem {}
      final class Settings: BaseItem {}
      base.resource(Message.self, path: "/boards/$board/messages/@")
      base.resource(Root.self, path: "@")
      base.resource(Settings.self, path: "/settings/$user")
      #expect(context.ref(Board(key: "x")).path == "boards/x")
      #expect(context.ref(Note("n")).path == "notes/b/items/n")
      #expect(context.collectionRef(Note.self).path == "notes/b/items")
      #expect(context.ref(Message(key: "m")).path == "boards/b/messages/m")
      #expect(context.ref(Root(key: "r")).path == "items/r")
      #expect(context.ref(Settings()).path == "settings/ada")
      #expect(ResourceBase.refToPath(context.ref(Note("n"))) == "/notes/b/n")
      #expect(ResourceBase.refToPath(context.ref(Message(key: "m"))) == "/boards/b/messages/m")
      #expect(ResourceBase.splitPath("/a/b") == ["a", "b"] && ResourceBase.splitPath("a") == ["a"])
      #expect(base.findResourcePath(Note.self, context: nil) == "/notes/$board/@")
    }

    @Test func thePaddingCollectionIsConfigurable() {
      let base = ResourceBase(firebase: world.firestore)
      base.paddingCollection = "all"
      base.resource(Note.self, path: "/notes/$board/@")
      let context = ResourceContext(base: base, resources: ["board": Board(key: "b")])
      #expect(context.ref(Note("n")).path == "notes/b/all/n")
      #expect(ResourceBase.refToPath(context.ref(Note("n"))) == "/notes/b/n")
    }

    @Test func refToPathReturnsTheRegisteredPath() {
      final class Own: BaseItem {}
      final class Deep: BaseItem {}
      let world = StreamWorld()
      let base = ResourceBase(firebase: world.firestore)
      base.resource(Own.self, path: "/shops/$board/items/@")
      base.resource(Deep.self, path: "/shops/$board/open/today/@")
      let context = ResourceContext(base: base, resources: ["board": Board(key: "b")])
      #expect(ResourceBase.refToPath(context.ref(Own(key: "o"))) == "/shops/b/items/o")
      #expect(context.ref(Deep(key: "d")).path == "shops/b/open/today/items/d")
      #expect(ResourceBase.refToPath(context.ref(Deep(key: "d"))) == "/shops/b/open/today/d")
      #expect(ResourceBase.refToPath(world.firestore.document("x/y/items/z")) == "/x/y/items/z")
      withExtendedLifetime(base) {}
    }

    @Test func fault12UnregisteredClassesAndMissingKeysReachTheErrorHandler() {
      final class Stranger: BaseItem {}
      let empty = ResourceContext(base: base, resources: nil)
      context.create(Stranger())
      empty.create(Note())
      context.update(Note())
      context.create(Note("a/b"))
      context.push(["board": Board()]).create(Note())
      let codes = errors.all.map { StreamBaseErrorCode(rawValue: $0.code) }
      #expect(codes == [.unregistered, .missingName, .missingKey, .invalidKey, .missingName])
      #expect(errors.all.allSatisfy { $0.domain == StreamBaseErrorDomain })
      #expect(errors.all[0].localizedDescription.contains("Stranger"))
      #expect(base.heard.isEmpty)
    }

    @Test func invalidKeysThrowWithinAValidation() throws {
      var accepted: [String] = []
      for key in ["", ".", "..", "a/b"] {
        do {
          _ = try world.firestore.validated { _ in context.ref(Note(key)) }
          accepted.append(key)
        } catch FirestoreErrorCode.invalidArgument {}
        do {
          let inner = context.push(["board": Board(key: key)])
          _ = try world.firestore.validated { _ in inner.collectionRef(Note.self) }
          accepted.append("board \(key)")
        } catch FirestoreErrorCode.invalidArgument {}
      }
      #expect(accepted == [])
      #expect(errors.all.map(\.code) == Array(repeating: StreamBaseErrorCode.invalidKey.rawValue, count: 8))
    }

    @Test func fault12WithoutAnErrorHandlerADebugBuildTraps() async {
      await #expect(processExitsWith: .failure) {
        let base = ResourceBase(firebase: Firestore.memory())
        ResourceContext(base: base, resources: nil).create(Note())
        #if !DEBUG
        exit(1)
        #endif
      }
    }

    @Test func registeringASecondPathForAClassTraps() async {
      await #expect(processExitsWith: .failure) {
        let base = ResourceBase(firebase: Firestore.memory())
        base.resource(Note.self, path: "/a/@")
        base.resource(Note.self, path: "/b/@")
      }
    }

    @Test func fault13TheLogReceivesContextObjectsNotInThePath() async throws {
      let inner = context.push(["board": Board(key: "inner"), "tag": BaseItem(key: "t")])
      await run { inner.create(Note("n")) }
      #expect(base.logs[0].extra == ["tag", "user"])
      #expect(base.logs[0].path == "/notes/inner/n")
    }

    // MARK: The context

    @Test func theTopmostContextLevelWithANameWins() {
      let top = context.push(["board": Board(key: "top")])
      #expect(top.get("board")?.key == "top" && context.get("board")?.key == "b")
      #expect(top.get("user")?.key == "ada" && top.get("x") == nil)
      #expect(Array(top.stack).count == 2)
      #expect(top.map { "\($0.0) \($0.1.key!)" } == ["board top", "user ada"])
      top.reset(["user": BaseItem(key: "eve")])
      #expect(top.get("board")?.key == "b" && top.get("user")?.key == "eve")
      top.reset()
      #expect(top.get("user")?.key == "ada")
      #expect(top.debugDescription == "ResourceContext [] over [board: Board(b), user: BaseItem(ada)]")
    }

    @Test func createOrUpdateAndToggleDependOnExistence() async throws {
      let note = Note("n", text: "1")
      await run { context.createOrUpdate(note, exists: false) }
      note.text = "2"
      await run { context.createOrUpdate(note, exists: true) }
      #expect(try await stored("notes/b/items/n").get("text") as? String == "2")
      await run { context.toggle(note, exists: true) }
      #expect(try await !stored("notes/b/items/n").exists)
      await run { context.toggle(note, exists: false) }
      #expect(try await stored("notes/b/items/n").exists)
    }

    @Test func creatingARecordWithUnstorableValuesIsAnError() async throws {
      final class Odd: BaseItem {
        override var dict: [String: Any] { ["x": Thread.current] }
      }
      base.resource(Odd.self, path: "/odd/@")
      await run { context.create(Odd()) }
      #expect(errors.all.map(\.code) == [FirestoreErrorCode.Code.invalidArgument.rawValue])
    }
  }
}
