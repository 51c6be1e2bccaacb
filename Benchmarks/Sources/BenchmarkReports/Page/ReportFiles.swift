// The files of a report: the page, one image for each workload, and the table for the documentation.

package import Foundation

package enum ReportFiles {
  /// Creates the directory, and replaces the files of an earlier report.
  package static func write(_ results: RunResults, to directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for workload in results.workloads {
      let image = WorkloadCharts.image(workload, results)
      try write(image.text(isAlone: true), to: directory.appendingPathComponent("\(workload.name).svg"))
    }
    try write(ReportPage(results).text, to: directory.appendingPathComponent("index.html"))
    try write(MarkdownTable.text(results), to: directory.appendingPathComponent("results.md"))
  }

  /// Writes the chart of all workloads as an image of its own.
  package static func writeChart(_ results: RunResults, to file: URL) throws {
    guard let image = SpeedChart.image(results) else { throw NothingToCompare() }
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try write(image.text(isAlone: true), to: file)
  }

  private static func write(_ text: String, to file: URL) throws {
    try text.write(to: file, atomically: true, encoding: .utf8)
  }
}

/// The results have no row with a peer that did the same work.
package struct NothingToCompare: Error, CustomStringConvertible {
  package var description: String {
    "the chart needs a workload with a peer, and these results have none: run W1, for example"
  }
}
