// The self-test: small, checked, and gone afterwards.

import Foundation
import Testing

@Suite struct BenchTests {
  private let dugout = Program("dugout")

  @Test func benchMeasuresChecksAndLeavesNothing() throws {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run("bench", folder.path, "--documents", "1000", "--json")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    #expect(object["documents"] as? Int == 1000)
    let rows = try #require(object["rows"] as? [[String: Any]])
    #expect(rows.count == 8 && rows.allSatisfy { ($0["perSecond"] as? Double ?? 0) > 0 })
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    let text = try dugout.run("bench", folder.path, "--documents", "7")
    #expect(text.output.contains("All answers were right"), "\(text.output)\(text.complaint)")
  }

  @Test func aPlaceThatIsNoneIsNamed() throws {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run("bench", folder.path + "/nowhere")
    #expect(outcome.status == 69 && outcome.complaint.contains("there is no directory"))
    #expect(try dugout.run("bench", folder.path, "--documents", "none").status == 2)
  }
}
