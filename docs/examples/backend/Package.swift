// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "backend",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In your own app, use the path of your Dugout checkout.
    // Without the trait for hosts, which a static program on Linux could not link (docs/decisions/0065).
    .package(name: "Dugout", path: "../../..", traits: [])
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
