// Random histories of a session, compared with the state of the store at the time of each snapshot.

import Authority
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct SessionModelTests {
  private static let number = StoredFieldPath(unchecked: ["n"])

  private static func targets() throws -> [WatchTarget] {
    let rooms = SessionWorld.rooms
    let ordered = try rooms.ordered(by: OrderBy(number, .ascending))
    var documents = WatchTarget(TargetID(7), StructuredQuery(.document(SessionWorld.room("0"))))
    documents.documents = ["0", "1", "2", "3"].map { SessionWorld.room($0) }
    return [
      WatchTarget(TargetID(1), rooms), WatchTarget(TargetID(2), try SessionWorld.rooms(from: 4)),
      WatchTarget(TargetID(3), try ordered.limited(to: .first(2))),
      WatchTarget(TargetID(4), try ordered.limited(to: .last(3))),
      WatchTarget(TargetID(5), StructuredQuery(.document(SessionWorld.room("1")))),
      WatchTarget(TargetID(6), StructuredQuery(.collectionGroup("rooms"))), documents,
    ]
  }

  /// The documents at the time of each commit.
  private final class History {
    private var states: [(time: SnapshotVersion, documents: [StoredDocument])] = []

    func add(_ time: StoredTimestamp, _ documents: [StoredDocument]) {
      states.append((SnapshotVersion(time), documents))
    }

    func documents(_ target: WatchTarget, _ version: SnapshotVersion) -> [DocumentPath: SnapshotVersion] {
      let documents = states.last { $0.time <= version }?.documents ?? []
      let answers: [StoredDocument]
      if target.documents.isEmpty {
        answers = target.query.answer(from: documents)
      } else {
        answers = documents.filter { target.documents.contains($0.path) }
      }
      return Dictionary(uniqueKeysWithValues: answers.map { ($0.path, SnapshotVersion($0.updateTime)) })
    }
  }

  private func mutations(_ rng: inout SeededRandom) -> [Mutation] {
    (0...rng.below(3)).map { _ in
      let path = SessionWorld.room("\(rng.below(8))")
      if rng.oneIn(4) { return .delete(path) }
      return .set(path, StoredMap([("n", .integer(Int64(rng.below(9))))]))
    }
  }

  @Test(arguments: 1...12) func eachSnapshotIsOneStateOfTheStore(seed: UInt64) throws {
    var rng = SeededRandom(seed: seed)
    let world = try SessionWorld()
    let history = History()
    let targets = try Self.targets()
    let client = ModelClient(world.authority, world.scheduler) { history.documents($0, $1) }
    client.connect()
    for _ in 0..<400 {
      let target = targets[rng.below(targets.count)]
      switch rng.below(12) {
      case 0, 1: client.watch(target, countsDocuments: !rng.oneIn(3))
      case 2: client.unwatch(target.id)
      case 3:
        client.disconnect()
        if rng.oneIn(2) { client.connect() }
      case 4: client.connect()
      case 5: client.advance()
      case 6...8:
        world.scheduler.play(for: 0)
        client.receive()
      default:
        let time = try world.store.commit(mutations(&rng))
        history.add(time, try world.store.documents(SessionWorld.rooms))
      }
      #expect(client.failure == nil)
      if client.failure != nil { return }
    }
    client.connect()
    for target in targets { client.watch(target, countsDocuments: true) }
    world.scheduler.play(for: 0)
    client.receive()
    #expect(client.failure == nil)
    #expect(client.targets.values.allSatisfy(\.isCurrent) && client.targets.count == targets.count)
    #expect(client.checks > 50)
  }
}
