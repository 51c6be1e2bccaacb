// Tests of `ServerTimestamp`: comparison, hashing, encoding and decoding.

import BallcapFields
import FirebaseFirestore
import Foundation
import Testing

@Suite struct ServerTimestampTests {
  private typealias Time = BallcapFields.ServerTimestamp

  private struct Fields: Codable, Equatable {
    var at = Time.pending
  }

  private let timestamp = Timestamp(seconds: 1, nanoseconds: 0)

  @Test func pendingTimestampsCompareAndHashWithoutAValue() {
    #expect(Time.pending == .pending)
    #expect(!(Time.pending != .pending))
    #expect(Time.pending != .resolved(timestamp))
    #expect(Time.resolved(timestamp) == .resolved(timestamp))
    #expect(Set<Time>([.pending, .pending, .resolved(timestamp)]).count == 2)
    #expect(Time.pending.hashValue == Time.pending.hashValue)
  }

  @Test func genericCodeCanCompareServerTimestamps() {
    func same<Value: Equatable>(_ left: Value, _ right: Value) -> Bool { !(left != right) }
    #expect(same(Time.pending, .pending))
    #expect(!same(Time.pending, .resolved(timestamp)))
  }

  @Test func rawValueIsTheTimeOnceResolved() {
    #expect(Time(rawValue: timestamp) == .resolved(timestamp))
    #expect(Time.resolved(timestamp).rawValue == timestamp)
  }

  @Test func pendingTimestampIsStoredAsTheCommitTime() throws {
    let pending = try Firestore.Encoder().encode(Fields())
    #expect(pending["at"] as? FieldValue == FieldValue.serverTimestamp())
    let resolved = try Firestore.Encoder().encode(Fields(at: .resolved(timestamp)))
    #expect(resolved["at"] as? Timestamp == timestamp)
  }

  @Test func storedTimeDecodesAsResolvedAndNullAsPending() throws {
    let decoder = Firestore.Decoder()
    #expect(try decoder.decode(Fields.self, from: ["at": timestamp]).at == .resolved(timestamp))
    #expect(try decoder.decode(Fields.self, from: ["at": NSNull()]).at == .pending)
    #expect(throws: DecodingError.self) { try decoder.decode(Fields.self, from: ["at": "noon"]) }
  }
}
