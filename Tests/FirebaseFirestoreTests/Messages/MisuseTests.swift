// Runs every misuse of the table in its own process, which must end with exactly the expected message.

import FirebaseCore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct MisuseTests {
  @Test(arguments: Misuse.all.indices) func misuseTrapsWithItsMessage(index: Int) async throws {
    let result = await #expect(
      processExitsWith: .exitCode(42), observing: [\.standardErrorContent]
    ) { [index] in
      ProgrammerError.hook = { message in
        try? FileHandle.standardError.write(contentsOf: Data("<<\(message)>>".utf8))
        exit(42)
      }
      let database = try TestDatabase()
      try await Misuse.all[index].call(database.firestore)
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said == "<<\(Misuse.all[index].message)>>")
  }
}
