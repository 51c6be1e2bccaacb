// A store that cannot be used: the error reaches every call, names the cause, and the process lives on.

import DocumentStore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct StoreFailureTests {
  @Test func aStoreThatAnotherHoldsIsUnavailableAndTheHolderIsNamed() async throws {
    let database = try TestDatabase()
    let other = try DocumentStore.open(database.firestore.storeDirectory)
    for _ in 0..<2 {
      await #expect { try await database.firestore.document("a/b").getDocument() } throws: { error in
        let error = error as NSError
        return error.code == FirestoreErrorCode.Code.unavailable.rawValue
          && error.userInfo[FirestoreErrorEvidence.holder] as? Int32 == getpid()
      }
      await #expect(throws: NSError.self) {
        try await database.firestore.document("a/b").setData(["n": 1])
      }
    }
    // The next call tries again.
    try other.close()
    try await database.firestore.document("a/b").setData(["n": 1])
    await database.close()
  }

  @Test func damageIsDataLossWithFileAndOffsetAndOtherDatabasesGoOn() async throws {
    let damaged = try TestDatabase()
    try await damaged.firestore.document("a/b").setData(["n": 1])
    let directory = damaged.firestore.storeDirectory
    await damaged.close()
    let log = URL(fileURLWithPath: directory + "/log-0000000001")
    var bytes = try Data(contentsOf: log)
    bytes[4096] ^= 0xFF
    try bytes.write(to: log)
    await damaged.restart()
    await #expect { try await damaged.firestore.document("a/b").getDocument() } throws: { error in
      let error = error as NSError
      return error.code == FirestoreErrorCode.Code.dataLoss.rawValue
        && error.userInfo[FirestoreErrorEvidence.file] as? String == log.path
        && error.userInfo[FirestoreErrorEvidence.offset] as? UInt64 == 4096
    }
    let other = try TestDatabase()
    try await other.firestore.document("a/b").setData(["n": 1])
    await other.close()
    await damaged.close()
  }

  @Test func callbacksGetTheErrorToo() async throws {
    let database = try TestDatabase()
    let other = try DocumentStore.open(database.firestore.storeDirectory)
    let codes = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
      database.firestore.document("a/b").setData(["n": 1]) { written in
        let written = (written as NSError?)?.code ?? 0
        database.firestore.document("a/b").getDocument { snapshot, read in
          done.resume(returning: [written, snapshot == nil ? (read as NSError?)?.code ?? 0 : 0])
        }
      }
    }
    #expect(codes == [14, 14])
    try other.close()
    await database.close()
  }
}
