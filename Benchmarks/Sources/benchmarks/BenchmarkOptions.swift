// What the command line asks for.

struct BenchmarkOptions {
  var only: Set<String> = []
  var documents = 100_000
  var runs = 5
  /// Nil means all that are installed.
  var peers: Set<String>?
  var jsonFile: String?
  var wantsHelp = false

  static let help = """
    Usage: benchmarks [--only W1,W1b] [--documents 100000] [--runs 5] [--peers leveldb,rocksdb]
                      [--json FILE]

    W1   durable commits of one document, one writer; beside it the bare device: write a page, sync
    W2   the same from eight threads, and from 64 writers that wait without a thread
    W3   durable batches of 500 documents, with three indexes
    W4   a load that ends compressed, indexed and durable
    W14  updates of an indexed field in batches of 500
    W16  from a write to its listener, with 1 and with 10,000 live queries; a write that concerns none of them
    W1b  durable commits of one key and value, one writer, without documents on top
    W2b  the same from eight threads
    W3b  the same in batches of 500
    W5-W9  reading: documents by path, in order, by equality, of a group, and all of them
    """

  init(_ words: [String]) throws {
    var rest = words[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw BenchmarkFailure("\(option) needs a value") }
      return value
    }
    func number(of option: String) throws -> Int {
      let text = try value(of: option)
      guard let number = Int(text), number > 0 else {
        throw BenchmarkFailure("\(option) needs a positive number, not \"\(text)\"")
      }
      return number
    }
    while let word = rest.popFirst() {
      switch word {
      case "--only": only = Set(try value(of: word).split(separator: ",").map(String.init))
      case "--documents": documents = try number(of: word)
      case "--runs": runs = try number(of: word)
      case "--peers": peers = Set(try value(of: word).split(separator: ",").map(String.init))
      case "--json": jsonFile = try value(of: word)
      case "--help", "-h": wantsHelp = true
      default: throw BenchmarkFailure("there is no option \(word)\n\(Self.help)")
      }
    }
  }

  func wants(_ engine: any Engine) -> Bool {
    guard let peers, Peers.names.contains(engine.name) else { return true }
    return peers.contains(engine.name)
  }
}
