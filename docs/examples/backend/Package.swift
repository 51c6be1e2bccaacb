// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "backend",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In your own app, use the path of your Dugout checkout.
    .package(name: "Dugout", path: "../../..")
  ],
  targets: [
    .executableTarget(
      name: "backend",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Dugout")
      ])
  ],
  swiftLanguageModes: [.v6]
)
