// Runs every call of `Complaint.all` and compares the error message.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct ComplaintTests {
  @Test(arguments: Complaint.all.indices) func everyFailureHasItsDocumentedMessage(index: Int) async throws {
    let database = try TestDatabase()
    do {
      try await Complaint.all[index].call(database.firestore)
      Issue.record("nothing was thrown")
    } catch EncodingError.invalidValue(_, let context) {
      #expect(context.debugDescription == Complaint.all[index].message)
    } catch {
      #expect((error as NSError).domain == FirestoreErrorDomain)
      #expect((error as NSError).localizedDescription == Complaint.all[index].message)
    }
    await database.close()
  }
}
