// Acknowledgement as observed from outside the process: from its system calls, and from the state after the
// process is killed.

import Foundation
import Testing

@Suite struct AcknowledgementTests {
  private static let strace = ["/usr/bin/strace", "/bin/strace"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(.enabled(if: strace != nil, "needs strace to see system calls: apt-get install strace"))
  func fsyncReturnsBeforeTheCompletionRuns() throws {
    let folder = try TemporaryFolder()
    let trace = folder.path + "/trace"
    let strace = try #require(Self.strace)
    _ = try Program(path: strace).run(
      "-f", "-y", "-e", "trace=pwrite64,fdatasync,write", "-o", trace, Program("dugout").path,
      "quickstart", "writer", folder.path + "/store")
    let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    func last(_ call: String, _ text: String) -> Int? {
      calls.lastIndex { $0.contains(call) && $0.contains(text) }
    }
    let write = try #require(last("pwrite64(", "log-0000000001"), "\(calls.suffix(20))")
    let sync = try #require(last("fdatasync(", "log-0000000001"))
    let completion = try #require(last("write(1", "users/ada is saved"))
    #expect(write < sync)
    #expect(sync < completion)
    // strace reports an interrupted call in two lines. The second line has the result.
    let returned =
      calls[sync].contains("= 0") ? sync : calls[sync...].firstIndex { $0.contains("fdatasync resumed") }
    #expect(try #require(returned) < completion)
  }

  @Test func acknowledgedWritesSurviveAKilledProcess() throws {
    let outcome = try Program("campaign").run("kill", "--rounds", "6", "--seed", "1")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    // More rounds run where strace exists and file systems can be mounted.
    let line = try #require(outcome.output.split(separator: "\n").last)
    let run = try #require(Int(line.split(separator: " ")[1]))
    #expect(run >= (Self.strace == nil ? 6 : 26))
    #expect(line == "kill: \(run) run, 0 failed")
  }
}
