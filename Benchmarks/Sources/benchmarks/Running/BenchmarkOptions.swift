// The options of the command line.

import BenchmarkReports
import Foundation

struct BenchmarkOptions: Sendable {
  var only: Set<String> = []
  var documents = 100_000
  var runs = 5
  /// The peers to compare. Nil means all installed peers.
  var peers: Set<String>?
  var jsonFile: String?
  var reportDirectory: String?
  /// The file of the chart of all workloads.
  var chartFile: String?
  /// Stored results, from which files are made without a measurement.
  var storedFiles: [String] = []
  /// The document counts of the curves. The run measures everything once for each count.
  var scale: [Int] = []
  /// The directory in which the stores are created. It determines which disk is measured.
  var directory = Self.standardDirectory
  static let standardDirectory = FileManager.default.temporaryDirectory.path
  /// Counts instructions instead of measuring times.
  var countsInstructions = false
  /// Writes the counted instructions as the pins.
  var pinsInstructions = false
  /// The group of rows to measure instead of the workloads.
  var rows: String?
  var wantsHelp = false

  static let help = """
    Usage: benchmarks [--only W5,W6] [--documents 100000] [--runs 5] [--peers sqlite,lmdb,rocksdb,leveldb,files]
                      [--json FILE] [--report DIR] [--chart FILE] [--directory DIR]
                      [--scale 10000,100000,1000000,5000000]
           benchmarks --from FILE[,FILE] [--json FILE] [--report DIR] [--chart FILE]
           benchmarks --instructions [--pin] [--directory DIR]
           benchmarks --rows wire|server|sync [--runs 5] [--documents 100000] [--directory DIR]

    --only       the workloads below, by name; a range such as W5-W9 is all of them
    --documents  how many documents the stores hold (the goals are meant for 1000000)
    --runs       rounds; in each one every engine has its turn, in another order
    --peers      which of the installed peers take part; files are plain files, for contents
    --json       writes the results as JSON
    --report     writes a page (DIR/index.html), a table (DIR/results.md), and the charts of the workloads
                 as SVG files
    --chart      writes one SVG chart of all workloads: Dugout beside the fastest peer
    --from       makes the report and the chart from results that --json wrote, and measures nothing;
                 the workloads of each further file replace those of the files before it
    --scale      runs everything once for each of these counts, and draws the curves; W1 to W3 write
                 into stores that hold as many
    --directory  where the stores are created; it decides which disk is measured

    --instructions  counts the instructions of the hot paths, and fails if they are more than the pinned ones
    --pin           pins the counted instructions

    --rows       measures a group of rows instead of the workloads, and prints its tables: wire,
                 server, which needs nghttpd and h2load, or sync, of as many documents as given

    """

  init(_ words: [String]) throws {
    var rest = words[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw BenchmarkFailure("\(option) needs a value") }
      return value
    }
    func list(of option: String) throws -> [String] {
      try value(of: option).split(separator: ",").map(String.init)
    }
    func number(_ text: String, of option: String) throws -> Int {
      guard let number = Int(text), number > 0 else {
        throw BenchmarkFailure("\(option) needs a positive number, not \"\(text)\"")
      }
      return number
    }
    while let word = rest.popFirst() {
      switch word {
      case "--only": only = Set(try list(of: word).flatMap(Self.expanded))
      case "--documents": documents = try number(value(of: word), of: word)
      case "--runs": runs = try number(value(of: word), of: word)
      case "--peers": peers = Set(try list(of: word))
      case "--json": jsonFile = try value(of: word)
      case "--report": reportDirectory = try value(of: word)
      case "--chart": chartFile = try value(of: word)
      case "--from": storedFiles = try list(of: word)
      case "--scale": scale = try list(of: word).map { try number($0, of: word) }
      case "--directory": directory = try value(of: word)
      case "--instructions": countsInstructions = true
      case "--pin": pinsInstructions = true
      case "--rows": rows = try value(of: word)
      case "--help", "-h": wantsHelp = true
      default: throw BenchmarkFailure("there is no option \(word); --help lists them")
      }
    }
    // Queries with a limit of 1000 must find 1000 documents.
    guard documents >= 1000, scale.allSatisfy({ $0 >= 1000 }) else {
      throw BenchmarkFailure("the workloads need 1000 documents at least")
    }
    guard countsInstructions || !pinsInstructions else {
      throw BenchmarkFailure("--pin needs --instructions")
    }
    if !storedFiles.isEmpty, let option = words.first(where: Self.measuring.contains) {
      throw BenchmarkFailure("--from measures nothing and cannot be combined with \(option)")
    }
    let unknown = (peers ?? []).subtracting(Peer.allCases.map(\.rawValue))
    guard unknown.isEmpty else {
      throw BenchmarkFailure("there is no peer \(unknown.sorted().joined(separator: ", "))")
    }
  }

  /// The options of a measurement.
  private static let measuring: Set = [
    "--only", "--documents", "--runs", "--peers", "--scale", "--directory", "--instructions",
  ]

  /// Expands a range: W5-W9 is five workloads.
  private static func expanded(_ name: String) -> [String] {
    let ends = name.split(separator: "-").map { Int($0.dropFirst()) }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return [name] }
    return (first...last).map { "W\($0)" }
  }

  func wants(_ engine: String) -> Bool {
    guard let peers, let peer = Peer(engine: engine) else { return true }
    return peers.contains(peer.rawValue)
  }

  /// The sizes of a cache that holds all of the data, and of a cache that holds an eighth of the data. An
  /// uncompressed document takes about 350 bytes.
  var cacheBytes: Int { max(256 << 20, documents * 1024) }
  var eighthOfDataBytes: Int { max(1 << 20, documents * 350 / 8) }
}

struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
