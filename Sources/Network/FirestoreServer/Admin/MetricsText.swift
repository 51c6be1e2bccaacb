// The metrics in Prometheus' text form, version 0.0.4.

internal import ByteStore
internal import DocumentStore
internal import FirestoreService
internal import FirestoreWire
internal import HTTPTransport

/// Writes all metrics of a server.
struct MetricsText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""

  init(_ runner: CallRunner) {
    let metrics = runner.journal.metrics
    addRequests(metrics)
    addDurations(metrics)
    addConnections(metrics)
    single(
      "dugout_transactions_open", "gauge", help: "Transactions without an end.",
      value: runner.service.openTransactionCount
    )
    addRefusals(metrics)
    single(
      "dugout_log_lines_dropped_total", "counter",
      help: "Lines of the log that were dropped because it was written too slowly.",
      value: runner.journal.log.droppedCount)
    addStores(runner.databases.openDatabases)
  }

  private mutating func addRequests(_ metrics: ServerMetrics) {
    family("dugout_requests_total", "counter", help: "Requests that have ended, by method and status.")
    for method in ServerMethod.allCases {
      for way in ServerProtocol.allCases {
        for (code, name) in StatusName.all.enumerated() {
          let count = metrics.requestCount(method, by: way, code: code)
          // A combination that has not occurred is left out, because there are hundreds.
          guard count > 0 else { continue }
          sample(
            "dugout_requests_total",
            [("method", method.name), ("protocol", way.name), ("code", name)], value: count)
        }
      }
    }
  }

  private mutating func addDurations(_ metrics: ServerMetrics) {
    let name = "dugout_request_seconds"
    family(name, "histogram", help: "Time from the fields of a request to the end of its answer.")
    for method in ServerMethod.allCases {
      let histogram = metrics.durations(of: method)
      let counts = histogram.counts
      guard counts.contains(where: { $0 > 0 }) else { continue }
      var total: UInt64 = 0
      for (place, count) in counts.enumerated() {
        total += count
        let bound = place < DurationHistogram.bounds.count ? DurationHistogram.bounds[place].text : "+Inf"
        sample("\(name)_bucket", [("method", method.name), ("le", bound)], value: total)
      }
      line("\(name)_sum", [("method", method.name)], value: "\(Double(histogram.sumNanoseconds) / 1e9)")
      sample("\(name)_count", [("method", method.name)], value: total)
    }
  }

  private mutating func addConnections(_ metrics: ServerMetrics) {
    single(
      "dugout_connections_total", "counter", help: "Accepted connections.", value: metrics.connections.value)
    single(
      "dugout_connections_open", "gauge", help: "Open connections.", value: metrics.openConnections.value)
    single(
      "dugout_requests_open", "gauge", help: "Requests without an end.", value: metrics.openRequests.value)
    single(
      "dugout_streams_open", "gauge", help: "Open calls of Listen and Write.",
      value: metrics.openStreams.value)
    single(
      "dugout_channels_open", "gauge", help: "Open sessions of WebChannel.",
      value: metrics.openChannels.value)
    single(
      "dugout_received_bytes_total", "counter", help: "Bytes of requests.", value: metrics.bytesReceived.value
    )
    single("dugout_sent_bytes_total", "counter", help: "Bytes of answers.", value: metrics.bytesSent.value)
  }

  private mutating func addRefusals(_ metrics: ServerMetrics) {
    let name = "dugout_refusals_total"
    family(name, "counter", help: "Connections and requests that a limit or a rule has refused.")
    for refusal in HTTPTransport.Refusal.allCases {
      sample(name, [("reason", refusal.rawValue)], value: metrics.count(of: refusal))
    }
    for refusal in ServiceRefusal.allCases {
      sample(name, [("reason", refusal.rawValue)], value: metrics.count(of: refusal))
    }
    for refusal in ServerRefusal.allCases {
      sample(name, [("reason", refusal.rawValue)], value: metrics.count(of: refusal))
    }
  }

  // MARK: Form

  mutating func family(_ name: String, _ type: String, help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  mutating func sample(_ name: String, _ labels: [(String, String)], value: some BinaryInteger) {
    line(name, labels, value: "\(value)")
  }

  mutating func line(_ name: String, _ labels: [(String, String)], value: String) {
    text += name
    if !labels.isEmpty {
      text += "{" + labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",") + "}"
    }
    text += " \(value)\n"
  }

  private mutating func single(
    _ name: String, _ type: String, help: String, value: some BinaryInteger
  ) {
    family(name, type, help: help)
    sample(name, [], value: value)
  }

  private static func escaped(_ label: String) -> String {
    label.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
