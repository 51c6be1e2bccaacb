// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "two-clients",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In an app of your own, the place of your checkout.
    .package(name: "Dugout", path: "../../..")
  ],
  targets: [
    .executableTarget(
      name: "two-clients",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "DocumentStore", package: "Dugout"),
        .product(name: "OfflineSync", package: "Dugout"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
