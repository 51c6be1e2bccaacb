// Tests of the journal of reads, which the document cache evaluates on its next lookup.

import FirebaseFirestore
import Foundation
import Harness
import LayerHarness
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class ReadJournals {
    private let app = TestApp()

    /// Compares the journal with a list of all reads. The journal must return the last reads unchanged. It
    /// may return more than `countMax` reads, but the excess is smaller than one piece.
    @Test func journalReturnsTheLastReadsUnchanged() async throws {
      let other = try Firestore.open(at: app.folder.appendingPathComponent("other"))
      let few = try await Self.read(Firestore.firestore()) + Self.read(other)
      var random = SeededRandom(seed: 20_261_123)
      var wrong: [String] = []
      for countMax in [1, 5, 300] {
        var journal = ReadJournal(countMax: countMax)
        var all: [DocumentSnapshot] = []
        var pick = few[0]
        for step in 0..<3000 {
          // Sometimes repeats the last pick; the other picks alternate between both databases and between
          // large and small documents.
          if Int.random(in: 0..<4, using: &random) > 0 { pick = few.randomElement(using: &random)! }
          journal.add(pick)
          all.append(pick)
          if journal.slots > 2 * (countMax + 1) {
            wrong.append("\(countMax), step \(step): \(journal.slots) slots")
          }
          guard step % 997 == 996 || countMax == 5 && step % 11 == 0 else { continue }
          let count = journal.count
          let kept = journal.take()
          if kept != Array(all.suffix(kept.count)) || kept.count != count {
            wrong.append("\(countMax), step \(step): kept \(kept.count) of \(count)")
          }
          if kept.count < min(all.count, countMax) || kept.count >= countMax + ReadJournal.pieceCountMax {
            wrong.append("\(countMax), step \(step): kept \(kept.count) of all \(all.count)")
          }
          let rest = journal.take()
          if journal.count != 0 || !rest.isEmpty {
            wrong.append("\(countMax), step \(step): \(journal.count) and \(rest.count) are left")
          }
          all = []
        }
      }
      #expect(wrong == [])
      try await other.terminate()
    }

    /// The unpacked snapshots share no object with the snapshots that were packed.
    @Test func packedSnapshotsRoundTrip() async throws {
      var packed = PackedSnapshots()
      let snapshots = try await Self.read(Firestore.firestore())
      let taken = snapshots.filter { packed.append($0) }
      // One snapshot is absent and one is large, so neither is packed.
      #expect(taken.count == snapshots.count - 2)
      #expect(packed.snapshots == taken)
      var wrong: [String] = []
      for (index, (copy, original)) in zip(packed.snapshots, taken).enumerated() {
        if copy === original || copy.reference != original.reference || copy.version != original.version
          || copy.metadata != original.metadata
        {
          wrong.append("\(index): \(copy), \(original)")
        }
      }
      #expect(wrong == [])
      packed.removeAll()
      #expect(packed.count == 0 && packed.byteCount == 0 && packed.snapshots.isEmpty)
    }

    @Test func documentsOfTwoDatabasesAreNotPackedTogether() async throws {
      let other = try Firestore.open(at: app.folder.appendingPathComponent("other"))
      let (ours, theirs) = try await (Self.read(Firestore.firestore()), Self.read(other))
      var packed = PackedSnapshots()
      let isTaken = [ours[0], theirs[0]].map { packed.append($0) }
      #expect(isTaken == [true, false])
      #expect(packed.snapshots == [ours[0]])
      packed.removeAll()
      let isTakenNow = packed.append(theirs[0])
      #expect(isTakenNow)
      #expect(packed.snapshots == [theirs[0]])
      try await other.terminate()
    }

    /// The later documents have field names that no document had when the first documents were read. All
    /// records are read with the latest shapes, whatever the order in which the documents were packed.
    @Test func documentsWithNewFieldNamesArePackedWithOlderOnes() async throws {
      let people = Firestore.firestore().collection("people")
      func read(_ name: String) async throws -> DocumentSnapshot {
        for id in ["\(name)-a", "\(name)-b", "\(name)-c"] {
          try await people.document(id).setData([name: 1, "and": ["\(name) below": true]])
        }
        return try await people.document("\(name)-c").getDocument()
      }
      let snapshots = [try await read("old"), try await read("new"), try await read("newest")]
      var wrong: [String] = []
      for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2, 1]] {
        var packed = PackedSnapshots()
        for place in order { packed.append(snapshots[place]) }
        let expected = order.map { snapshots[$0] }
        if packed.snapshots != expected { wrong.append("\(order): \(packed.snapshots)") }
      }
      #expect(wrong == [])
    }

    /// Returns snapshots of documents with equal fields, with several shapes, and with a long path, and of
    /// large, empty, and absent documents.
    private static func read(_ firestore: Firestore) async throws -> [DocumentSnapshot] {
      let people = firestore.collection("people")
      for number in 0..<5 { try await people.document("\(number)").setData(["n": number, "name": "Ada"]) }
      let place = people.document("ä b ☃").collection("c").document("0")
      try await place.setData(["at": FieldValue.serverTimestamp(), "list": [1, "two", NSNull()]])
      try await people.document("large").setData(["text": String(repeating: "many words ", count: 1000)])
      try await people.document("empty").setData([:])
      var snapshots: [DocumentSnapshot] = try await people.getDocuments().documents
      snapshots.append(try await place.getDocument())
      snapshots.append(try await people.document("nobody").getDocument())
      return snapshots
    }
  }
}
