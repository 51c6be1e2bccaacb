// What the document cache notes of readings until somebody asks it.

import FirebaseFirestore
import Harness
import LayerHarness
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class ReadJournals {
    private let app = TestApp()

    /// Beside a list that forgets nothing: the last of all readings are kept, and none that is not needed for so many.
    @Test func theLastDocumentsStayWithWhatWasReadTogetherWithThem() async throws {
      let people = Firestore.firestore().collection("people")
      for number in 0..<7 { try await people.document("\(number)").setData(["n": number]) }
      let found = try await people.getDocuments().documents
      var random = SeededRandom(seed: 20_261_123)
      for countMax in [1, 5, 20] {
        var journal = ReadJournal(countMax: countMax)
        var all: [[String]] = []
        for step in 0..<2000 {
          let some = found.shuffled(using: &random).prefix(Int.random(in: 0...7, using: &random))
          if let only = some.first, some.count == 1 {
            journal.add(.one(only))
          } else {
            journal.add(.many(Array(some)))
          }
          if !some.isEmpty { all.append(some.map(\.documentID)) }
          // What is gone takes no more room than what is there.
          #expect(journal.slots <= 2 * (countMax + 1))
          guard step % 97 == 0 || countMax == 5 && step % 3 == 0 else { continue }
          let count = journal.count
          let kept = journal.take().map(Self.ids)
          #expect(Array(all.suffix(kept.count)) == kept)
          #expect(kept.joined().count == count)
          #expect(kept.count == all.count || count >= countMax)
          #expect(kept.dropFirst().joined().count < countMax)
          #expect(journal.count == 0 && journal.take().isEmpty)
          all = []
        }
      }
    }

    private static func ids(_ readings: Readings) -> [String] {
      switch readings {
      case .one(let snapshot): [snapshot.documentID]
      case .many(let snapshots): snapshots.map(\.documentID)
      }
    }
  }
}
