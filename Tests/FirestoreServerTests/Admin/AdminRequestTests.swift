// The admin listener: health, readiness and metrics.

import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import Harness
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct AdminRequestTests {
  private func admin(_ server: TestServer, _ path: String, method: String = "GET") -> TestAnswer {
    var request = TestRequest(method, path)
    request.listener = FirestoreHandler.adminListener
    request.version = 1
    return server.send(request)
  }

  @Test func aServerThatRunsIsHealthyAndReady() throws {
    let server = try TestServer.secured()
    #expect(admin(server, "/healthz").status == 200)
    #expect(admin(server, "/readyz").text == "ready\n")
    #expect(admin(server, "/readyz?verbose").status == 200)
    #expect(admin(server, "/nothing").status == 404)
    #expect(admin(server, "/readyz", method: "POST").status == 404)
    #expect(admin(server, "/v1/\(TestServer.documents)/rooms/a").status == 404)
  }

  @Test func aServerThatShutsDownIsHealthyButNotReady() throws {
    let server = try TestServer()
    server.handler.drain()
    #expect(admin(server, "/healthz").status == 200)
    let answer = admin(server, "/readyz")
    #expect(answer.status == 503)
    #expect(answer.text.contains("shutting down"))
  }

  @Test func aStoreThatAcceptsNoWritesIsTheReason() throws {
    let server = try TestServer()
    try server.store.close()
    let answer = admin(server, "/readyz")
    #expect(answer.status == 503)
    #expect(answer.text == "\(TestServer.database): the store is closed\n")
  }

  @Test func theListenersAreSeparate() throws {
    let server = try TestServer()
    #expect(server.get("/metrics").status == 404)
    #expect(server.get("/healthz").status == 404)
    #expect(admin(server, "/").status == 404)
  }

  @Test func metricsHavePrometheusForm() throws {
    let server = try TestServer()
    _ = try server.call("Commit", TestServer.commit("rooms/a", 1))
    server.clock.advance(3_000_000)
    _ = server.call("Nothing\n\"", [])
    _ = server.get("/", { $0.authority = "evil.com" })
    let answer = admin(server, "/metrics")
    #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    let lines = answer.text.split(separator: "\n")
    #expect(lines.contains(#"dugout_requests_total{method="Commit",protocol="grpc",code="OK"} 1"#))
    #expect(
      lines.contains(#"dugout_requests_total{method="unknown",protocol="grpc",code="UNIMPLEMENTED"} 1"#))
    #expect(lines.contains(#"dugout_refusals_total{reason="host"} 1"#))
    #expect(lines.contains(#"dugout_refusals_total{reason="header_size"} 0"#))
    #expect(lines.contains(#"dugout_store_writable{database="\#(TestServer.database)"} 1"#))
    #expect(lines.contains("dugout_transactions_open 0"))
    #expect(lines.contains("dugout_requests_open 0"))
    var types: Set<Substring> = []
    for line in lines {
      let words = line.split(separator: " ")
      if line.hasPrefix("#") {
        if words[1] == "TYPE" { #expect(types.insert(words[2]).inserted, "\(line)") }
        continue
      }
      let pattern = #/[a-z_]+(\{[a-z_]+="[^"\\\n]*"(,[a-z_]+="[^"\\\n]*")*\})? [0-9.e+-]+/#
      #expect(line.wholeMatch(of: pattern) != nil, "\(line)")
      let name = line.prefix { $0 != "{" && $0 != " " }
      let family = name.replacing(#/_(bucket|sum|count)$/#, with: "")
      #expect(types.contains(name) || types.contains(Substring(family)), "\(line) has no type")
    }
  }

  @Test func eachLimitAndRuleHasItsOwnReason() throws {
    let server = try TestServer()
    let metrics = server.journal.metrics
    for refusal in Refusal.allCases { metrics.refused(refusal) }
    for refusal in ServiceRefusal.allCases { metrics.refused(refusal) }
    for refusal in ServerRefusal.allCases { metrics.refused(refusal) }
    let reasons =
      Refusal.allCases.map(\.rawValue) + ServiceRefusal.allCases.map(\.rawValue)
      + ServerRefusal.allCases.map(\.rawValue)
    #expect(Set(reasons).count == reasons.count)
    let lines = admin(server, "/metrics").text.split(separator: "\n")
    for reason in reasons {
      #expect(lines.contains { $0 == #"dugout_refusals_total{reason="\#(reason)"} 1"# }, "\(reason)")
    }
    #expect(lines.contains("dugout_log_lines_dropped_total 0"))
  }

  @Test func histogramsAreCumulative() throws {
    let server = try TestServer()
    let metrics = server.journal.metrics
    for nanoseconds: UInt64 in [1, 100_000, 100_001, 2_000_000, 11_000_000_000] {
      metrics.ended(.commit, by: .grpc, code: 0, nanoseconds: nanoseconds)
    }
    let lines = admin(server, "/metrics").text.split(separator: "\n")
    func bucket(_ bound: String) -> String {
      #"dugout_request_seconds_bucket{method="Commit",le="\#(bound)"} "#
    }
    #expect(lines.contains { $0 == bucket("0.0001") + "2" })
    #expect(lines.contains { $0 == bucket("0.00025") + "3" })
    #expect(lines.contains { $0 == bucket("10") + "4" })
    #expect(lines.contains { $0 == bucket("+Inf") + "5" })
    #expect(lines.contains(#"dugout_request_seconds_count{method="Commit"} 5"#))
    #expect(lines.contains { $0.hasPrefix(#"dugout_request_seconds_sum{method="Commit"} 11.002"#) })
  }

  @Test func clientsCannotCreateLabels() throws {
    let server = try TestServer()
    _ = server.call("Nothing", [])
    let before = admin(server, "/metrics").text.split(separator: "\n").count
    for number in 0..<100 {
      _ = server.call("Nothing\(number)", [])
      _ = server.call("/service\(number)/Commit", [])
    }
    #expect(admin(server, "/metrics").text.split(separator: "\n").count == before)
  }

  @Test func requestsEndOnce() throws {
    let server = try TestServer()
    let connection = TestRequest("GET", "/").http.connection
    let record = RequestRecord(server.journal, connection, by: .rest, method: .unknown)
    record.end(nil)
    record.end(code: 13)
    #expect(server.journal.metrics.requestCount(.unknown, by: .rest, code: 0) == 1)
    #expect(server.journal.metrics.requestCount(.unknown, by: .rest, code: 13) == 0)
    #expect(server.journal.metrics.openRequests.value == 0)
  }
}
