// The object client as a state machine: the tests pass events to the machine and inspect the effects. There
// is no store, no remote and no scheduler.

import ByteStore
import DocumentStore
import Testing

@testable import ObjectStore
@testable import ObjectSync

@Suite struct BlobMachineTests {
  private static let unreachable = BlobSyncError.remote(.unavailable("The remote is away."))

  private func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }

  private func object(_ name: String, _ byteCount: UInt64) throws -> StoredObject {
    StoredObject(
      path: try path(name), blob: try #require(BlobID([UInt8](repeating: 1, count: BlobID.byteCount))),
      byteCount: byteCount, md5: [], contentTime: .epoch, changed: .epoch, metageneration: 1, tokens: [],
      attributes: ObjectAttributes())
  }

  private func put(_ number: Int64, _ name: String, _ byteCount: UInt64) throws -> QueuedChange {
    QueuedChange(
      number: number, path: try path(name), kind: .put(try object(name, byteCount)), session: "s\(number)")
  }

  private func deletion(_ number: Int64, _ name: String) throws -> QueuedChange {
    QueuedChange(number: number, path: try path(name), kind: .delete, session: "")
  }

  private func remoteObject(_ name: String, _ byteCount: UInt64) -> RemoteObject {
    RemoteObject(bucket: "bucket", name: name, byteCount: byteCount, generation: 7)
  }

  /// Passes the event to the machine, and describes the effects in short lines.
  private func lines(_ event: BlobEvent, _ machine: inout BlobMachine) -> [String] {
    machine.handle(event).map(Self.line)
  }

  private static func line(_ effect: BlobEffect) -> String {
    switch effect {
    case .send(.offset(let session)): "offset of \(session)"
    case .send(.append(_, let session, let offset, let count)): "append \(count) at \(offset) to \(session)"
    case .send(.finish(_, let session)): "finish \(session)"
    case .send(.delete(let path)): "delete \(path.name.text)"
    case .send(.update(let path, _)): "update \(path.name.text)"
    case .closeContent: "close content"
    case .abandon(let session): "abandon \(session)"
    case .record(let change, .done): "record \(change.number)"
    case .record(let change, .absent): "record absence \(change.number)"
    case .record(let change, .reverted): "revert \(change.number)"
    case .later(.step(let number)): "step \(number)"
    case .later(.resume(let search)): "resume \(search.number)"
    case .later(.answer(let search)): "answer \(search.number)"
    case .startTimer(.search(let search), _): "timer of \(search.number)"
    case .startTimer(let timer, _): "timer \(timer)"
    case .stopTimer(let timer): "stop \(timer)"
    case .progress(let number, let byteCount): "progress \(number): \(byteCount)"
    case .endChange(let number, .success): "end \(number)"
    case .endChange(let number, .failure(let error)): "end \(number): \(error)"
    case .endCancellation(_, let isCancelled): "cancelled: \(isCancelled)"
    case .endWait(_, let error): "end of wait: \(error.map { "\($0)" } ?? "all")"
    case .readLocal(let search, _, let reason): "read \(search.number), \(reason)"
    case .describe(let search, _, _): "describe \(search.number)"
    case .openArrival(let search, _, _, let resumes): "open \(search.number), \(resumes)"
    case .readPiece(let search, _, let offset, _): "piece of \(search.number) at \(offset)"
    case .append(let search, let bytes): "append \(bytes.count) to \(search.number)"
    case .receive(let search, _, _): "receive \(search.number)"
    case .closeArrival(let search, let keepsStagedPart): "close \(search.number), \(keepsStagedPart)"
    case .searchProgress(let search, let byteCount, _): "progress of \(search.number): \(byteCount)"
    case .endSearch(let search, .success(.here)): "end of \(search.number): here"
    case .endSearch(let search, let result): "end of \(search.number): \(result)"
    case .requestPage(_, _, let prefix, let last, let count): "ask \(prefix) after \(last ?? ""), \(count)"
    case .readWaiting(_, let folder, _, let end): "waiting in \(folder.prefix) up to \(end ?? "the end")"
    case .endListing(_, .success(let page)): "page \(page.entries), \(page.next ?? "last")"
    default: "\(effect)"
    }
  }

  // MARK: Changes

  @Test func anUploadIsSentPieceByPieceAndThenRecorded() throws {
    var machine = BlobMachine([], seed: 1)
    let piece = BlobMachine.pieceBytes
    let change = try put(1, "a", UInt64(piece) + 10)
    #expect(lines(.start, &machine) == [])
    #expect(lines(.queued(change, timeout: nil), &machine) == ["step 1"])
    #expect(lines(.step(1), &machine) == ["offset of s1"])
    #expect(lines(.sent(.success(.offset(0))), &machine) == ["step 2"])
    #expect(lines(.step(2), &machine) == ["append \(piece) at 0 to s1"])
    #expect(lines(.sent(.success(.appended)), &machine) == ["progress 1: \(piece)", "step 3"])
    #expect(lines(.step(3), &machine) == ["append 10 at \(piece) to s1"])
    #expect(lines(.sent(.success(.appended)), &machine) == ["progress 1: \(piece + 10)", "step 4"])
    #expect(lines(.step(4), &machine) == ["finish s1"])
    let reportedMetadata = remoteObject("a", 0).reportedMetadata
    #expect(lines(.sent(.success(.finished(reportedMetadata))), &machine) == ["record 1", "close content"])
    let recorded = BlobEvent.recorded(change, .done(reportedMetadata), .success(nil))
    #expect(lines(recorded, &machine) == ["end 1"])
  }

  @Test func theTimerRetriesAnUnreachableRemote() throws {
    var machine = BlobMachine([try deletion(1, "a")], seed: 1)
    #expect(lines(.start, &machine) == ["step 1"])
    #expect(lines(.step(1), &machine) == ["delete a"])
    #expect(lines(.sent(.failure(Self.unreachable)), &machine) == ["timer retry"])
    #expect(lines(.queued(try deletion(2, "b"), timeout: nil), &machine) == [])
    #expect(lines(.timer(.retry), &machine) == ["step 2"])
    #expect(lines(.step(2), &machine) == ["delete a"])
    // The first attempt may have deleted the object.
    #expect(lines(.sent(.success(.deleted(false))), &machine) == ["record 1"])
  }

  @Test func aStaleStepHasNoEffect() throws {
    var machine = BlobMachine([try put(1, "a", 10), try deletion(2, "b")], seed: 1)
    #expect(lines(.start, &machine) == ["step 1"])
    #expect(lines(.hold(1), &machine) == ["step 2"])
    #expect(lines(.step(1), &machine) == [])
    #expect(lines(.step(2), &machine) == ["delete b"])
  }

  @Test func aCancellationRevertsTheChangeAndReportsAfterItsEnd() throws {
    var machine = BlobMachine([], seed: 1)
    let change = try put(1, "a", 10)
    _ = lines(.queued(change, timeout: 5_000_000), &machine)
    let calls = [BlobCallID(value: 1), BlobCallID(value: 2)]
    #expect(lines(.cancel(1, calls[0]), &machine) == ["abandon s1", "revert 1"])
    let outcome = ChangeOutcome.reverted(.cancelled)
    let full = DocumentStoreError.full(StorageEvidence(message: "There is no space."))
    #expect(lines(.recorded(change, outcome, .failure(full)), &machine) == ["timer retry"])
    // A change that is being reverted is not overdue.
    #expect(lines(.timer(.timeout(1)), &machine) == ["timer timeout(1)"])
    #expect(lines(.timer(.retry), &machine) == ["step 2"])
    #expect(lines(.step(2), &machine) == ["revert 1"])
    #expect(
      lines(.recorded(change, outcome, .success(nil)), &machine)
        == ["stop timeout(1)", "end 1: cancelled", "cancelled: true"])
    #expect(lines(.cancel(1, calls[1]), &machine) == ["cancelled: false"])
  }

  @Test func anUnansweredChangeBecomesOverdue() throws {
    var machine = BlobMachine([], seed: 1)
    #expect(
      lines(.queued(try deletion(1, "a"), timeout: 1), &machine) == ["timer timeout(1)", "step 1"])
    _ = lines(.step(1), &machine)
    _ = lines(.sent(.failure(Self.unreachable)), &machine)
    #expect(
      lines(.timer(.timeout(1)), &machine)
        == ["end 1: \(BlobSyncError.overdue(Self.unreachable))"])
    #expect(lines(.wait(BlobCallID(value: 1)), &machine) == [])
    #expect(lines(.stop, &machine) == ["end of wait: stopped"])
    #expect(lines(.timer(.retry), &machine) == [])
  }

  @Test func thePatienceTimerStopsWhenItsChangeCompletes() throws {
    var machine = BlobMachine([], seed: 1)
    let change = try deletion(1, "a")
    _ = lines(.queued(change, timeout: 5_000_000), &machine)
    _ = lines(.step(1), &machine)
    #expect(lines(.sent(.success(.deleted(true))), &machine) == ["record 1"])
    #expect(
      lines(.recorded(change, .done(nil), .success(nil)), &machine) == ["stop timeout(1)", "end 1"])
    #expect(lines(.timer(.timeout(1)), &machine) == [])
  }

  @Test func allPatienceTimersStopWithTheClient() throws {
    var machine = BlobMachine([], seed: 1)
    _ = lines(.queued(try deletion(1, "a"), timeout: 5_000_000), &machine)
    _ = lines(.queued(try deletion(2, "b"), timeout: nil), &machine)
    _ = lines(.queued(try deletion(3, "c"), timeout: 5_000_000), &machine)
    #expect(
      lines(.stop, &machine)
        == ["stop timeout(1)", "end 1: stopped", "end 2: stopped", "stop timeout(3)", "end 3: stopped"])
  }

  // MARK: Searches

  /// Starts a search for a content that only the remote has.
  private func find(_ number: Int, _ machine: inout BlobMachine) throws -> [String] {
    let search = BlobSync.Search(number: number)
    let limits = FetchLimits(fetchesContent: true, bytesMax: .max, timeout: 10_000_000)
    _ = machine.handle(.find(search, try path("\(number)"), limits))
    _ = machine.handle(.localRead(search, .lookUp, .success(LocalObject())))
    return lines(.described(search, LocalObject(), .success(remoteObject("\(number)", 3))), &machine)
  }

  @Test func aFetchedContentIsVerifiedAndReadFromTheStore() throws {
    var machine = BlobMachine([], seed: 1)
    let search = BlobSync.Search(number: 1)
    #expect(try find(1, &machine) == ["open 1, true"])
    #expect(lines(.arrivalOpened(search, isRereading: false), &machine) == ["resume 1"])
    #expect(lines(.resume(search), &machine) == ["piece of 1 at 0"])
    #expect(lines(.pieceRead(search, .success([1, 2, 3])), &machine) == ["append 3 to 1"])
    #expect(lines(.appended(search, .success(3)), &machine) == ["progress of 1: 3", "resume 1"])
    #expect(lines(.resume(search), &machine) == ["piece of 1 at 3"])
    #expect(lines(.pieceRead(search, .success([])), &machine) == ["receive 1"])
    #expect(lines(.received(search, .success(true)), &machine) == ["answer 1"])
    #expect(lines(.answer(search), &machine) == ["read 1, answer"])
    let local = LocalObject(object: try object("1", 3))
    #expect(lines(.localRead(search, .answer, .success(local)), &machine) == ["end of 1: here"])
  }

  /// The seventeenth search gets the slot of the first search that is waiting for the remote.
  @Test func aSearchWaitingForTheRemoteYieldsItsSlot() throws {
    var machine = BlobMachine([], seed: 1)
    let found = try (1...16).map { try find($0, &machine) }
    #expect(found == (1...16).map { ["open \($0), true"] })
    #expect(try find(17, &machine) == [])
    let first = BlobSync.Search(number: 1)
    _ = machine.handle(.arrivalOpened(first, isRereading: false))
    _ = machine.handle(.resume(first))
    #expect(
      lines(.pieceRead(first, .failure(Self.unreachable)), &machine)
        == ["timer of 1", "close 1, false", "resume 17"])
    #expect(
      lines(.endSearch(BlobSync.Search(number: 2), .cancelled), &machine).first == "close 2, false")
    #expect(
      lines(.endSearch(BlobSync.Search(number: 3), .stopped), &machine).first == "close 3, true",
      "the part stays for a later search")
  }

  // MARK: Listings

  /// The listing omits a folder of the remote if the folder's only object has a pending deletion.
  @Test func aSubfolderWithPendingDeletionsIsListedAtTheRemote() throws {
    var machine = BlobMachine([], seed: 1)
    let call = BlobCallID(value: 1)
    let folder = ListedFolder(bucket: "bucket", prefix: "")
    #expect(lines(.list(call, folder, after: nil, limit: 10), &machine) == ["ask  after , 10"])
    #expect(
      lines(.remotePage(call, .success(RemoteListing(["a", "d/", "e/"], isLast: true))), &machine)
        == ["waiting in  up to the end"])
    let waiting = [try ObjectName("b"): true, try ObjectName("d/x/1"): false, try ObjectName("e/1"): false]
    #expect(lines(.waitingRead(call, .success(waiting)), &machine) == ["ask d/ after , 2"])
    #expect(
      lines(.remotePage(call, .success(RemoteListing(["d/x/"], isLast: true))), &machine)
        == ["ask d/x/ after , 2"])
    #expect(
      lines(.remotePage(call, .success(RemoteListing(["d/x/1"], isLast: true))), &machine)
        == ["ask e/ after , 2"])
    #expect(
      lines(.remotePage(call, .success(RemoteListing(["e/1", "e/2"], isLast: false))), &machine)
        == ["page \(["a", "b", "e/"]), last"])
  }
}
