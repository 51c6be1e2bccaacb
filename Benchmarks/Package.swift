// swift-tools-version: 6.2

// A package of its own, so that nobody who uses the library builds what it is compared with.

import PackageDescription

let package = Package(
  name: "DugoutBenchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    // Named, so that the folder of a clone may be called anything.
    .package(name: "Dugout", path: "..")
  ],
  targets: [
    .executableTarget(
      name: "benchmarks",
      dependencies: [.product(name: "DocumentStore", package: "Dugout")],
      swiftSettings: [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
