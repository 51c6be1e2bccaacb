// swift-tools-version: 6.2

// A separate package, so that users of Dugout do not have to build the databases that the benchmarks compare
// with Dugout. If the headers of a database are not installed, the package leaves that database out, and the
// benchmarks report the omission.

import Foundation
import PackageDescription

struct Peer {
  var module: String
  var header: String
  var package: String
  var condition: String

  var isInstalled: Bool {
    ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].contains {
      FileManager.default.fileExists(atPath: "\($0)/\(header)")
    }
  }
}

let peers = [
  Peer(module: "CLevelDB", header: "leveldb/c.h", package: "libleveldb-dev", condition: "LEVELDB"),
  Peer(module: "CSQLite", header: "sqlite3.h", package: "libsqlite3-dev", condition: "SQLITE"),
  Peer(module: "CLMDB", header: "lmdb.h", package: "liblmdb-dev", condition: "LMDB"),
  Peer(module: "CRocksDB", header: "rocksdb/c.h", package: "librocksdb-dev", condition: "ROCKSDB"),
].filter(\.isInstalled)

// protobuf-c needs descriptors of the messages, which are a module of C.
let protobufC = Peer(
  module: "CDocumentMessages", header: "protobuf-c/protobuf-c.h", package: "libprotobuf-c-dev",
  condition: "PROTOBUFC")
let codecPeers: [Peer] = protobufC.isInstalled ? [protobufC] : []

// The server needs nghttp2 and OpenSSL. Without their headers, its rows are left out. `DUGOUT_SERVER_ROWS=0`
// leaves them out, too, so that a build can share a folder with one of the library without traits.
let serverHeaders = ["nghttp2/nghttp2.h", "openssl/ssl.h"]
let hasServer =
  Context.environment["DUGOUT_SERVER_ROWS"] != "0"
  && serverHeaders.allSatisfy { header in
    ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].contains {
      FileManager.default.fileExists(atPath: "\($0)/\(header)")
    }
  }
let serverSettings: [SwiftSetting] = hasServer ? [.define("Server")] : []
let serverProducts: [Target.Dependency] =
  hasServer ? [.product(name: "DugoutServer", package: "Dugout"), .target(name: "GRPCClients")] : []

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "DugoutBenchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    // The explicit name is needed because the folder of a clone may have any name.
    .package(name: "Dugout", path: "..", traits: hasServer ? ["Server", "TLS"] : [])
  ],
  targets: [
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        .product(name: "DocumentStore", package: "Dugout"),
        .product(name: "ObjectStore", package: "Dugout"),
        .product(name: "OfflineSync", package: "Dugout"),
        .product(name: "Authority", package: "Dugout"),
        .product(name: "FirestoreService", package: "Dugout"),
        .product(name: "FirestoreWire", package: "Dugout"),
        .product(name: "FirestoreRemote", package: "Dugout"),
        .product(name: "ByteStore", package: "Dugout"),
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "Ballcap", package: "Dugout"),
        .product(name: "Pring", package: "Dugout"),
        .target(name: "SampleDocuments"),
        .target(name: "InstructionCounts"),
        .target(name: "BenchmarkReports"),
        .target(name: "CLZ4Limit"),
      ] + serverProducts + (peers + codecPeers).map { .target(name: $0.module) },
      swiftSettings: settings + serverSettings + (peers + codecPeers).map { .define($0.condition) }),
    // The program whose instructions `benchmarks --instructions` counts. It is separate, because valgrind
    // cannot run a program whose main thread waits in Dispatch.
    .executableTarget(
      name: "instructions",
      dependencies: [
        .product(name: "DocumentStore", package: "Dugout"),
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "Ballcap", package: "Dugout"),
        .product(name: "OfflineSync", package: "Dugout"),
        .target(name: "SampleDocuments"),
        .target(name: "InstructionCounts"),
      ],
      swiftSettings: settings,
      // Without debug information, because older versions of valgrind cannot read DWARF 5.
      linkerSettings: [.unsafeFlags(["-Xlinker", "-S"])]),
    .target(
      name: "SampleDocuments", dependencies: [.product(name: "DocumentStore", package: "Dugout")],
      swiftSettings: settings),
    // Tests/BenchmarkTests of the root package compiles and tests these files.
    .target(name: "InstructionCounts", swiftSettings: settings),
    .target(name: "BenchmarkReports", swiftSettings: settings),
    // A link to the client of the root package's tests. The dependency is for its module of nghttp2.
    .target(
      name: "GRPCClients",
      dependencies: hasServer ? [.product(name: "DugoutServer", package: "Dugout")] : [],
      swiftSettings: settings + serverSettings),
  ] + [.systemLibrary(name: "CLZ4Limit", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])])]
    + peers.map { .systemLibrary(name: $0.module, providers: [.apt([$0.package])]) }
    + codecPeers.map { .target(name: $0.module, linkerSettings: [.linkedLibrary("protobuf-c")]) },
  swiftLanguageModes: [.v6]
)
