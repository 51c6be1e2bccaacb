// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "chat",
  platforms: [.macOS(.v15)],
  dependencies: [
    // In your own app, use the path of your Dugout checkout.
    .package(name: "Dugout", path: "../../..")
  ],
  targets: [
    .executableTarget(
      name: "chat",
      dependencies: [
        .product(name: "Ballcap", package: "Dugout"),
        .product(name: "FirebaseFirestore", package: "Dugout"),
        .product(name: "FirebaseStorage", package: "Dugout"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
