// The rows of the network.

/// `--rows wire`: what the messages of google.firestore.v1 cost.
enum WireRows: RowGroup {
  static let name = "wire"
  static let title = "Thread CPU time of the wire, interleaved rounds, ratios to the first line of each part"

  static func parts(_ options: BenchmarkOptions, in directory: String) throws -> [RowPart] {
    try CodecRows.parts(in: directory) + AuthorityRows.parts(in: directory)
  }
}
