// The identities of batches on the wire.

import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@Suite struct WriteIdentityTests {
  private let room = DocumentPath(unchecked: ["rooms", "a"])
  private let other = DocumentPath(unchecked: ["rooms", "b"])

  private func batch(_ guards: [DocumentPath: Precondition] = [:]) -> RemoteWrite {
    var write = RemoteWrite(
      id: WriteID(queue: "queue é", run: RunID(.max), batch: BatchID(7)),
      mutations: [.delete(room)], firstOpen: BatchID(5), guards: guards)
    write.registration = [1, 2, 3]
    return write
  }

  /// Sends a batch through a label, with its guards as the first writes.
  private func sent(_ write: RemoteWrite) throws -> RemoteWrite {
    let text = try WriteLabels.text(Wire.WriteIdentity(write))
    let labels: Wire.Labels = [WriteLabels.write: text]
    let identity = try #require(
      try WriteLabels.message(Wire.WriteIdentity.self, in: labels, at: WriteLabels.write))
    let guards = write.guards.map { Mutation.verify($0.key, $0.value) }
    return try identity.write(guards + write.mutations)
  }

  @Test func aBatchArrivesAsItWasSent() throws {
    #expect(try sent(batch()) == batch())
    let guarded = batch([room: .exists(true), other: .exists(false)])
    #expect(try sent(guarded) == guarded)
  }

  @Test func registrationsArriveAsTheyWereSent() throws {
    let runs = [
      RunRegistration(queue: "", run: RunID(0)), RunRegistration(queue: "q", run: RunID(.max), token: [9]),
    ]
    let message = Wire.RunRegistrations(runs)
    #expect(try Wire.RunRegistrations(protobuf: message.protobuf()).registrations == runs)
    #expect(try Wire.RunRegistrations(json: message.json()).registrations == runs)
  }

  @Test func guardsMustVerifyDifferentDocuments() throws {
    var identity = Wire.WriteIdentity(batch())
    for (count, mutations) in [
      (-1, [Mutation.delete(room)]), (2, [.delete(room)]), (1, [.delete(room)]), (Int32.max, []),
      (2, [.verify(room, .exists(true)), .verify(room, .exists(true))]),
    ] as [(Int32, [Mutation])] {
      identity.guardCount = count
      #expect(throws: RemoteError.self) { try identity.write(mutations) }
    }
  }

  @Test func labelsThatAreNoMessageAreRefused() throws {
    for text in ["%", "/w==", "CgI"] {
      #expect(throws: RemoteError.self) {
        try WriteLabels.message(Wire.WriteIdentity.self, in: [WriteLabels.write: text], at: WriteLabels.write)
      }
    }
    #expect(try WriteLabels.message(Wire.WriteIdentity.self, in: [:], at: WriteLabels.write) == nil)
  }

  @Test func anIdentityInMetadataIsALabel() throws {
    let identity = Wire.WriteIdentity(batch())
    #expect(try WriteLabels.identity(inMetadata: WriteLabels.text(identity)) == identity)
    for text in ["%", "/w==", "CgI", String(repeating: "A", count: WriteLabels.metadataBytesMax + 4)] {
      do throws(RemoteError) {
        _ = try WriteLabels.identity(inMetadata: text)
        Issue.record("\(text.prefix(20)) is an identity")
      } catch { #expect(error.code == .invalidArgument) }
    }
  }

  @Test func otherClientsSkipTheFieldsOfACommit() throws {
    var response = Wire.IdentifiedCommitResponse()
    response.commitTime = Wire.Timestamp(seconds: 1, nanos: 2)
    response.writeResults = [
      Wire.IdentifiedWriteResult(
        WriteResult(
          version: SnapshotVersion(microseconds: 3), versionBefore: SnapshotVersion(microseconds: 2)))
    ]
    (response.isIdentified, response.isClosed) = (true, true)
    for plain in [
      try Wire.CommitResponse(protobuf: response.protobuf()), try Wire.CommitResponse(json: response.json()),
    ] {
      #expect(plain.commitTime == response.commitTime)
      #expect(plain.writeResults.map(\.updateTime) == response.writeResults.map(\.updateTime))
    }
    #expect(try Wire.IdentifiedCommitResponse(protobuf: response.protobuf()) == response)
    #expect(try Wire.IdentifiedCommitResponse(json: response.json()) == response)
  }

  @Test func otherClientsSkipTheFieldsOfAnAnswer() throws {
    var response = Wire.IdentifiedWriteResponse()
    response.streamToken = [1]
    response.commitTime = Wire.Timestamp(seconds: 1, nanos: 2)
    response.registrations = Wire.RunRegistrations([RunRegistration(queue: "q", run: RunID(1), token: [2])])
    response.isOvertaken = true
    response.writeResults = [
      Wire.IdentifiedWriteResult(
        WriteResult(
          version: SnapshotVersion(microseconds: 3), versionBefore: SnapshotVersion(microseconds: 2)))
    ]
    for plain in [
      try Wire.WriteResponse(protobuf: response.protobuf()), try Wire.WriteResponse(json: response.json()),
    ] {
      #expect(plain.streamToken == [1] && plain.commitTime == response.commitTime)
      #expect(plain.writeResults.map(\.updateTime) == response.writeResults.map(\.updateTime))
    }
    #expect(try Wire.IdentifiedWriteResponse(protobuf: response.protobuf()) == response)
    #expect(try Wire.IdentifiedWriteResponse(json: response.json()) == response)
  }
}
