// swift-tools-version: 6.2

// The layers, top to bottom. A module imports only what its row lists. A test reads this table and every
// `import` line and reports violations. The table includes system modules: no module below FirebaseCore
// imports Foundation, except HTTPClient and URLSessionClient.
//
// | module                 | may import                                                    | system modules            |
// | ---------------------- | ------------------------------------------------------------- | ------------------------- |
// | dugout                 | DugoutServer ByteStore StoreTools DocumentStore ObjectStore Authority OfflineSync FirebaseCore FirebaseFirestore FirebaseStorage Ballcap | Foundation Dispatch Synchronization |
// | DugoutTestingTrait     | DugoutTesting                                                 | Synchronization Testing   |
// | DugoutTesting          | FirebaseFirestore FirebaseCore Authority OfflineSync DocumentStore ByteStore | Foundation Dispatch |
// | Ballcap                | BallcapFields LayerKit FirebaseFirestore FirebaseStorage FirebaseCore ByteStore | Foundation Dispatch Synchronization Observation Apple |
// | BallcapFields          | FirebaseFirestore                                              |                           |
// | Pring                  | LayerKit FirebaseFirestore FirebaseStorage FirebaseCore ByteStore | Foundation Dispatch Synchronization Apple |
// | StreamBaseKit          | LayerKit FirebaseFirestore FirebaseStorage FirebaseCore ByteStore | Foundation Dispatch Synchronization Apple |
// | LayerKit               | FirebaseFirestore FirebaseStorage FirebaseCore DocumentStore ByteStore | Foundation Dispatch |
// | Firebase               | FirebaseAuth FirebaseFirestore FirebaseStorage FirebaseCore    |                           |
// | FirebaseFirestoreSwift | FirebaseFirestore                                             |                           |
// | FirebaseFirestore      | FirestoreRemote Authority OfflineSync DocumentStore ByteStore FirebaseCore | Foundation Dispatch Synchronization Observation Apple |
// | FirebaseStorage        | ObjectSync OfflineSync ObjectStore DocumentStore ByteStore FirebaseCore | Foundation Dispatch Synchronization Apple |
// | FirebaseAuth           | ByteStore FirebaseCore                                        | Foundation Dispatch       |
// | FirebaseCore           | OfflineSync DocumentStore ByteStore                           | Foundation Dispatch Synchronization |
// | DugoutServer           | FirestoreServer                                               |                           |
// | FirestoreServer        | HTTPTransport FirestoreService FirestoreWire Authority OfflineSync DocumentStore ByteStore Libc CDigest | Dispatch Synchronization |
// | HTTPTransport          | ByteStore Libc CSockets CTLS CNGHTTP2                         | Dispatch Synchronization  |
// | FirestoreRemote        | URLSessionClient HTTPClient FirestoreWire OfflineSync DocumentStore ByteStore Libc        | Foundation Dispatch Synchronization Apple |
// | URLSessionClient       | HTTPClient ByteStore                                          | Foundation Dispatch FoundationNetworking |
// | HTTPClient             | ByteStore CCurl                                               | Foundation Dispatch |
// | FirestoreService       | FirestoreWire Authority OfflineSync DocumentStore ByteStore Libc | Dispatch Synchronization |
// | FirestoreWire          | OfflineSync DocumentStore ByteStore Libc                      |                           |
// | ObjectSync             | OfflineSync ObjectStore DocumentStore ByteStore Libc CDigest  | Dispatch Synchronization  |
// | Authority              | OfflineSync DocumentStore ByteStore Libc CDigest              | Dispatch Synchronization  |
// | OfflineSync            | DocumentStore ByteStore Libc CDigest                          | Dispatch Synchronization  |
// | ObjectStore            | DocumentStore StoreTools ByteStore                            | Dispatch Synchronization  |
// | DocumentStore          | StoreTools ByteStore Libc CSanitizer                          | Dispatch Synchronization  |
// | StoreTools             | ByteStore Libc                                                | Synchronization           |
// | ByteStore              | Libc CLZ4 CPortableLZ4 CDigest CFileSystem                    | Dispatch Synchronization  |
// | Libc                   |                                                               | Android Darwin Glibc Musl |
// | CDigest                |                                                               |                           |
// | CFileSystem            |                                                               |                           |
// | CSanitizer             |                                                               |                           |
// | CSockets               |                                                               |                           |
// | CCurl                  |                                                               |                           |
// | CTLS                   |                                                               |                           |
// | CNGHTTP2               |                                                               |                           |
// | CPortableLZ4           |                                                               |                           |
// | CLZ4                   |                                                               |                           |
//
// Apple is what only Apple's systems have: SwiftUI, UIKit, AppKit, Combine, OSLog and Network, always under
// `canImport`.

import PackageDescription

let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Settings of library code: every use of an unsafe construct is marked at the use.
let library: [SwiftSetting] = strict + [.strictMemorySafety()]

/// Settings of code that returns views of bytes and declares their lifetimes to the compiler.
let engine: [SwiftSetting] = library + [.enableExperimentalFeature("Lifetimes")]

// Programs for Linux use the system's lz4, unless DUGOUT_PORTABLE_LZ4=1 is set. Programs for all other
// platforms use CPortableLZ4. The conditions are about the platform that is built for, also when it is not
// the platform of the compiler. docs/decisions/0050 gives the reasons.
let usesSystemLZ4 = Context.environment["DUGOUT_PORTABLE_LZ4"] != "1"
let systemLZ4: [Target.Dependency] =
  usesSystemLZ4 ? [.byName(name: "CLZ4", condition: .when(platforms: [.linux]))] : []
let systemLZ4Settings: [SwiftSetting] =
  usesSystemLZ4 ? [.define("DUGOUT_SYSTEM_LZ4", .when(platforms: [.linux]))] : []

// Programs for these platforms make requests by URLSession, and programs for Linux by libcurl, which they
// load when they make the first one.
let apple: [Platform] = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]

// The trait Server brings nghttp2. Code without the trait does not import it.
let nghttp2: [Target.Dependency] = [.byName(name: "CNGHTTP2", condition: .when(traits: ["Server"]))]

let package = Package(
  name: "Dugout",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "ByteStore", targets: ["ByteStore"]),
    .library(name: "DocumentStore", targets: ["DocumentStore"]),
    .library(name: "ObjectStore", targets: ["ObjectStore"]),
    .library(name: "OfflineSync", targets: ["OfflineSync"]),
    .library(name: "ObjectSync", targets: ["ObjectSync"]),
    .library(name: "Authority", targets: ["Authority"]),
    .library(name: "FirestoreWire", targets: ["FirestoreWire"]),
    .library(name: "FirestoreService", targets: ["FirestoreService"]),
    .library(name: "FirestoreRemote", targets: ["FirestoreRemote"]),
    .library(name: "DugoutServer", targets: ["DugoutServer"]),
    .library(name: "FirebaseCore", targets: ["FirebaseCore"]),
    .library(name: "FirebaseFirestore", targets: ["FirebaseFirestore"]),
    .library(name: "FirebaseFirestoreSwift", targets: ["FirebaseFirestoreSwift"]),
    .library(name: "FirebaseStorage", targets: ["FirebaseStorage"]),
    .library(name: "FirebaseAuth", targets: ["FirebaseAuth"]),
    .library(name: "Firebase", targets: ["Firebase"]),
    .library(name: "Ballcap", targets: ["Ballcap"]),
    .library(name: "BallcapFields", targets: ["BallcapFields"]),
    .library(name: "Pring", targets: ["Pring"]),
    .library(name: "StreamBaseKit", targets: ["StreamBaseKit"]),
    .library(name: "DugoutTesting", targets: ["DugoutTesting"]),
    .library(name: "DugoutTestingTrait", targets: ["DugoutTestingTrait"]),
    .executable(name: "dugout", targets: ["dugout"]),
  ],
  traits: [
    .trait(name: "Server", description: "Servers for clients of Firestore. Needs libnghttp2."),
    .trait(name: "TLS", description: "Encrypted connections of servers. Needs OpenSSL 3."),
  ],
  targets: [
    // Engine
    .systemLibrary(
      name: "CLZ4", path: "Sources/Engine/CLZ4", pkgConfig: "liblz4",
      providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
    .target(
      name: "CPortableLZ4", path: "Sources/Engine/CPortableLZ4", cSettings: [.treatAllWarnings(as: .error)]),
    .target(name: "CDigest", path: "Sources/Engine/CDigest", cSettings: [.treatAllWarnings(as: .error)]),
    .target(
      name: "CFileSystem", path: "Sources/Engine/CFileSystem", cSettings: [.treatAllWarnings(as: .error)]),
    .target(
      name: "CSanitizer", path: "Sources/Engine/CSanitizer", cSettings: [.treatAllWarnings(as: .error)]),
    .target(name: "Libc", path: "Sources/Engine/Libc", swiftSettings: library),
    .target(
      name: "ByteStore", dependencies: ["Libc", "CPortableLZ4", "CDigest", "CFileSystem"] + systemLZ4,
      path: "Sources/Engine/ByteStore",
      swiftSettings: engine + systemLZ4Settings),
    .target(
      name: "StoreTools", dependencies: ["ByteStore", "Libc"], path: "Sources/Engine/StoreTools",
      swiftSettings: engine),
    .target(
      name: "DocumentStore", dependencies: ["StoreTools", "ByteStore", "Libc", "CSanitizer"],
      path: "Sources/Engine/DocumentStore",
      swiftSettings: engine),
    .target(
      name: "ObjectStore", dependencies: ["DocumentStore", "StoreTools", "ByteStore"],
      path: "Sources/Engine/ObjectStore", swiftSettings: engine),

    // Sync
    .target(
      name: "OfflineSync", dependencies: ["DocumentStore", "ByteStore", "Libc", "CDigest"],
      path: "Sources/Sync/OfflineSync", swiftSettings: engine),

    .target(
      name: "Authority", dependencies: ["OfflineSync", "DocumentStore", "ByteStore", "Libc", "CDigest"],
      path: "Sources/Sync/Authority", swiftSettings: engine),

    .target(
      name: "ObjectSync",
      dependencies: ["OfflineSync", "ObjectStore", "DocumentStore", "ByteStore", "Libc", "CDigest"],
      path: "Sources/Sync/ObjectSync", swiftSettings: engine),

    // Network
    .target(
      name: "FirestoreWire", dependencies: ["OfflineSync", "DocumentStore", "ByteStore", "Libc"],
      path: "Sources/Network/FirestoreWire", swiftSettings: engine),
    .target(
      name: "FirestoreService",
      dependencies: ["FirestoreWire", "Authority", "OfflineSync", "DocumentStore", "ByteStore", "Libc"],
      path: "Sources/Network/FirestoreService", swiftSettings: engine),
    .target(name: "CCurl", path: "Sources/Network/CCurl", cSettings: [.treatAllWarnings(as: .error)]),
    .target(
      name: "HTTPClient", dependencies: ["ByteStore", "CCurl"], path: "Sources/Network/HTTPClient",
      swiftSettings: library),
    .target(
      name: "URLSessionClient", dependencies: ["HTTPClient", "ByteStore"],
      path: "Sources/Network/URLSessionClient", swiftSettings: library),
    .target(
      name: "FirestoreRemote",
      dependencies: [
        "HTTPClient", "FirestoreWire", "OfflineSync", "DocumentStore", "ByteStore", "Libc",
        .target(name: "URLSessionClient", condition: .when(platforms: apple)),
      ],
      path: "Sources/Network/FirestoreRemote", swiftSettings: engine),

    .systemLibrary(
      name: "CNGHTTP2", path: "Sources/Network/CNGHTTP2", pkgConfig: "libnghttp2",
      providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),
    .target(
      name: "CSockets", path: "Sources/Network/CSockets", cSettings: [.treatAllWarnings(as: .error)]),
    .target(
      name: "CTLS", path: "Sources/Network/CTLS",
      cSettings: [.treatAllWarnings(as: .error), .define("DUGOUT_TLS", .when(traits: ["TLS"]))],
      linkerSettings: [
        .linkedLibrary("ssl", .when(traits: ["TLS"])), .linkedLibrary("crypto", .when(traits: ["TLS"])),
      ]),
    .target(
      name: "HTTPTransport",
      dependencies: ["ByteStore", "Libc", "CSockets", "CTLS"] + nghttp2,
      path: "Sources/Network/HTTPTransport", swiftSettings: engine),
    .target(
      name: "FirestoreServer",
      dependencies: [
        "HTTPTransport", "FirestoreService", "FirestoreWire", "Authority", "OfflineSync", "DocumentStore",
        "ByteStore", "Libc", "CDigest",
      ],
      path: "Sources/Network/FirestoreServer", swiftSettings: engine),
    .target(
      name: "DugoutServer", dependencies: ["FirestoreServer"], path: "Sources/Network/DugoutServer",
      swiftSettings: library),

    // API
    .target(
      name: "FirebaseCore", dependencies: ["OfflineSync", "DocumentStore", "ByteStore"],
      path: "Sources/API/FirebaseCore", swiftSettings: library),
    .target(
      name: "FirebaseFirestore",
      dependencies: [
        "FirestoreRemote", "Authority", "OfflineSync", "DocumentStore", "ByteStore", "FirebaseCore",
      ],
      path: "Sources/API/FirebaseFirestore", swiftSettings: library),
    .target(
      name: "FirebaseStorage",
      dependencies: [
        "ObjectSync", "OfflineSync", "ObjectStore", "DocumentStore", "ByteStore",
        "FirebaseCore",
      ],
      path: "Sources/API/FirebaseStorage", swiftSettings: library),
    .target(
      name: "FirebaseAuth", dependencies: ["ByteStore", "FirebaseCore"], path: "Sources/API/FirebaseAuth",
      swiftSettings: library),
    .target(
      name: "Firebase",
      dependencies: ["FirebaseAuth", "FirebaseFirestore", "FirebaseStorage", "FirebaseCore"],
      path: "Sources/API/Firebase", swiftSettings: library),
    .target(
      name: "FirebaseFirestoreSwift", dependencies: ["FirebaseFirestore"],
      path: "Sources/API/FirebaseFirestoreSwift", swiftSettings: library),

    // Layers
    .target(
      name: "LayerKit",
      dependencies: ["FirebaseFirestore", "FirebaseStorage", "FirebaseCore", "DocumentStore", "ByteStore"],
      path: "Sources/Layers/LayerKit", swiftSettings: library),
    .target(
      name: "BallcapFields", dependencies: ["FirebaseFirestore"], path: "Sources/Layers/BallcapFields",
      swiftSettings: library),
    .target(
      name: "Ballcap",
      dependencies: [
        "BallcapFields", "LayerKit", "FirebaseFirestore", "FirebaseStorage", "FirebaseCore", "ByteStore",
      ],
      path: "Sources/Layers/Ballcap", swiftSettings: library),
    .target(
      name: "Pring",
      dependencies: ["LayerKit", "FirebaseFirestore", "FirebaseStorage", "FirebaseCore", "ByteStore"],
      path: "Sources/Layers/Pring", swiftSettings: library),
    .target(
      name: "StreamBaseKit",
      dependencies: ["LayerKit", "FirebaseFirestore", "FirebaseStorage", "FirebaseCore", "ByteStore"],
      path: "Sources/Layers/StreamBaseKit", swiftSettings: library),

    // Testing
    .target(
      name: "DugoutTesting",
      dependencies: [
        "FirebaseFirestore", "FirebaseCore", "Authority", "OfflineSync", "DocumentStore", "ByteStore",
      ],
      path: "Sources/Testing/DugoutTesting", swiftSettings: library),
    .target(
      name: "DugoutTestingTrait", dependencies: ["DugoutTesting"],
      path: "Sources/Testing/DugoutTestingTrait", swiftSettings: library),

    // Programs
    .executableTarget(
      name: "dugout",
      dependencies: [
        "DugoutServer", "Authority", "OfflineSync", "ObjectStore", "DocumentStore", "StoreTools", "ByteStore",
        "FirebaseFirestore", "FirebaseCore", "Ballcap",
      ],
      path: "Sources/Programs/dugout", swiftSettings: strict),
    .executableTarget(
      name: "campaign",
      dependencies: [
        "Harness", "ByteStore", "DocumentStore", "FirebaseFirestore", "FirebaseStorage", "FirebaseCore",
        "Ballcap", "Pring", "Authority", "OfflineSync", "ObjectSync", "ObjectStore", "StoreTools",
        "StreamHarness",
        "LayerHarness", "ServerHarness", "FirestoreRemote", "FirestoreWire", "CAllocations",
      ],
      path: "Tests/campaign", swiftSettings: strict),
    .target(
      name: "ServerHarness",
      dependencies: [
        "FirestoreServer", "FirestoreRemote", "HTTPTransport", "FirestoreService", "FirestoreWire",
        "Authority", "OfflineSync", "DocumentStore", "ByteStore", "Harness",
      ] + nghttp2,
      path: "Tests/ServerHarness", swiftSettings: strict),
    .target(
      name: "StreamHarness",
      dependencies: [
        "StreamBaseKit", "FirebaseFirestore", "Authority", "OfflineSync", "DocumentStore", "Harness",
      ],
      path: "Tests/StreamHarness", swiftSettings: strict),
    .target(
      name: "LayerHarness",
      dependencies: [
        "Pring", "FirebaseFirestore", "FirebaseStorage", "ObjectSync", "Authority", "OfflineSync",
        "ObjectStore", "DocumentStore", "Harness",
      ],
      path: "Tests/LayerHarness", swiftSettings: strict),
    .target(
      name: "Harness",
      dependencies: [
        "ByteStore", "StoreTools", "DocumentStore", "ObjectStore", "OfflineSync", "ObjectSync", "Authority",
        "FirestoreWire", "FirestoreService", "HTTPClient", "HTTPTransport", "FirestoreServer",
        "FirestoreRemote", "Libc",
        "CPortableLZ4", "CAllocations",
        .target(name: "CLZ4", condition: .when(platforms: [.linux])),
      ],
      // The harness compares CPortableLZ4 with liblz4 on Linux, whichever of the two ByteStore uses.
      path: "Tests/Harness",
      swiftSettings: strict + [.define("DUGOUT_SYSTEM_LZ4", .when(platforms: [.linux]))]),

    // Tests
    .target(
      name: "CAllocations", path: "Tests/CAllocations", cSettings: [.treatAllWarnings(as: .error)]),
    .testTarget(name: "CDigestTests", dependencies: ["CDigest"], swiftSettings: strict),
    .testTarget(
      name: "CPortableLZ4Tests", dependencies: ["CPortableLZ4", "Harness"], swiftSettings: strict),
    .testTarget(
      name: "ByteStoreTests", dependencies: ["ByteStore", "StoreTools", "Libc", "Harness", "CAllocations"],
      swiftSettings: strict),
    .testTarget(
      name: "DocumentStoreTests",
      dependencies: ["DocumentStore", "StoreTools", "ByteStore", "Libc", "Harness", "CAllocations"],
      swiftSettings: strict),
    .testTarget(
      name: "ObjectStoreTests",
      dependencies: ["ObjectStore", "DocumentStore", "StoreTools", "ByteStore", "Harness"],
      swiftSettings: strict),
    .testTarget(
      name: "ObjectSyncTests",
      dependencies: [
        "ObjectSync", "OfflineSync", "ObjectStore", "DocumentStore", "ByteStore", "Harness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "OfflineSyncTests",
      dependencies: [
        "OfflineSync", "Authority", "FirebaseFirestore", "FirestoreRemote", "FirestoreWire", "HTTPClient",
        "DocumentStore", "ByteStore", "Harness", "CAllocations",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "AuthorityTests",
      dependencies: [
        "Authority", "FirebaseFirestore", "OfflineSync", "DocumentStore", "ByteStore", "Harness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FirestoreWireTests",
      dependencies: [
        "FirestoreWire", "OfflineSync", "DocumentStore", "ByteStore", "Harness", "CAllocations",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FirestoreServiceTests",
      dependencies: [
        "FirestoreService", "FirestoreWire", "Authority", "OfflineSync", "DocumentStore", "ByteStore",
        "Harness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HTTPClientTests",
      dependencies: ["HTTPClient", "URLSessionClient", "ByteStore"], swiftSettings: strict),
    .testTarget(
      name: "FirestoreRemoteTests",
      dependencies: [
        "FirestoreRemote", "HTTPClient", "FirestoreServer", "HTTPTransport", "FirestoreService",
        "FirestoreWire",
        "Authority", "OfflineSync", "DocumentStore", "ByteStore", "Harness", "ServerHarness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HTTPTransportTests",
      dependencies: [
        "HTTPTransport", "CSockets", "ByteStore", "Libc", "Harness", "ServerHarness", "CAllocations",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FirestoreServerTests",
      dependencies: [
        "FirestoreServer", "HTTPTransport", "FirestoreService", "FirestoreWire", "Authority", "OfflineSync",
        "DocumentStore", "ByteStore", "Harness", "ServerHarness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FirebaseCoreTests", dependencies: ["FirebaseCore", "ByteStore"], swiftSettings: strict),
    .testTarget(
      name: "FirebaseFirestoreTests",
      dependencies: [
        "FirebaseFirestore", "FirebaseCore", "FirestoreRemote", "Authority", "DocumentStore", "OfflineSync",
        "ByteStore", "Harness", "CAllocations",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FirebaseStorageTests",
      dependencies: [
        "FirebaseStorage", "FirebaseCore", "FirebaseFirestore", "ObjectSync", "OfflineSync", "ObjectStore",
        "DocumentStore", "ByteStore", "Harness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FirebaseAuthTests",
      dependencies: [
        "FirebaseAuth", "FirebaseCore", "FirebaseFirestore", "Authority", "OfflineSync", "DocumentStore",
        "ByteStore",
      ],
      swiftSettings: strict),
    .testTarget(name: "LayerKitTests", dependencies: ["LayerKit"], swiftSettings: strict),
    .testTarget(
      name: "BallcapFieldsTests", dependencies: ["BallcapFields", "FirebaseFirestore"], swiftSettings: strict),
    .testTarget(
      name: "BallcapTests",
      dependencies: [
        "Harness", "LayerHarness", "Ballcap", "LayerKit", "FirebaseFirestore", "FirebaseStorage",
        "Authority", "OfflineSync", "DocumentStore",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StreamBaseKitTests",
      dependencies: [
        "StreamBaseKit", "StreamHarness", "LayerKit", "FirebaseFirestore", "Authority", "DocumentStore",
        "OfflineSync",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PringTests",
      dependencies: [
        "Pring", "Ballcap", "LayerKit", "FirebaseFirestore", "FirebaseStorage", "ObjectSync", "OfflineSync",
        "ObjectStore", "DocumentStore", "ByteStore", "Harness", "LayerHarness",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DugoutTestingTests", dependencies: ["DugoutTesting", "DugoutTestingTrait", "FirebaseFirestore"],
      swiftSettings: strict),
    .testTarget(
      name: "ProgramTests",
      dependencies: [
        "dugout", "campaign", "Harness", "ObjectStore", "DocumentStore", "StoreTools", "ByteStore",
        "CAllocations",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "GuideTests",
      dependencies: [
        "Harness", "Ballcap", "FirebaseAuth", "FirebaseFirestore", "FirebaseStorage", "FirestoreRemote",
        "ObjectSync", "Authority", "OfflineSync", "DocumentStore", "DugoutTesting", "DugoutTestingTrait",
      ],
      swiftSettings: strict),
    // Links in its folder add the sources that it tests, because the benchmarks are another package.
    .testTarget(name: "BenchmarkTests", swiftSettings: strict),
    .testTarget(name: "RepositoryTests", swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// The fuzz targets with libFuzzer's own `main`. Only .ci/libfuzzer sets the variable, because these
// targets do not link without libFuzzer.
if Context.environment["DUGOUT_LIBFUZZER"] != nil {
  package.products.append(.executable(name: "libfuzzer", targets: ["libfuzzer"]))
  package.targets.append(
    .executableTarget(
      name: "libfuzzer", dependencies: ["Harness"], path: "Tests/libfuzzer", swiftSettings: strict))
}

// `DUGOUT_BAND=engine|network|api|layers swift test` builds one group of layers, all layers below that group,
// and the tests of the group. Without the variable, the whole package is built.
if let band = Context.environment["DUGOUT_BAND"] {
  let engine = [
    "CLZ4", "CPortableLZ4", "CDigest", "CFileSystem", "CSanitizer", "Libc", "ByteStore", "StoreTools",
    "DocumentStore", "ObjectStore", "OfflineSync", "ObjectSync", "Authority", "FirestoreWire",
    "FirestoreService", "CCurl", "HTTPClient", "URLSessionClient", "FirestoreRemote", "CNGHTTP2", "CSockets",
    "CTLS", "HTTPTransport", "FirestoreServer",
    "DugoutServer",
    "Harness", "ServerHarness", "CAllocations",
  ]
  let api = [
    "FirebaseCore", "FirebaseFirestore", "FirebaseFirestoreSwift", "FirebaseStorage", "FirebaseAuth",
    "Firebase", "DugoutTesting", "DugoutTestingTrait",
  ]
  let layers = [
    "LayerKit", "Ballcap", "BallcapFields", "Pring", "StreamBaseKit", "StreamHarness", "LayerHarness",
  ]
  let bands = [
    "engine": engine + [
      "CDigestTests", "CPortableLZ4Tests", "ByteStoreTests", "DocumentStoreTests", "ObjectStoreTests",
    ],
    "network": engine + [
      "FirestoreWireTests", "FirestoreServiceTests", "HTTPClientTests", "FirestoreRemoteTests",
      "HTTPTransportTests",
      "FirestoreServerTests",
    ],
    "api": engine + api + [
      "OfflineSyncTests", "ObjectSyncTests", "AuthorityTests", "FirebaseCoreTests", "FirebaseFirestoreTests",
      "FirebaseStorageTests", "FirebaseAuthTests", "DugoutTestingTests",
    ],
    "layers": engine + api + layers
      + ["LayerKitTests", "BallcapFieldsTests", "BallcapTests", "PringTests", "StreamBaseKitTests"],
  ]
  guard let targets = bands[band] else {
    fatalError("DUGOUT_BAND is '\(band)': it can be \(bands.keys.sorted().joined(separator: ", ")).")
  }
  package.targets.removeAll { !targets.contains($0.name) }
  package.products.removeAll { !targets.contains($0.name) }
}

// `DUGOUT_DEBUG_INFO=none` leaves debug information out of debug builds, which then compile and link
// faster. .ci/run sets it, because no debugger looks at its programs.
if Context.environment["DUGOUT_DEBUG_INFO"] == "none" {
  let noDebugInformation = SwiftSetting.unsafeFlags(["-gnone"], .when(configuration: .debug))
  for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + [noDebugInformation]
  }
}
