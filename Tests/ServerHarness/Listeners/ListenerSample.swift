// The resources of a server at one time, and what its listeners have reached.

#if Server
import Foundation

/// One row of the curve.
package struct ListenerSample: Sendable {
  package var seconds = 0.0
  package var residentKilobytes = 0
  package var anonymousKilobytes = 0
  package var memtableKilobytes = 0
  package var descriptors = 0
  package var connections = 0
  package var channels = 0
  package var streams = 0
  package var commits = 0
  package var changes = 0
  package var reconnects = 0
  /// Microseconds from the start of a commit to its listeners, since the sample before.
  package var medianWait = 0
  package var longWait = 0

  package init() {}

  /// Anonymous memory without the bytes of commits that the store has not flushed.
  package var judgedKilobytes: Int { anonymousKilobytes - memtableKilobytes }

  /// The values by name.
  package var details: [(name: String, value: Int)] {
    [
      ("seconds", Int(seconds.rounded())), ("residentKilobytes", residentKilobytes),
      ("anonymousKilobytes", anonymousKilobytes), ("memtableKilobytes", memtableKilobytes),
      ("descriptors", descriptors), ("connections", connections), ("channels", channels),
      ("streams", streams), ("commits", commits), ("changes", changes), ("reconnects", reconnects),
      ("medianWaitMicroseconds", medianWait), ("p99WaitMicroseconds", longWait),
    ]
  }

  package var text: String { details.map { "\($0.name) \($0.value)" }.joined(separator: ", ") }

  /// The rows with a line of names, separated by commas.
  package static func table(_ samples: [ListenerSample]) -> String {
    let names = ListenerSample().details.map(\.name).joined(separator: ",")
    return ([names] + samples.map { $0.details.map { "\($0.value)" }.joined(separator: ",") })
      .joined(separator: "\n")
  }
}

extension ListenerSample {
  /// Measures a server. Returns nil if it does not answer.
  init?(_ target: AbuseTarget) {
    guard let metrics = target.metrics() else { return nil }
    residentKilobytes = target.residentBytes >> 10
    anonymousKilobytes = Self.anonymousKilobytes(of: target.process)
    descriptors = target.descriptorCount
    connections = metrics["dugout_connections_open", default: 0]
    channels = metrics["dugout_channels_open", default: 0]
    streams = metrics["dugout_streams_open", default: 0]
    for (name, value) in metrics where name.hasPrefix("dugout_store_memtable_bytes") {
      memtableKilobytes += value >> 10
    }
  }

  private static func anonymousKilobytes(of process: Int32) -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) } ?? 0
  }
}
#endif
