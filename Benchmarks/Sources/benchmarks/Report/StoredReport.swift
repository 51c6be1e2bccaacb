// `--from`: makes a report or a chart from stored results, without a measurement.

import BenchmarkReports
import Foundation

enum StoredReport {
  static func make(_ options: BenchmarkOptions) throws {
    var merged: RunResults?
    for file in options.storedFiles {
      let results = try read(file)
      merged = try merged.map { try $0.merged(with: results) } ?? results
    }
    guard let results = merged else { return }
    try ReportFiles.write(results, options)
    if let file = options.chartFile {
      try ReportFiles.writeChart(results, to: URL(fileURLWithPath: file))
    }
    Progress.print(TextTable.closing(results) + "\n")
  }

  private static func read(_ file: String) throws -> RunResults {
    guard let json = FileManager.default.contents(atPath: file) else {
      throw BenchmarkFailure("\(file) cannot be read: --from needs a file that --json wrote")
    }
    do { return try RunResults(json: json) } catch {
      throw BenchmarkFailure("\(file) has no results that --json wrote: \(error)")
    }
  }
}

extension ReportFiles {
  /// Writes the JSON and the report, if the options name them.
  static func write(_ results: RunResults, _ options: BenchmarkOptions) throws {
    if let file = options.jsonFile {
      try results.json.write(to: URL(fileURLWithPath: file), options: .atomic)
    }
    if let directory = options.reportDirectory {
      try write(results, to: URL(fileURLWithPath: directory))
    }
  }
}
