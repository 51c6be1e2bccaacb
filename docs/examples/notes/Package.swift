// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "notes",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In an app of your own, the place of your checkout.
    .package(name: "Dugout", path: "../../..")
  ],
  targets: [
    .executableTarget(
      name: "notes",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Dugout")
      ])
  ],
  swiftLanguageModes: [.v6]
)
