// Short runs of the fuzz targets for HTTP/1.1 and gRPC.

import Foundation
import Harness
import Testing

@Suite struct TransportFuzzTests {
  @Test(arguments: ["http", "grpc"])
  func mutatedBytesBreakNoProperty(name: String) throws {
    let target = try #require(FuzzCampaign.targets.first { $0.name == name })
    let summary = FuzzCampaign.run(target, seed: 1, corpus: []) { $0 >= 2000 }
    let input = summary.findingInput.map { Data($0).base64EncodedString() } ?? ""
    #expect(summary.finding == nil, "\(input)")
    let parts =
      name == "http"
      ? ["finish: open", "cancel: malformed", "messageSize", "headerSize", "GET", "HEAD", "body"]
      : ["status ok, messages", "status deadline", "limit", "unimplemented", "cut text", "malformed timeout"]
    for part in parts {
      #expect(summary.answers.contains { $0.key.contains(part) }, "no answer with \(part)")
    }
  }
}
