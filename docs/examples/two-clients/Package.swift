// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "two-clients",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In your own app, use the path of your Dugout checkout.
    .package(name: "Dugout", path: "../../..")
  ],
  targets: [
    .executableTarget(
      name: "two-clients",
      dependencies: [
        .product(name: "Authority", package: "Dugout"),
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "DocumentStore", package: "Dugout"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
